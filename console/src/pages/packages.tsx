// Packages and pins: where servers come from, and changed tool definitions to approve.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { call } from "../api.ts";
import { useLoaded } from "../state/loaded.ts";
import type { Json } from "../types.ts";
import { formatCount } from "../ui/format.ts";
import { JsonTree } from "../ui/json-tree.tsx";
import { Badge, Button, Command, Empty, ErrorMessage, Facts, Loading, Message, Page } from "../ui/parts.tsx";

interface Change {
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

interface PinnedTool {
  readonly name: string;
  readonly verdict: "same" | "changed" | "new" | "unpinnable";
  readonly hash?: string;
  readonly definition: { readonly [key: string]: Json };
  readonly changes?: readonly Change[];
  readonly findings?: readonly {
    readonly severity: string;
    readonly path: string;
    readonly message: string;
  }[];
}

interface PinnedServer {
  readonly server: string;
  readonly mode?: string;
  readonly isPinned: boolean;
  readonly tools: readonly PinnedTool[];
  readonly removed: readonly string[];
  readonly problem?: { readonly message: string; readonly hint: string };
  readonly package?: {
    readonly name: string;
    readonly version: string;
    readonly source: string;
    readonly integrity: string;
    readonly registry?: string;
    readonly provenance?: readonly { readonly kind: string; readonly signer: string }[];
    readonly permissions?: readonly string[];
  };
}

export function PackagesPage(): JSX.Element {
  const { value, error, load } = useLoaded<{ servers: PinnedServer[] }>("packages");
  const all = value.value?.servers;
  return (
    <Page
      title="Packages and pins"
      lead="A pin is the hash of a tool definition that you approved. If the definition changes, Portolan withholds (does not offer) the tool until you approve the change. With pins: warn in portolan.yaml, Portolan only reports the change."
    >
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      {all === undefined && error.value === undefined && <Loading />}
      {all?.length === 0 && <Empty title="No server is running." />}
      {all?.toSorted(changedFirst).map((server) => (
        <ServerPins key={server.server} server={server} reload={load} />
      ))}
    </Page>
  );
}

/** Servers that wait for a decision come before the others. */
function changedFirst(a: PinnedServer, b: PinnedServer): number {
  return Number(isChanged(b)) - Number(isChanged(a));
}

function isChanged({ isPinned, tools, removed }: PinnedServer): boolean {
  return isPinned && (removed.length > 0 || tools.some(({ verdict }) => verdict !== "same"));
}

function ServerPins({
  server,
  reload,
}: {
  readonly server: PinnedServer;
  readonly reload: () => Promise<void>;
}): JSX.Element {
  const error = useSignal<unknown>(undefined);
  const { tools, removed, isPinned, problem, package: from } = server;
  const different = isPinned ? tools.filter(({ verdict }) => verdict !== "same") : [];
  const approve = async (chosen: readonly PinnedTool[], gone: readonly string[] = []): Promise<void> => {
    error.value = undefined;
    try {
      const named = chosen.map(({ name, hash }) => ({ name, hash }));
      await call("approvePins", { server: server.server, tools: named, removed: gone });
      await reload();
    } catch (thrown) {
      error.value = thrown;
    }
  };
  return (
    <section class="card" aria-label={server.server}>
      <div class="card-head">
        <h2>{server.server}</h2>
        {!isPinned ? (
          <Badge>not pinned</Badge>
        ) : different.length + removed.length === 0 ? (
          <Badge tone="ok">{formatCount(tools.length, "tool")} approved</Badge>
        ) : (
          <Badge tone="warn">{formatCount(different.length + removed.length, "change")} to approve</Badge>
        )}
      </div>
      {from && (
        <Facts
          items={[
            ["Package", `${from.name} ${from.version}`],
            ["Source", <code class="break">{from.source}</code>],
            ["Integrity", <code class="break">{from.integrity}</code>],
            [
              "Signed by",
              from.provenance?.map(({ signer }) => signer).join(", ") || "no signature in portolan.lock",
            ],
            ["Permissions", from.permissions?.join(", ") || "none"],
          ]}
        />
      )}
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      {problem && (
        <Message tone="warn" title={problem.message}>
          <p>{problem.hint}</p>
        </Message>
      )}
      {!isPinned && (
        <>
          <p class="muted">
            The tools of this server are not pinned. If you pin them, later changes need your approval.
          </p>
          <Command text={`portolan pin ${server.server}`} />
        </>
      )}
      {different.map((tool) => (
        <ChangedTool key={tool.name} tool={tool} onApprove={() => approve([tool])} />
      ))}
      {removed.map((name) => (
        <div key={name} class="pin-change">
          <h3>
            {name} <Badge tone="warn">no longer listed by the server</Badge>
          </h3>
          <Button onClick={() => approve([], [name])}>Remove the pin</Button>
        </div>
      ))}
      {different.length > 1 && (
        <Button
          onClick={() =>
            approve(
              different.filter(
                ({ hash, findings = [] }) =>
                  hash !== undefined && !findings.some(({ severity }) => severity === "error"),
              ),
            )
          }
        >
          Approve all tools without critical findings
        </Button>
      )}
    </section>
  );
}

function ChangedTool({
  tool,
  onApprove,
}: {
  readonly tool: PinnedTool;
  readonly onApprove: () => Promise<void>;
}): JSX.Element {
  const { name, verdict, changes = [], findings = [], definition, hash } = tool;
  return (
    <div class="pin-change">
      <h3>
        {name}{" "}
        <Badge tone="warn">{verdict === "unpinnable" ? "malformed, cannot be approved" : verdict}</Badge>
      </h3>
      {findings.map(({ severity, path, message }) => (
        <p key={`${path} ${message}`} class={`message ${severity === "error" ? "bad" : "warn"}`}>
          {path} {message}
        </p>
      ))}
      {changes.map(({ path, before, after }) => (
        <div key={path} class="diff">
          <p class="diff-path">
            <code>{path}</code>
          </p>
          {before !== undefined && (
            <pre class="diff-old" tabIndex={0} aria-label="before">
              {textOf(before)}
            </pre>
          )}
          {after !== undefined && (
            <pre class="diff-new" tabIndex={0} aria-label="after">
              {textOf(after)}
            </pre>
          )}
        </div>
      ))}
      <details open={changes.length === 0}>
        <summary>The present definition</summary>
        <JsonTree value={definition} />
      </details>
      <Button kind="primary" disabled={hash === undefined} onClick={onApprove}>
        Approve {name}
      </Button>
    </div>
  );
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
