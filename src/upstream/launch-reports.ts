// Diagnostics about the start of a server: sandbox rules that are not enforced, and connections that were refused. Each is reported once.

import { ERROR_CODES, PortolanError, type Report } from "../errors/index.ts";
import type { LaunchNews, LaunchPlan } from "../launch/index.ts";
import {
  createDeniedReport,
  type Denied,
  deniedHint,
  hiddenPathMessage,
  isObject,
  type JsonObject,
  matchesRule,
  parseNetworkRule,
  pathGrant,
} from "../model/index.ts";
import { fetcherHint } from "./fetcher-hint.ts";
import { failedConnections } from "./failed-connections.ts";
import { limitHint } from "./limit-hint.ts";

type OnLaunch = (news: LaunchNews) => void;

export interface LaunchReports {
  readonly onLaunch: OnLaunch;
  /** The same error; or one that also says what the server was refused since that time, which is most likely why. */
  readonly explain: (error: PortolanError, since: number) => PortolanError;
  /** Looks at the result of a tool that failed for a connection that the sandbox does not grant. */
  readonly checkResult: (result: JsonObject) => void;
}

/** Refusals that are enough to explain a failure. */
const MAX_LATELY = 8;

const MAX_HIDDEN = 20;

/** Failures of a server that could not go on; others have reasons of their own. */
const EXPLAINED = new Set(["SERVER_START_FAILED", "SERVER_CRASHED", "TIMEOUT", "RPC_ERROR"]);

/** Of a result, those that are read. */
const MAX_ITEMS = 8;

const NOT_THERE = "the server's sandbox has a network of its own, where nothing listens at this address";

const WARN_SET_BY: Readonly<Record<LaunchPlan["sandbox"]["by"], string>> = {
  declaration: "its config says `sandbox: warn`",
  "command line": "the command line says `--sandbox warn`",
  PORTOLAN_SANDBOX: "PORTOLAN_SANDBOX is `warn`",
  default: "the sandbox mode is `warn`",
};

export function createLaunchReports(
  server: string,
  report: Report,
  onLaunch: OnLaunch | undefined,
): LaunchReports {
  const reportDenied = createDeniedReport(report);
  const lately: { readonly denied: Denied; readonly at: number }[] = [];
  let granted: readonly string[] = [];
  let plan: LaunchPlan | undefined;
  let relaxed = false;
  const hidden = new Set<string>();

  const heardDenied = (denied: Denied): void => {
    lately.push({ denied, at: performance.now() });
    if (lately.length > MAX_LATELY) lately.shift();
    reportDenied(denied, granted);
  };

  /** Only with a network of its own is a failed connection one that the sandbox does not grant. */
  const heardWords = (text: string): void => {
    if (plan?.sandbox.backend !== "bubblewrap") return;
    for (const { host, port } of failedConnections(text))
      if (!isGranted(granted, host, port)) heardDenied({ server, host, port, reason: NOT_THERE });
  };

  return {
    onLaunch: (news) => {
      if (news.type === "denied") {
        heardDenied(news);
      } else if (news.type === "planned") {
        ({ plan } = news);
        granted = news.plan.sandbox.box.network;
        reportHidden(news.plan);
        if (!relaxed && news.plan.sandbox.mode === "warn") {
          relaxed = true;
          reportMissing(news.plan.sandbox);
        }
      }
      onLaunch?.(news);
    },
    explain: (error, since) => {
      if (!EXPLAINED.has(error.code)) return error;
      heardWords(`${error.message}\n${error.stderr ?? ""}`);
      const then = lately.filter(({ at }) => at >= since).map(({ denied }) => denied);
      const hint = limitHint(plan, error) ?? fetching(plan, error) ?? deniedHint(then, granted);
      return hint === undefined ? error : withHint(error, hint);
    },
    checkResult,
  };

  function checkResult(result: JsonObject): void {
    if (plan === undefined || !Array.isArray(result.content)) return;
    for (const item of result.content.slice(0, MAX_ITEMS))
      if (isObject(item) && typeof item.text === "string") heardWords(item.text);
  }

  function reportHidden({ notGranted }: LaunchPlan): void {
    for (const { path, where, isNew = false } of notGranted.slice(0, MAX_HIDDEN)) {
      if (hidden.has(path)) continue;
      hidden.add(path);
      const message = hiddenPathMessage(server, { path, where, isNew });
      const hint = `Grant it: ${pathGrant(path, isNew)}`;
      report({ code: "SANDBOX_DENIED", severity: "warning", server, message, hint });
    }
  }

  function reportMissing({ missing, by }: LaunchPlan["sandbox"]): void {
    for (const { clause, problem, remedy } of missing) {
      const [rule, without] =
        clause === "sandbox" ? ["Sandbox", "unsandboxed"] : [`Sandbox rule "${clause}"`, "without this rule"];
      const message = `${rule} not enforced for server "${server}": ${problem}. The server runs ${without} because ${WARN_SET_BY[by]}.`;
      report({ code: "SANDBOX_UNAVAILABLE", severity: "warning", server, message, hint: remedy });
    }
  }
}

/** A program that could not fetch its package was refused hosts, but to grant those would be the lesser way. */
function fetching(plan: LaunchPlan | undefined, { code }: PortolanError): string | undefined {
  return plan === undefined || code !== "SERVER_START_FAILED" ? undefined : fetcherHint(plan);
}

function isGranted(granted: readonly string[], host: string, port: number): boolean {
  return granted.some((text) => {
    const parsed = parseNetworkRule(text);
    return parsed.ok && matchesRule(parsed.rule, host, port);
  });
}

/** That a call may have run stays said, and what was made for the occasion. */
function withHint(error: PortolanError, denied: string): PortolanError {
  const { code, message, server, tool, stderr, data, cause, stack } = error;
  const isSpecial = code === "RPC_ERROR" && error.hint !== ERROR_CODES.RPC_ERROR.hint;
  const hint = code === "SERVER_CRASHED" || isSpecial ? `${error.hint} ${denied}` : denied;
  const explained = new PortolanError(code, message, { server, tool, stderr, data, cause, hint });
  if (stack !== undefined) explained.stack = stack;
  return explained;
}
