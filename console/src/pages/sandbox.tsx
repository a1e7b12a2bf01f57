// Sandbox: what each local server may do, and what it was denied, with the grant to copy.

import type { JSX } from "preact";
import { events, type LiveEvent } from "../state/live.ts";
import { useLoaded } from "../state/loaded.ts";
import { href } from "../state/router.ts";
import type { LaunchPlan } from "../types.ts";
import { formatCount, formatTime } from "../ui/format.ts";
import { Badge, Command, Empty, ErrorMessage, Facts, Loading, Page } from "../ui/parts.tsx";

/** Paths that a person or a caller granted; the others are parts of the system. */
const GRANTED: ReadonlySet<string> = new Set(["cwd", "declared", "root", "kept home", "socket"]);

export function SandboxPage({ alias }: { readonly alias?: string }): JSX.Element {
  const { value, error } = useLoaded<{ plans: LaunchPlan[] }>("sandbox");
  const plans = value.value?.plans.filter(({ server }) => alias === undefined || server === alias);
  return (
    <Page title="Sandbox" lead="A local server sees only the files and hosts that its config grants.">
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      {plans === undefined && error.value === undefined && <Loading />}
      {plans?.length === 0 && (
        <Empty title={`${alias ?? "No local server"} was ${alias === undefined ? "" : "not "}started yet.`} />
      )}
      {plans?.map((plan) => (
        <PlanCard key={plan.server} plan={plan} />
      ))}
      {plans !== undefined && alias !== undefined && <a href={href("sandbox")}>All servers</a>}
    </Page>
  );
}

type Denied = Extract<LiveEvent, { type: "mcp.sandbox_denied" | "mcp.sandbox_path_denied" }>;

function deniedOf(server: string): readonly Denied[] {
  const seen = new Set<string>();
  return events.value.filter((event): event is Denied => {
    if (event.server !== server) return false;
    if (event.type !== "mcp.sandbox_denied" && event.type !== "mcp.sandbox_path_denied") return false;
    const what = event.type === "mcp.sandbox_denied" ? event.host : event.path;
    const isNew = !seen.has(what);
    seen.add(what);
    return isNew;
  });
}

function PlanCard({ plan }: { readonly plan: LaunchPlan }): JSX.Element {
  const { server, sandbox, program, args, env, notGranted } = plan;
  const { policy, mode, backend, by, missing } = sandbox;
  const paths = (access: string): string[] =>
    policy.mounts
      .filter((mount) => mount.access === access && GRANTED.has(mount.reason))
      .map(({ path }) => path);
  const denied = deniedOf(server);
  return (
    <section class="card" aria-label={server}>
      <div class="card-head">
        <h2>{server}</h2>
        <Badge tone={mode === "enforce" ? "ok" : "warn"}>{mode}</Badge>
      </div>
      {denied.map((event) => (
        <div key={event.key} class="message bad">
          <strong>
            {event.type === "mcp.sandbox_denied"
              ? `${event.host}${event.port === 0 ? "" : `:${event.port}`}`
              : event.path}
          </strong>{" "}
          was denied at {formatTime(event.time)}: {event.reason}
          <Command
            text={
              event.type === "mcp.sandbox_denied"
                ? `portolan grant ${server} --net ${event.host}${event.port === 0 ? "" : `:${event.port}`}`
                : // The grant may end with an alternative in words.
                  (event.grant?.replace(/ \(or .*\)$/, "") ?? `portolan why ${server}`)
            }
          />
        </div>
      ))}
      {mode === "off" ? (
        <p class="message warn">
          This server runs without a sandbox ({by}). It may read, write and reach everything that you may.
        </p>
      ) : (
        <Facts
          items={[
            ["Backend", `${backend} (${by})`],
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
          Not enforced: {missing.map(({ rule, problem }) => `${rule} (${problem})`).join(", ")}
        </p>
      )}
      {notGranted.length > 0 && (
        <p class="message warn">Named but not granted: {notGranted.map(({ path }) => path).join(", ")}</p>
      )}
      <Command text={`portolan why --plan ${server}`} />
    </section>
  );
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
