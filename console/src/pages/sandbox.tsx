// Sandbox: what each local server may do, and what it was denied, with the grant to copy.

import type { JSX } from "preact";
import { events } from "../state/live.ts";
import { useLoaded } from "../state/loaded.ts";
import { href } from "../state/router.ts";
import type { LaunchPlan, SandboxResult } from "../types.ts";
import { formatCount, formatTime } from "../ui/format.ts";
import { Badge, Command, Empty, ErrorMessage, Facts, Loading, Page } from "../ui/parts.tsx";

/** Paths that a person or a caller granted; the others are parts of the system. */
const GRANTED: ReadonlySet<string> = new Set(["cwd", "declared", "root", "kept home", "socket"]);

export function SandboxPage({ alias }: { readonly alias?: string }): JSX.Element {
  const newest = events.value.find(({ type }) => /^mcp\.sandbox_(?:path_)?denied$/.test(type))?.key;
  const { value, error } = useLoaded<SandboxResult>("sandbox", {}, newest);
  const plans = value.value?.plans.filter(({ server }) => alias === undefined || server === alias);
  return (
    <Page
      title="Sandbox"
      lead="In its sandbox, a local server sees only the system's programs and the files and hosts that its config grants."
    >
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      {plans === undefined && error.value === undefined && <Loading />}
      {plans?.length === 0 && (
        <Empty title={`${alias ?? "No local server"} was ${alias === undefined ? "" : "not "}started yet.`} />
      )}
      {plans?.map((plan) => (
        <PlanCard
          key={plan.server}
          plan={plan}
          denied={value.value?.denied.filter(({ server }) => server === plan.server) ?? []}
        />
      ))}
      {plans !== undefined && alias !== undefined && <a href={href("sandbox")}>All servers</a>}
    </Page>
  );
}

type Denied = SandboxResult["denied"];

function grantOf(event: Denied[number]): string {
  const { server } = event;
  if (event.type === "mcp.sandbox_denied")
    return `portolan grant ${server} --net ${event.rule ?? targetOf(event)}`;
  return event.grant ?? `portolan why ${server}`;
}

function targetOf(event: Denied[number]): string {
  if (event.type === "mcp.sandbox_path_denied") return event.path;
  return `${event.host}${event.port === undefined ? "" : `:${event.port}`}`;
}

function PlanCard({ plan, denied }: { readonly plan: LaunchPlan; readonly denied: Denied }): JSX.Element {
  const { server, sandbox, program, args, env, notGranted } = plan;
  const { policy, mode, backend, by, missing } = sandbox;
  /** Scripts that do not exist: no grant helps. */
  const scripts = notGranted.filter(({ isNew, isScript }) => isNew === true && isScript === true);
  const hidden = notGranted.filter((path) => !scripts.includes(path));
  const paths = (access: string): string[] =>
    policy.mounts
      .filter((mount) => mount.access === access && GRANTED.has(mount.reason))
      .map(({ path }) => path);
  return (
    <section class="card" aria-label={server}>
      <div class="card-head">
        <h2>{server}</h2>
        <Badge tone={mode === "enforce" ? "ok" : "warn"}>{mode}</Badge>
      </div>
      {denied.map((event) => (
        <div key={targetOf(event)} class="message bad">
          <strong>{targetOf(event)}</strong> was denied at {formatTime(event.time)}: {event.reason}
          <Command text={grantOf(event)} />
        </div>
      ))}
      {mode === "off" ? (
        <p class="message warn">
          This server runs without a sandbox (set by: {by}). The server can use every file and host that you
          can use.
        </p>
      ) : (
        <Facts
          items={[
            ["Backend", backend],
            ["Mode set by", by],
            ["Network", policy.network.length === 0 ? "none" : <Names names={policy.network} />],
            ["May write", <Names names={paths("write")} />],
            ["May read", <Names names={paths("read")} />],
          ]}
        />
      )}
      <Facts wide items={[["Program", <code class="break">{[program, ...args].join(" ")}</code>]]} />
      <details>
        <summary>{formatCount(env.length, "environment variable")}</summary>
        <p class="small break">{env.join(", ")}</p>
      </details>
      {missing.length > 0 && (
        <p class="message warn">
          Sandbox rules that are not enforced:{" "}
          {missing.map(({ rule, problem }) => `${rule} (${problem})`).join(", ")}
        </p>
      )}
      {scripts.length > 0 && <p class="message warn">There is no file {listOf(scripts)}.</p>}
      {hidden.length > 0 && (
        <p class="message warn">
          Named in the command or config, but hidden by the sandbox: {listOf(hidden)}
        </p>
      )}
      <Command text={`portolan why --plan ${server}`} />
    </section>
  );
}

function listOf(paths: readonly { readonly path: string }[]): string {
  return paths.map(({ path }) => path).join(", ");
}

function Names({ names }: { readonly names: readonly string[] }): JSX.Element {
  if (names.length === 0) return <>none</>;
  return (
    <ul class="names">
      {names.slice(0, 30).map((name) => (
        <li key={name}>
          <code class="break">{name}</code>
        </li>
      ))}
      {names.length > 30 && <li class="muted">and {names.length - 30} more</li>}
    </ul>
  );
}
