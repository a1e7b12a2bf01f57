// Launch diagnostics: reports sandbox rules that are not enforced, and refused paths and connections, each once. Adds the refusals to
// the errors and results of calls.

import { homedir } from "node:os";
import { join } from "node:path";
import { changedError, ERROR_CODES, type PortolanError, type Report } from "../../errors/index.ts";
import type { LaunchNews, LaunchPlan } from "../../launch/index.ts";
import {
  BUILT_IN_CALLERS,
  connectionDenials,
  createDeniedReport,
  type Denied,
  deniedHint,
  IN_PROGRAM,
  type JsonObject,
  matchesRule,
  ownFoldersForCaller,
  ownFoldersText,
  parseNetworkRule,
  privateHomeText,
  type ReportDenied,
} from "../../model/index.ts";
import type { Call } from "../upstream.ts";
import { argumentsOf, connectionsOf, textsOf } from "./call-texts.ts";
import {
  type FailedConnection,
  failedConnections,
  namesHome,
  reportsFailedAccess,
  reportsFailedRead,
  reportsOwnFolders,
} from "./failed-access.ts";
import { hiddenModuleHint, missingModule } from "./hidden-modules.ts";
import { comparisonHint, fetcherHint, limitHint, nativeHint, typescriptHint } from "./launch-hints.ts";
import { missingFileHint } from "./missing-files.ts";
import { missingVariablesHint } from "./missing-variables.ts";
import { type FailedPath, hiddenHint, MAX_HIDDEN, type PathDenial, RefusedPaths } from "./refused-paths.ts";
import { type Denial, forCaller, withDenials, withText } from "./result-denials.ts";

type OnLaunch = (news: LaunchNews) => void;

export interface LaunchDiagnostics {
  readonly onLaunch: OnLaunch;
  /** Adds a hint to the error when the sandbox refused a connection or path since that time. */
  readonly explain: (error: PortolanError, since: number, call?: Call) => PortolanError;
  /**
   * Searches the result of a call for paths that the sandbox does not grant, and a failed one for connections. Returns
   * the result, with the denied paths and the hosts that were refused since that time.
   */
  readonly checkResult: (result: JsonObject, call?: Call, since?: number) => JsonObject;
}

export interface LaunchDiagnosticsOptions {
  /** The command that grants more to this server, up to its options. */
  readonly command?: string;
  /** The file and line of its config. */
  readonly place?: string;
  /** Called for each denied path once. */
  readonly onDeniedPath?: (denied: PathDenial) => void;
  /** Whether a tool only reads, as its annotations say; undefined if they do not say it. */
  readonly isReadOnlyTool?: (tool: string) => boolean | undefined;
  /** About a server that would write its data into its program folder, which a sandbox protects. */
  readonly dataFile?: { readonly message: string; readonly hint: string };
  /** Reports a refused connection, if one report is shared by several sandboxes. */
  readonly reportDenied?: ReportDenied;
}

/** Number of recent refusals that are kept to explain a failure. */
const MAX_LATELY = 8;
/** Backends that give each server a network of its own. */
const OWN_NETWORK: readonly string[] = ["bubblewrap", "unshare"];

/** Errors that a refused connection or path may have caused. */
const EXPLAINED = new Set(["SERVER_START_FAILED", "SERVER_CRASHED", "TIMEOUT", "RPC_ERROR"]);

/** For a server that a program declares. */
const CREDENTIAL_HINT =
  'Set a valid credential in the options of the server: auth: { token }, or headers such as { Authorization: "Bearer …" }. For a login with OAuth, set auth: { openLoginPage }.';

const NOT_THERE = "the server's sandbox has a network of its own, where nothing listens at this address";

const WARN_SET_BY: Readonly<Record<LaunchPlan["sandbox"]["by"], string>> = {
  config: "its config says `sandbox: warn`",
  "command line": "the option sandbox (on the command line: --sandbox) sets its mode to `warn`",
  PORTOLAN_SANDBOX: "PORTOLAN_SANDBOX is `warn`",
  default: "the sandbox mode is `warn`",
};

export function createLaunchDiagnostics(
  server: string,
  report: Report,
  onLaunch: OnLaunch | undefined,
  {
    command,
    place,
    onDeniedPath,
    isReadOnlyTool,
    dataFile,
    reportDenied = createDeniedReport(report, command),
  }: LaunchDiagnosticsOptions = {},
): LaunchDiagnostics {
  const lately: { readonly denied: Denied; readonly at: number }[] = [];
  let granted: readonly string[] = [];
  let plan: LaunchPlan | undefined;
  let relaxed = false;
  let hasDataReport = false;
  const refusals = new RefusedPaths({ server, command, place, dataFile });
  const reported = new Set<string>();

  const heardDenied = (denied: Denied): void => {
    lately.push({ denied, at: performance.now() });
    if (lately.length > MAX_LATELY) lately.shift();
    reportDenied(denied, granted);
  };

  /** Only a sandbox with a separate network makes a failed connection one that is not granted. */
  const heardFailed = (connections: readonly FailedConnection[]): void => {
    if (plan === undefined || !OWN_NETWORK.includes(plan.sandbox.backend)) return;
    for (const { host, port } of connections)
      if (!isGranted(granted, host, port)) heardDenied({ server, host, port, reason: NOT_THERE });
  };

  const deniedSince = (since: number): Denied[] =>
    lately.filter(({ at }) => at >= since).map(({ denied }) => denied);

  return {
    onLaunch: (news) => {
      if (news.type === "denied") {
        heardDenied(news);
      } else if (news.type === "planned") {
        ({ plan } = news);
        refusals.planned = news;
        granted = news.plan.sandbox.policy.network;
        reportNamed(news.plan.notGranted);
        if (news.plan.sandbox.backend !== "none") reportDataFile();
        if (!relaxed && news.plan.sandbox.mode === "warn") {
          relaxed = true;
          reportMissing(news.plan.sandbox);
        }
      }
      onLaunch?.(news);
    },
    explain: (error, since, call) => {
      if (
        error.code === "AUTH_REQUIRED" &&
        command === IN_PROGRAM &&
        error.hint === ERROR_CODES.AUTH_REQUIRED.hint
      )
        return changedError(error, { hint: CREDENTIAL_HINT });
      if (!EXPLAINED.has(error.code)) return error;
      const words = `${error.message}\n${error.stderr ?? ""}`;
      heardFailed([...failedConnections(words), ...connectionsOf(call)]);
      const atStart = error.code === "SERVER_START_FAILED" ? (plan?.notGranted ?? []) : [];
      const isForReading = onlyReads(call, [words]);
      const [path] = [...refusals.failedIn(words), ...refusals.hiddenIn(argumentsOf(call)), ...atStart].map(
        (one) => ({
          ...refusals.withConfigured(one),
          isForReading: isForReading ?? one.isForReading,
        }),
      );
      const denied = deniedHint(deniedSince(since), granted, command);
      const fetcher = fetching(plan, error);
      const hint =
        limitHint(plan, error) ??
        // The hosts are named too, for a server that is to fetch its package.
        (fetcher === undefined || denied === undefined ? fetcher : `${fetcher} ${denied}`) ??
        nativeHint(plan, error) ??
        typescriptHint(error) ??
        moduleHint(error) ??
        missingFileHint(plan, error) ??
        missingVariablesHint(error, command, (name) => plan?.env.includes(name) === true) ??
        privateHomeDenials([words], call)[0]?.message ??
        denied ??
        hiddenHint(path, command) ??
        comparisonHint(plan, error, command);
      return hint === undefined ? error : withHint(error, hint);
    },
    checkResult,
  };

  function checkResult(result: JsonObject, call?: Call, since = 0): JsonObject {
    if (plan === undefined || plan.sandbox.backend === "none") return result;
    const named = refusals.hiddenIn(argumentsOf(call));
    // A write into a private HOME or /tmp succeeds but is lost, so a successful result proves nothing.
    const isFailed = result.isError === true;
    const found: FailedPath[] = (isFailed ? named : named.filter(({ isPrivate }) => isPrivate)).map(
      (one) => ({
        ...one,
        where: "the arguments of a call",
      }),
    );
    if (isFailed) heardFailed(connectionsOf(call));
    const texts = textsOf(result, isFailed);
    const isForReading = onlyReads(call, texts);
    const inPrivateHome = isFailed ? privateHomeDenials(texts, call) : [];
    // The server refuses its own HOME, and may have been started with the folder that the caller means.
    const isOutside = isFailed && texts.some((text) => reportsOwnFolders(text));
    const isOperator = isOperatorOf(call);
    if (isOutside && inPrivateHome.length === 0 && found.length === 0) {
      const [path] = argumentsOf(call);
      return withText(
        result,
        isOperator
          ? ownFoldersText(server, refusals.refused(path), command)
          : ownFoldersForCaller(server, path),
      );
    }
    for (const text of texts) {
      if (isFailed) heardFailed(failedConnections(text));
      found.push(...refusals.failedIn(text).map((one) => ({ ...one, where: "the result of a call" })));
    }
    // An argument such as ~/notes is explained already.
    const others =
      inPrivateHome.length === 0 ? found : found.filter((one) => one.inPrivateHome === undefined);
    const failed = others.map((one) => ({ ...one, isForReading: isForReading ?? one.isForReading }));
    reportNamed(failed, { isOutside, at: new Date().toISOString() });
    // The first place of a path is also the one that was reported.
    const byPath = new Map<string, PathDenial>();
    for (const one of failed)
      if (!byPath.has(one.path))
        byPath.set(
          one.path,
          isOperator
            ? refusals.toDenial(one, isOutside)
            : refusals.asWritten(one, refusals.toDenial(one, isOutside)),
        );
    const hosts = isFailed ? connectionDenials(server, deniedSince(since), granted, command) : [];
    const denials = [...inPrivateHome, ...byPath.values(), ...hosts];
    if (isOperator) return withDenials(result, denials);
    const { cwd = "/" } = plan.sandbox.policy;
    const isKnown = [...texts, ...argumentsOf(call)].some((text) => text.includes(cwd));
    const folder = isKnown ? undefined : cwd;
    return withDenials(
      result,
      denials.map((denial) => forCaller(denial, folder)),
    );
  }

  /** Arguments such as ~/notes of a failed call, if ~ is another folder in the sandbox: a HOME of the server. */
  function privateHomeDenials(texts: readonly string[], call: Call | undefined): readonly Denial[] {
    if (plan === undefined || ["none", "docker"].includes(plan.sandbox.backend)) return [];
    const { home } = plan.sandbox.policy;
    const isPlace = (text: string): boolean =>
      text.includes(`${home}/`) || reportsOwnFolders(text) || reportsFailedAccess(text);
    if (home === homedir() || !texts.some(isPlace)) return [];
    const inHome = argumentsOf(call).filter((path) => path.startsWith("~/"));
    // Beside such a path, a single ~ is probably a text.
    const isHome = inHome.length === 0 && call?.method === "tools/call" && namesHome(call.params?.arguments);
    const denials = (isHome ? ["~"] : inHome).map((written) => {
      const path = join(homedir(), written.slice(2));
      const isKnown = isOperatorOf(call);
      const message = privateHomeText(server, home, isKnown ? path : undefined);
      const access = onlyReads(call, texts) === false ? "write" : "read";
      return { path: isKnown ? path : written, access, message } satisfies PathDenial;
    });
    return [...new Map(denials.map((denial) => [denial.message, denial])).values()];
  }

  /** For a module that the server could not import, because the sandbox hides its folder. */
  function moduleHint(error: PortolanError): string | undefined {
    const missing = missingModule(plan, error, homedir());
    if (missing === undefined) return undefined;
    const [folder] = refusals.hiddenIn(missing.folders);
    return hiddenModuleHint(missing.name, folder && refusals.withConfigured(folder), command);
  }

  /** Whether a call only reads: its tool says so, or, if the tool says nothing, the texts about the failure; undefined if unknown. */
  function onlyReads(call: Call | undefined, texts: readonly string[]): boolean | undefined {
    if (call?.method !== "tools/call") return undefined;
    const isRead = texts.some((text) => reportsFailedRead(text));
    return isReadOnlyTool?.(String(call.params?.name)) ?? (isRead || undefined);
  }

  /** Reports each path once, and no more than MAX_HIDDEN of them. `at`: the time of the call that failed. */
  function reportNamed(
    paths: readonly FailedPath[],
    { isOutside, at }: { readonly isOutside?: boolean; readonly at?: string } = {},
  ): void {
    for (const named of paths) {
      if (reported.has(named.path) || reported.size >= MAX_HIDDEN) continue;
      reported.add(named.path);
      const denial = refusals.toDenial(named, isOutside);
      const { message, hint } = denial;
      // The sandbox denies nothing if the script does not exist.
      const isMissing = named.isNew === true && named.isScript === true;
      const code = isMissing ? "SERVER_START_FAILED" : "SANDBOX_DENIED";
      report({ code, severity: "warning", server, message, hint, ...(at && { at }) });
      if (!isMissing) onDeniedPath?.(denial);
    }
  }

  function reportDataFile(): void {
    if (dataFile === undefined || hasDataReport) return;
    hasDataReport = true;
    report({ code: "SANDBOX_DENIED", severity: "warning", server, ...dataFile });
  }

  function reportMissing({ missing, by, backend }: LaunchPlan["sandbox"]): void {
    for (const { rule, problem, remedy } of missing) {
      const [fact, how] =
        rule !== "sandbox"
          ? [`Sandbox rule "${rule}" not enforced`, "without this rule"]
          : backend === "none"
            ? ["Sandbox not enforced", "unsandboxed"]
            : ["Sandbox not fully enforced", "nevertheless"];
      const option = /^args: (.*)$/s.exec(rule)?.[1];
      const message =
        option === undefined
          ? `${fact} for server "${server}": ${problem}. The server runs ${how} because ${WARN_SET_BY[by]}.`
          : `The option ${option} weakens the sandbox of server "${server}": ${problem}. Portolan keeps the option because ${WARN_SET_BY[by]}.`;
      report({ code: "SANDBOX_UNAVAILABLE", severity: "warning", server, message, hint: remedy });
    }
  }
}

/** A program that could not download its package should be installed, instead of being granted those hosts. */
function fetching(plan: LaunchPlan | undefined, { code }: PortolanError): string | undefined {
  return plan === undefined || code !== "SERVER_START_FAILED" ? undefined : fetcherHint(plan);
}

/** Whether the caller can change the config, and may see the paths of this machine. */
function isOperatorOf(call: Call | undefined): boolean {
  return BUILT_IN_CALLERS.has(call?.caller?.account ?? "local");
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
