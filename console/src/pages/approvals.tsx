// Approvals: calls that wait for a person's yes or no.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { call } from "../api.ts";
import { loadApprovals, loadError, waiting } from "../state/approvals.ts";
import type { ShownApproval } from "../types.ts";
import { formatAge, formatCount, formatTime } from "../ui/format.ts";
import { Badge, Button, Empty, ErrorMessage, Loading, Page } from "../ui/parts.tsx";

interface Decision {
  readonly decision: "approve" | "deny";
  readonly forMs?: number;
  readonly reason?: string;
}

export function ApprovalsPage(): JSX.Element {
  const failed = useSignal<unknown>(undefined);
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const decide = async (id: string, decision: Decision): Promise<void> => {
    failed.value = undefined;
    await call("decide", { id, ...decision }).catch((thrown: unknown) => (failed.value = thrown));
    await loadApprovals();
  };
  const shown = waiting.value?.filter(({ expires }) => Date.parse(expires) > now.value);
  return (
    <Page title="Approvals" lead="Calls that wait for your decision. A call runs only after you approve it.">
      {loadError.value !== undefined && <ErrorMessage error={loadError.value} />}
      {failed.value !== undefined && <ErrorMessage error={failed.value} />}
      {shown === undefined && loadError.value === undefined && <Loading />}
      {shown?.length === 0 && (
        <Empty title="No call is waiting for approval.">
          <p>
            Rules under gateway.approval in portolan.yaml, and contracts, decide which calls need approval.
          </p>
        </Empty>
      )}
      {shown?.map((one) => (
        <WaitingCall
          key={one.id}
          call={one}
          now={now.value}
          decide={(decision) => decide(one.id, decision)}
        />
      ))}
    </Page>
  );
}

function WaitingCall(props: {
  readonly call: ShownApproval;
  readonly now: number;
  readonly decide: (decision: Decision) => Promise<void>;
}): JSX.Element {
  const { call: one, now, decide } = props;
  const reason = useSignal("");
  const isDeciding = useSignal(false);
  const run = async (decision: Decision): Promise<void> => {
    isDeciding.value = true;
    await decide(decision);
    isDeciding.value = false;
  };
  const { maxForMs, rule } = one;
  const isAllowed = one.by.includes("console");
  return (
    <section class="card" aria-label={`Call of ${one.tool}`}>
      <div class="card-head">
        <h2>
          {one.server}.{one.tool}
        </h2>
        <Badge tone={one.isConnected ? "warn" : "idle"}>
          {one.isConnected ? "waiting" : "client does not wait"}
        </Badge>
      </div>
      <p class="muted">
        Called by {one.client === undefined ? one.caller : `${one.caller} · ${one.client}`} at{" "}
        {formatTime(one.time)}. Expires in {formatAge(Date.parse(one.expires) - now)}.
      </p>
      <p>{one.reason}.</p>
      <ShownArguments text={one.arguments} cut={one.cut} />
      {!one.isConnected && (
        <p>
          The client no longer waits for this call. An approval applies to its next call with the same
          arguments.
        </p>
      )}
      {!isAllowed && <p>{`${rule} allows approval only by: ${one.by.join(", ")}.`}</p>}
      <label class="field">
        Reason for a denial (the caller sees it)
        <input
          type="text"
          maxLength={500}
          value={reason.value}
          onInput={(event) => (reason.value = event.currentTarget.value)}
        />
      </label>
      <div class="actions">
        {isAllowed && (
          <Button kind="primary" disabled={isDeciding.value} onClick={() => run({ decision: "approve" })}>
            Approve once
          </Button>
        )}
        {isAllowed && maxForMs !== undefined && (
          <Button disabled={isDeciding.value} onClick={() => run({ decision: "approve", forMs: maxForMs })}>
            Approve for {formatAge(maxForMs)}
          </Button>
        )}
        <Button
          kind="danger"
          disabled={isDeciding.value}
          onClick={() => run({ decision: "deny", reason: reason.value || undefined })}
        >
          Deny
        </Button>
      </div>
    </section>
  );
}

/** The whole text, so that a person sees everything that it approves. */
function ShownArguments({ text, cut }: { readonly text: string; readonly cut: number }): JSX.Element {
  return (
    <div role="group" aria-label="Arguments">
      <pre>{cut === 0 ? formatJson(text) : text}</pre>
      {cut > 0 && <p class="muted">{formatCount(cut, "more character")} at the end are not shown here.</p>}
    </div>
  );
}

/** Characters that are invisible, or change the direction of text, stay escaped. */
function formatJson(text: string): string {
  return JSON.stringify(JSON.parse(text), null, 2).replaceAll(
    /[\p{Cf}\p{Cs}\u2028\u2029]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}
