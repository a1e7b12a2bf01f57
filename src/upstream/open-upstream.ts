// Opens one server as an upstream that restarts it when its session is lost.

import type { Report } from "../errors/index.ts";
import type { Endpoint } from "../model/index.ts";
import type { OnSecrets, RequestAuth } from "../oauth/index.ts";
import { createRedactor, type Redactor, Secret } from "../secrets/index.ts";
import { createLaunchDiagnostics } from "./failure-hints/launch-diagnostics.ts";
import { openSessionUpstream, type SessionUpstreamOptions } from "./session/session-upstream.ts";
import type { Policy } from "./supervision/instance.ts";
import { SupervisedUpstream } from "./supervision/supervised-upstream.ts";
import type { Upstream } from "./upstream.ts";
import { within } from "./waiting.ts";

const POLICY: Policy = { restarts: true, keepsTrying: true, startRetries: 0, idleMs: undefined, drainMs: 0 };
/** Names of environment variables, headers and query parameters whose values are secret. */
const SECRET_NAME = /token|key|secret|passw|pwd|auth|credential|cookie|session/i;

export interface UpstreamOptions extends Omit<
  SessionUpstreamOptions,
  "launches" | "redactor" | "knownLegacy" | "auth" | "rejectsAtTimeout"
> {
  /** Removes secrets from errors; by default the credentials of the definition. */
  readonly redactor?: Redactor;
  /** Creates the credentials for requests to a URL. Every secret must be given to `onSecrets`. */
  readonly createAuth?: (onSecrets: OnSecrets) => Promise<RequestAuth | undefined>;
  /** The command that grants more to this server; `IN_PROGRAM` if a program declares it. */
  readonly grantCommand?: string;
  /** Aborts the first start. */
  readonly signal?: AbortSignal;
}

/** Rejects when the first start fails, which is not repeated. */
export async function openUpstream({
  signal,
  onLaunch,
  grantCommand,
  ...options
}: UpstreamOptions): Promise<Upstream> {
  const { definition, caller } = options;
  const redactor = options.redactor ?? redactorFor(definition.endpoint);
  const auth = await options.createAuth?.(redactor.replace);
  const report = redacted(options.report, redactor);
  const launches = createLaunchDiagnostics(definition.name, report, onLaunch, { command: grantCommand });
  const upstream = new SupervisedUpstream({
    name: definition.name,
    policy: () => POLICY,
    requestTimeoutMs: definition.limits.requestTimeoutMs,
    logLevel: caller.logLevel,
    open: async (leaving, before) => {
      const session = await openSessionUpstream({
        ...{ ...options, report, redactor, launches, auth },
        knownLegacy: before?.era === "legacy",
        // A later start waits for the end of the process, so that the next process does not run beside it.
        rejectsAtTimeout: before === undefined,
        // The caller's signal aborts the first start only.
        signal: before === undefined && signal !== undefined ? AbortSignal.any([leaving, signal]) : leaving,
      });
      return { upstream: session, release: () => session.close() };
    },
  });
  try {
    const { name: server } = definition;
    await within(upstream.start(), { server, what: "connecting", ms: 0, signal });
  } catch (error) {
    const closed = upstream.close();
    // A caller that has given up does not wait for the end of the process, which may take seconds.
    if (signal?.aborted === true) void closed.catch(() => {});
    else await closed;
    throw error;
  }
  return upstream;
}

/** A report function that removes secrets from diagnostics. */
function redacted(report: Report, redactor: Redactor): Report {
  return (finding) =>
    report({
      ...finding,
      message: redactor.redactText(finding.message),
      hint: finding.hint && redactor.redactText(finding.hint),
    });
}

/** A redactor for the credentials of this endpoint, which a server or its error page may repeat. */
function redactorFor(endpoint: Endpoint): Redactor {
  const redactor = createRedactor();
  for (const value of credentials(endpoint)) redactor.add(new Secret(value));
  return redactor;
}

function credentials(endpoint: Endpoint): string[] {
  if (endpoint.transport === "stdio") return secretsIn(endpoint.env);
  const { username, password, searchParams } = new URL(endpoint.url);
  return [
    ...(password === "" ? [] : [password, decodeOr(password)]),
    ...(password === "" && username !== "" ? [username] : []),
    ...secretsIn(Object.fromEntries(searchParams)),
    // A server may repeat only the last word of "Bearer x".
    ...secretsIn(endpoint.headers).flatMap((value) => [value, value.split(" ").at(-1) ?? value]),
  ];
}

function secretsIn(values: Readonly<Record<string, string>> | undefined): string[] {
  return Object.entries(values ?? {})
    .filter(([name]) => SECRET_NAME.test(name))
    .map(([, value]) => value);
}

function decodeOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
