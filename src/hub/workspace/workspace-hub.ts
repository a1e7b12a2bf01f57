// Opens the hub of a workspace: loads the config files, starts the members, and applies later changes of the files.

import { isDeepStrictEqual } from "node:util";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type CatalogChange, type FileChange, loadCatalog, watchCatalog } from "../../catalog/index.ts";
import {
  type Diagnostic,
  guardCallback,
  locatedMessage,
  type Report,
  unknownServer,
} from "../../errors/index.ts";
import type { LaunchContext } from "../../launch/index.ts";
import type { GatewaySettings, ServerConfig } from "../../model/index.ts";
import { createSecretStore, type Redactor, type SecretStore } from "../../secrets/index.ts";
import type { CallObservers } from "../../telemetry/index.ts";
import { createWarner, rootFolders } from "../../client/index.ts";
import { createDiagnostics, type KeptDiagnostics } from "./diagnostics.ts";
import { fromCatalog, readConfig, type AnyWorkspaceSource, type WorkspaceConfig } from "./config.ts";
import type { EventBus, HubEvent, PinsComparedEvent } from "../events.ts";
import type { Hub } from "../hub.ts";
import type { DriverPins } from "../pins/driver-pins.ts";
import type { PinBook } from "../pins/pin-book.ts";
import type { FailedReplacement } from "../member/failed-replacement.ts";
import { registryTokens } from "./registry-tokens.ts";
import { Members, type RenewedSecrets, type RestartOptions } from "./members.ts";
import type { StderrLogs } from "../member/stderr-log.ts";
import { mergeSettings, openHub } from "../open-hub.ts";
import { packagedDrivers } from "./packaged-drivers.ts";
import { watchToolLists } from "./tool-lists.ts";
import type { WorkspaceHubOptions } from "./workspace-options.ts";
import { hasDriverOrContract } from "../views/naming.ts";

export interface OpenedWorkspace {
  readonly hub: Hub;
  readonly config: WorkspaceConfig;
  readonly secrets: SecretStore;
  readonly redactor: Redactor;
  readonly events: EventBus;
  /** Observers of calls: metrics, traces, the audit log, the console. */
  readonly calls: CallObservers;
  readonly pinBook: PinBook;
  readonly driverPins: DriverPins;
  readonly diagnostics: readonly Diagnostic[];
  /** Forgets diagnostics whose cause is gone. */
  readonly forget: KeptDiagnostics["forget"];
  readonly report: Report;
  readonly stderrLogs: StderrLogs;
  /** The gateway settings of the config files. */
  readonly gateway: {
    readonly settings: GatewaySettings | undefined;
    /** Calls the listener after each change of the settings. */
    onChange(listener: (settings: GatewaySettings | undefined) => void): void;
  };
  /**
   * Reads the config files again, and waits until every changed server has taken over or has failed: no new call is served with
   * the config from before. Returns the errors of the files; undefined for a workspace whose files are not watched. `trusted` are
   * changes that the user made with a command.
   */
  reload(trusted?: readonly FileChange[]): Promise<readonly Diagnostic[] | undefined>;
  /**
   * Looks up secrets again, and restarts the servers that were started with other values. Also tries these failed replacements again.
   * Resolves when the servers are ready or have failed.
   */
  renewSecrets(earlier?: readonly FailedReplacement[]): Promise<RenewedSecrets>;
  /** Replaces the processes of a server. Resolves when the new ones are ready or have failed. */
  restart(alias: string, options?: Pick<RestartOptions, "stopFirst">): Promise<void>;
  /** Resolves when every server that starts with the workspace is ready, or has failed for the first time. */
  settled(): Promise<void>;
  /** `reason` is the message of calls that were running. */
  close(reason?: string): Promise<void>;
}

/** Most programs read the tools once, so that opening waits for all servers. */
const PROGRAM_WAIT_MS = 30_000;
/** Config files are watched when most servers have started. */
const WATCH_AFTER_MS = 300;
/** Clients of a gateway are notified of the tools of a slow server, so that opening waits for most servers only. */
const GATEWAY_WAIT_MS = 10_000;

interface OpenHooks extends Pick<LaunchContext, "hintFolder"> {
  /** An error of this function ends the opening before any server starts. */
  readonly beforeStart?: (
    config: WorkspaceConfig,
    secrets: SecretStore,
    diagnostics: readonly Diagnostic[],
  ) => Promise<void>;
}

export async function openWorkspaceHub(
  source: AnyWorkspaceSource,
  options: WorkspaceHubOptions,
  { hintFolder, beforeStart }: OpenHooks = {},
): Promise<OpenedWorkspace> {
  const kept = createDiagnostics();
  const diagnostics = kept.all;
  const report = (diagnostic: Diagnostic): void => {
    kept.add(diagnostic);
    notify?.(diagnostic);
  };
  const warn = createWarner();
  const notify =
    options.onDiagnostic &&
    guardCallback("onDiagnostic", options.onDiagnostic, (failed) => {
      kept.add(failed);
      warn(failed);
    });
  // A function of the program may throw: nothing is open yet that would have to be closed.
  const roots = await rootFolders(options.handlers ?? {});
  const { reapOrphans } = await import("../../process/index.ts");
  const { FILE_REFUSED_HINT, fileRefusal } = await import("../../sandbox/index.ts");
  const { createIndexRenewal, createLaunchContext } = await import("../../launch/index.ts");
  const indexRenewal = createIndexRenewal();
  const launchContext: LaunchContext = { ...createLaunchContext(), indexRenewal, hintFolder };
  const { configFiles, writes } = launchContext;
  reapOrphans();
  const changes: CatalogChange[] = [];
  // Changes are queued until the hub is open.
  let apply = (change: CatalogChange): void => void changes.push(change);
  const { parsedFiles, watchFiles = true } = options;
  const watching = typeof source === "string" && watchFiles;
  const watch = watching
    ? await watchCatalog(source, (change) => apply(change), undefined, {
        ...{ writerOf: writes.writerOf, packagedDrivers, parsedFiles, watchAfterMs: WATCH_AFTER_MS },
      })
    : undefined;
  // The loaded catalog already includes these changes.
  changes.length = 0;
  let config: WorkspaceConfig;
  try {
    config =
      typeof source === "string"
        ? fromCatalog(watch?.catalog ?? (await loadCatalog(source, { packagedDrivers, parsedFiles })), report)
        : await readConfig(source, report);
    requireServers(options.only, config.servers);
  } catch (error) {
    await watch?.close();
    throw error;
  }
  if (config.usedPaths !== undefined) configFiles.add(config.usedPaths);
  const envFile = envFileOf(options.envFile, config);
  // No server may write a file that secrets come from.
  if (envFile !== undefined && envFile !== config.envFile)
    configFiles.add({ folder: dirname(envFile), isWhole: false, paths: [envFile], secrets: [envFile] });
  launchContext.servers = config.servers;
  launchContext.packagePolicy = config.packages;
  const closing = new AbortController();
  const secrets = createSecretStore({
    env: process.env,
    closed: closing.signal,
    lookup: options.secrets,
    envFile,
    checkFile: async (path, use) => {
      const reason = await fileRefusal(path, { servers: launchContext.servers, roots, writes }, use);
      return reason === undefined ? undefined : { reason, hint: FILE_REFUSED_HINT };
    },
    promptPassphrase: options.promptPassphrase,
    report,
  });
  launchContext.registryToken = registryTokens(config, secrets);
  try {
    await beforeStart?.(config, secrets, diagnostics);
  } catch (error) {
    await watch?.close();
    throw error;
  }
  const { naming, descriptionPrefix } = config;
  const opened = await openHub({
    ...options,
    roots,
    secrets,
    launchContext,
    naming,
    descriptionPrefix,
    // Commands show failed servers themselves.
    ofProgram: options.servesCallers !== true && options.reportsFailures !== false,
    onDiagnostic: report,
    forget: (isOver) => kept.forget(isOver),
  });
  const { hub, pinBook } = opened;
  const onEvent = options.onEvent && guardCallback("onEvent", options.onEvent, report);
  if (onEvent !== undefined) opened.events.on(onEvent, { calls: options.callEvents });
  if (options.reportsFailures === true) opened.events.on(failureReporter(report), { calls: false });
  await pinBook.read(config.lock);
  const { only } = options;
  const leaveOut = (server: ServerConfig): boolean =>
    only?.includes(server.alias) === false || options.leaveOut?.(server) === true;
  const members = new Members({
    ...{ hub, toMember: opened.member, leaveOut },
    // The next generation reports again what still holds. Diagnostics of config files are not about processes.
    replaces: (alias) => {
      const before = hub.members.find((member) => member.alias === alias)?.config;
      kept.forget(({ server, file, line }) => {
        // Drivers and contracts are compared with their earlier versions again. Only that has a file without a line.
        if (before !== undefined && hasDriverOrContract(before, server)) return line === undefined;
        return server === alias && file === undefined;
      });
    },
  });
  let { gateway } = config;
  const gatewayListeners = new Set<(settings: GatewaySettings | undefined) => void>();
  const noteGateway = (now: GatewaySettings | undefined): void => {
    if (isDeepStrictEqual(gateway, now)) return;
    gateway = now;
    for (const listener of gatewayListeners) listener(now);
  };
  let applying = Promise.resolve();
  /** Changes whose servers have not taken over yet. */
  const unapplied = new Set<Promise<unknown>>();
  let ofFiles = watch?.catalog.diagnostics ?? [];
  const change = (changed: CatalogChange): void => {
    const { diagnostics: now } = changed.catalog;
    const earlier = ofFiles;
    // An error that was corrected is over.
    kept.forget((one) => isAmong(one, earlier) && !isAmong(one, now));
    ofFiles = now;
    for (const diagnostic of now) report(diagnostic);
    launchContext.servers = changed.catalog.servers;
    launchContext.packagePolicy = changed.catalog.settings.packages;
    const { registries } = changed.catalog.settings;
    launchContext.registryToken = registryTokens({ registries, folder: changed.catalog.folder }, secrets);
    configFiles.add(changed.catalog.usedPaths);
    noteGateway(changed.catalog.settings.gateway);
    if (changed.settingsChanged) hub.configure(mergeSettings(changed.catalog.settings));
    // Servers of the same change start when the lock file was read.
    const repackaged = applying.then(() => pinBook.read(changed.catalog.lock));
    applying = repackaged.then(() => {});
    const problems = changed.catalog.diagnostics.filter(({ severity }) => severity === "error");
    const applied = repackaged.then((aliases) => members.apply(changed, aliases));
    unapplied.add(applied);
    void applied.catch(() => {}).finally(() => unapplied.delete(applied));
    void applied.then((reloaded) =>
      opened.events.emit({
        type: "mcp.config_reloaded",
        server: "workspace",
        ...reloaded,
        problems: problems.map(locatedMessage),
      }),
    );
  };
  const { waitFor = options.servesCallers === true ? "most" : "all" } = options;
  const begun = members.begin(config.servers, {
    ms: options.waitMs ?? (waitFor === "most" ? GATEWAY_WAIT_MS : PROGRAM_WAIT_MS),
    for: waitFor,
    signal: options.signal,
  });
  for (const early of changes.splice(0)) change(early);
  apply = change;
  await begun;
  watchToolLists(hub, opened.events, { report, forget: (isOver) => kept.forget(isOver) });
  const close = async (reason?: string): Promise<void> => {
    closing.abort();
    await Promise.all([watch?.close(), hub.close(reason), applying, indexRenewal.close()]);
    await members.settled();
    opened.events.close();
  };
  return {
    hub,
    config,
    secrets,
    redactor: opened.redactor,
    events: opened.events,
    calls: opened.calls,
    pinBook,
    driverPins: opened.driverPins,
    diagnostics,
    forget: (isOver) => kept.forget(isOver),
    report,
    stderrLogs: opened.stderrLogs,
    gateway: {
      get settings() {
        return gateway;
      },
      onChange: (listener) => void gatewayListeners.add(listener),
    },
    async reload(trusted) {
      if (watch === undefined) return undefined;
      const { diagnostics: found } = await watch.reload(trusted);
      // The watch may have read the change before, so that all changes under way are awaited.
      await Promise.allSettled(unapplied);
      return found.filter(({ severity }) => severity === "error");
    },
    renewSecrets: (earlier) => members.renewSecrets(earlier),
    restart: (alias, how) => members.restart(alias, how),
    settled: () => applying.then(() => members.settled()),
    close,
  };
}

/** Throws for an alias that no server has: its tools would be missing without a reason. */
function requireServers(only: readonly string[] = [], servers: readonly ServerConfig[]): void {
  const known = servers.map(({ alias }) => alias);
  const unknown = only.find((alias) => !known.includes(alias));
  if (unknown !== undefined) throw unknownServer(unknown, known);
}

function envFileOf(given: string | true | undefined, config: WorkspaceConfig): string | undefined {
  if (given === undefined) return config.envFile;
  if (given !== true) return resolve(config.folder ?? ".", given);
  const beside = join(config.folder ?? ".", ".env");
  return existsSync(beside) ? resolve(beside) : config.envFile;
}

/** Reports the failure of a server, whose tools are then missing. */
function failureReporter(report: Report): (event: HubEvent) => void {
  const reported = new Set<string>();
  return (event) => {
    if (event.type === "mcp.pins_compared") return reportPins(event, report);
    if (event.type !== "mcp.server_failed" && event.type !== "mcp.server_replacement_failed") return;
    const { server, code = "SERVER_UNAVAILABLE", reason = "it failed", hint } = event;
    const message = event.type === "mcp.server_failed" ? `${server} cannot be used now: ${reason}` : reason;
    if (reported.has(message)) return;
    reported.add(message);
    report({ code, severity: "warning", server, message, hint });
  };
}

/** Reports tools that are missing, or would be with `pins: enforce`. */
function reportPins(event: PinsComparedEvent, report: Report): void {
  const { server, mode, changed, added, withheld, reason, hint } = event;
  const names = [...changed, ...added];
  if (names.length === 0 && reason === undefined) return;
  const what =
    reason ??
    `these tools are not approved: ${names.slice(0, 10).join(", ")}${names.length > 10 ? ", …" : ""}`;
  const effect =
    mode === "warn"
      ? " (Portolan still offers the tools, because the config says pins: warn)"
      : withheld === 0
        ? ""
        : ` (Portolan withholds ${withheld === 1 ? "1 tool" : `${withheld} tools`})`;
  report({
    code: "TOOL_WITHHELD",
    severity: "warning",
    server,
    message: `${server}: ${what}${effect}`,
    hint,
  });
}

function isAmong({ code, message, file, line }: Diagnostic, diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some(
    (one) => one.code === code && one.message === message && one.file === file && one.line === line,
  );
}
