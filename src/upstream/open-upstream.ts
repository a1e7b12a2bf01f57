// Opens one server as an upstream that restarts it when its session is lost.

import type { Report } from "../errors/index.ts";
import type { Redactor } from "../secrets/index.ts";
import { createLaunchReports } from "./failure-hints/launch-diagnostics.ts";
import { redactorFor } from "./sensitive.ts";
import { openSessionUpstream, type SessionUpstreamOptions } from "./session/session-upstream.ts";
import type { Policy } from "./supervision/instance.ts";
import { SupervisedUpstream } from "./supervision/supervised-upstream.ts";
import type { Upstream } from "./upstream.ts";

const POLICY: Policy = { keepsTrying: true, startRetries: 0, idleMs: undefined, drainMs: 0 };

export interface UpstreamOptions extends Omit<
  SessionUpstreamOptions,
  "launches" | "redactor" | "knownLegacy"
> {
  /** Takes secrets out of errors; by default it knows the credentials of the definition. */
  readonly redactor?: Redactor | undefined;
  /** Gives up the first start. */
  readonly signal?: AbortSignal | undefined;
}

/** Rejects when the first start fails, which is not repeated. */
export async function openUpstream({ signal, onLaunch, ...options }: UpstreamOptions): Promise<Upstream> {
  const { definition, caller } = options;
  const redactor = options.redactor ?? redactorFor(definition.endpoint);
  const report = redacted(options.report, redactor);
  const launches = createLaunchReports(definition.name, report, onLaunch);
  const upstream = new SupervisedUpstream({
    name: definition.name,
    policy: () => POLICY,
    requestTimeoutMs: definition.limits.requestTimeoutMs,
    logLevel: caller.logLevel,
    open: async (leaving, before) => {
      const session = await openSessionUpstream({
        ...{ ...options, report, redactor, launches },
        knownLegacy: before?.era === "legacy",
        // Only the first start can be given up by whoever wants the upstream.
        signal: before === undefined && signal !== undefined ? AbortSignal.any([leaving, signal]) : leaving,
      });
      return { upstream: session, release: () => session.close() };
    },
  });
  try {
    await upstream.start();
  } catch (error) {
    await upstream.close();
    throw error;
  }
  return upstream;
}

/** Reports without the secrets that the redactor knows. */
function redacted(report: Report, redactor: Redactor): Report {
  return (finding) =>
    report({
      ...finding,
      message: redactor.redactText(finding.message),
      ...(finding.hint === undefined ? {} : { hint: redactor.redactText(finding.hint) }),
    });
}
