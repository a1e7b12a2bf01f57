// Launch diagnostics: reports sandbox rules that are not enforced and connections that were refused, each once.

import { changedError, ERROR_CODES, type PortolanError, type Report } from "../../errors/index.ts";
import type { LaunchNews, LaunchPlan } from "../../launch/index.ts";
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
} from "../../model/index.ts";
import type { NamedPath } from "../../sandbox/index.ts";
import type { Call } from "../upstream.ts";
import {
  argumentConnections,
  argumentPaths,
  type FailedConnection,
  failedConnections,
  failedPaths,
} from "./failed-access.ts";
import { limitHint, fetcherHint } from "./launch-hints.ts";

type OnLaunch = (news: LaunchNews) => void;

export interface LaunchDiagnostics {
  readonly onLaunch: OnLaunch;
  /** Adds a hint to the error when the sandbox refused a connection or path since that time. */
  readonly explain: (error: PortolanError, since: number, call?: Call) => PortolanError;
  /** Searches the result of a call for connections and paths that the sandbox does not grant. */
  readonly checkResult: (result: JsonObject, call?: Call) => void;
}

/** Number of recent refusals that are kept to explain a failure. */
const MAX_LATELY = 8;

const MAX_HIDDEN = 20;

/** Errors that a refused connection or path may have caused. */
const EXPLAINED = new Set(["SERVER_START_FAILED", "SERVER_CRASHED", "TIMEOUT", "RPC_ERROR"]);

/** The length up to which a result without an error is searched. */
const MAX_PLAIN = 2_000;

/** The number of content blocks of a result that are searched. */
const MAX_ITEMS = 8;

const NOT_THERE = "the server's sandbox has a network of its own, where nothing listens at this address";

const WARN_SET_BY: Readonly<Record<LaunchPlan["sandbox"]["by"], string>> = {
  config: "its config says `sandbox: warn`",
  "command line": "the command line says `--sandbox warn`",
  PORTOLAN_SANDBOX: "PORTOLAN_SANDBOX is `warn`",
  default: "the sandbox mode is `warn`",
};

export function createLaunchDiagnostics(
  server: string,
  report: Report,
  onLaunch: OnLaunch | undefined,
): LaunchDiagnostics {
  const reportDenied = createDeniedReport(report);
  const lately: { readonly denied: Denied; readonly at: number }[] = [];
  let granted: readonly string[] = [];
  let plan: LaunchPlan | undefined;
  let hiddenAmong: Extract<LaunchNews, { type: "planned" }>["hiddenAmong"];
  let relaxed = false;
  const hidden = new Set<string>();

  const heardDenied = (denied: Denied): void => {
    lately.push({ denied, at: performance.now() });
    if (lately.length > MAX_LATELY) lately.shift();
    reportDenied(denied, granted);
  };

  /** Only a sandbox with a separate network makes a failed connection one that is not granted. */
  const heardFailed = (connections: readonly FailedConnection[]): void => {
    if (plan?.sandbox.backend !== "bubblewrap") return;
    for (const { host, port } of connections)
      if (!isGranted(granted, host, port)) heardDenied({ server, host, port, reason: NOT_THERE });
  };

  return {
    onLaunch: (news) => {
      if (news.type === "denied") {
        heardDenied(news);
      } else if (news.type === "planned") {
        ({ plan, hiddenAmong } = news);
        granted = news.plan.sandbox.policy.network;
        reportNamed(news.plan.notGranted);
        if (!relaxed && news.plan.sandbox.mode === "warn") {
          relaxed = true;
          reportMissing(news.plan.sandbox);
        }
      }
      onLaunch?.(news);
    },
    explain: (error, since, call) => {
      if (!EXPLAINED.has(error.code)) return error;
      const words = `${error.message}\n${error.stderr ?? ""}`;
      heardFailed([...failedConnections(words), ...connectionsOf(call)]);
      const [path] = [...failedIn(words), ...hiddenIn(argumentsOf(call))];
      const then = lately.filter(({ at }) => at >= since).map(({ denied }) => denied);
      const hint =
        limitHint(plan, error) ?? fetching(plan, error) ?? deniedHint(then, granted) ?? hiddenHint(path);
      return hint === undefined ? error : withHint(error, hint);
    },
    checkResult,
  };

  function checkResult(result: JsonObject, call?: Call): void {
    if (plan === undefined) return;
    const named = hiddenIn(argumentsOf(call));
    // A write into a private HOME or /tmp succeeds but is lost, so a successful result proves nothing.
    const isFailed = result.isError === true;
    reportNamed(isFailed ? named : named.filter(({ isPrivate }) => isPrivate), "the arguments of a call");
    if (isFailed) heardFailed(connectionsOf(call));
    if (!Array.isArray(result.content)) return;
    for (const item of result.content.slice(0, isFailed ? MAX_ITEMS : 1)) {
      if (!isObject(item) || typeof item.text !== "string") continue;
      if (isFailed) heardFailed(failedConnections(item.text));
      // Some servers report a failure in a result without isError; a long text is content.
      else if (item.text.length > MAX_PLAIN) continue;
      reportNamed(failedIn(item.text), "the result of a call");
    }
  }

  function hiddenIn(words: readonly string[]): readonly NamedPath[] {
    return words.length === 0 ? [] : (hiddenAmong?.(words.slice(0, MAX_HIDDEN)) ?? []);
  }

  /** A server often prints its HOME and /tmp. It has folders of these names, so that they are no failures. */
  function failedIn(text: string): readonly NamedPath[] {
    const own = [plan?.sandbox.policy.home, "/tmp"];
    return hiddenIn(failedPaths(text)).filter(({ path }) => !own.includes(path));
  }

  /** Reports each path once, and no more than MAX_HIDDEN of them. */
  function reportNamed(paths: readonly NamedPath[], where?: string): void {
    for (const { path, where: place, isNew = false } of paths) {
      if (hidden.has(path) || hidden.size >= MAX_HIDDEN) continue;
      hidden.add(path);
      const message = hiddenPathMessage(server, { path, where: where ?? place, isNew });
      const hint = `Grant it: ${pathGrant(path, isNew)}`;
      report({ code: "SANDBOX_DENIED", severity: "warning", server, message, hint });
    }
  }

  function reportMissing({ missing, by }: LaunchPlan["sandbox"]): void {
    for (const { rule, problem, remedy } of missing) {
      const [subject, without] =
        rule === "sandbox" ? ["Sandbox", "unsandboxed"] : [`Sandbox rule "${rule}"`, "without this rule"];
      const message = `${subject} not enforced for server "${server}": ${problem}. The server runs ${without} because ${WARN_SET_BY[by]}.`;
      report({ code: "SANDBOX_UNAVAILABLE", severity: "warning", server, message, hint: remedy });
    }
  }
}

/** A program that could not download its package should be installed, instead of being granted those hosts. */
function fetching(plan: LaunchPlan | undefined, { code }: PortolanError): string | undefined {
  return plan === undefined || code !== "SERVER_START_FAILED" ? undefined : fetcherHint(plan);
}

function argumentsOf(call: Call | undefined): string[] {
  return call?.method === "tools/call" ? argumentPaths(call.params?.arguments) : [];
}

function connectionsOf(call: Call | undefined): FailedConnection[] {
  return call?.method === "tools/call" ? argumentConnections(call.params?.arguments) : [];
}

function hiddenHint(hidden: NamedPath | undefined): string | undefined {
  return hidden && `The sandbox hides ${hidden.path}; grant it: ${pathGrant(hidden.path, hidden.isNew)}`;
}

function isGranted(granted: readonly string[], host: string, port: number): boolean {
  return granted.some((text) => {
    const parsed = parseNetworkRule(text);
    return parsed.ok && matchesRule(parsed.rule, host, port);
  });
}

/** Keeps the hint that a call may have run, and hints that other code has added. */
function withHint(error: PortolanError, denied: string): PortolanError {
  const { code } = error;
  const isSpecial = code === "RPC_ERROR" && error.hint !== ERROR_CODES.RPC_ERROR.hint;
  const hint = code === "SERVER_CRASHED" || isSpecial ? `${error.hint} ${denied}` : denied;
  return changedError(error, { hint });
}
