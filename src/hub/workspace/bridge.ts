// `createBridge()`: a workspace in the steps of an extension host: initialize, start, getTools, stop, healthCheck.

import { loadCatalog } from "../../catalog/index.ts";
import { checkOptions, type Report } from "../../errors/index.ts";
import type { Tool } from "../../client/index.ts";
import type { HubEvent } from "../events.ts";
import { fromCatalog, readConfig, type WorkspaceSource } from "./config.ts";
import { WORKSPACE_OPTIONS } from "./options.ts";
import { openWorkspace, type Workspace } from "./workspace.ts";
import type { WorkspaceOptions } from "./workspace-options.ts";
import { packagedDrivers } from "./packaged-drivers.ts";

/** The servers of a manifest as one provider of tools, with the lifecycle of an extension. */
export interface Bridge extends AsyncDisposable {
  /** Reads and validates the manifest, and connects to nothing. Rejects with all errors at once. */
  initialize(): Promise<void>;
  /** Starts the servers, and resolves when each is ready or has failed. A server that cannot be used is left out with a warning. */
  start(): Promise<void>;
  /** The tools of all servers that are ready; empty before `start()` and after `stop()`. Current when a server changes its tools. */
  getTools(): Tool[];
  /**
   * `healthCheck()` of the workspace, for the servers that were connected since `start()`: a server that never started does not
   * count. False when one of them is down or a contract is unserved, and when the bridge is not started.
   */
  healthCheck(): Promise<boolean>;
  /** Cancels the running calls and stops all servers. `start()` may be called again. */
  stop(): Promise<void>;
  /** The workspace behind the bridge, for everything else; undefined while the bridge is not started. */
  readonly workspace: Workspace | undefined;
}

type State =
  | { readonly step: "created" | "initialized" | "stopped" }
  | { readonly step: "starting"; readonly started: Promise<Started>; readonly abort: AbortController }
  | ({ readonly step: "started" } & Started);

interface Started {
  readonly workspace: Workspace;
  /** The servers that were ready at least once. */
  readonly connected: ReadonlySet<string>;
  readonly tools: () => readonly Tool[];
}

/**
 * Creates a bridge to the servers of a manifest: a file, a folder, or the manifest itself. It takes the options of `openWorkspace()`.
 *
 * @example
 * ```ts
 * import { createBridge } from "portolan";
 *
 * const bridge = createBridge({ config: { servers: [{ alias: "files", transport: "stdio", command: "node", args: ["server.js"] }] } });
 * await bridge.initialize();
 * await bridge.start();
 * for (const tool of bridge.getTools()) console.log(tool.name);
 * await bridge.stop();
 * ```
 */
export function createBridge(source: WorkspaceSource, options: WorkspaceOptions = {}): Bridge {
  checkOptions("the options of createBridge()", options, WORKSPACE_OPTIONS);
  let state: State = { step: "created" };

  const initialize = async (): Promise<void> => {
    // Warnings are reported by start(), which reads the manifest again.
    const ignore: Report = () => {};
    if (typeof source === "string") fromCatalog(await loadCatalog(source, { packagedDrivers }), ignore);
    else await readConfig(source, ignore);
    if (state.step === "created") state = { step: "initialized" };
  };

  const start = async (): Promise<void> => {
    if (state.step === "started") return;
    if (state.step === "starting") return void (await state.started);
    const abort = new AbortController();
    const started = open(source, options, abort.signal);
    const starting: State = { step: "starting", started, abort };
    state = starting;
    try {
      const opened = await started;
      // stop() may have been called meanwhile; it closes the workspace itself.
      if (state === starting) state = { step: "started", ...opened };
    } catch (error) {
      if (state === starting) state = { step: "stopped" };
      throw error;
    }
  };

  const stop = async (): Promise<void> => {
    const before = state;
    state = { step: "stopped" };
    if (before.step === "started") await before.workspace.close();
    if (before.step !== "starting") return;
    before.abort.abort();
    const opened = await before.started.catch(() => undefined);
    await opened?.workspace.close();
  };

  return {
    initialize,
    start,
    getTools: () => (state.step === "started" ? [...state.tools()] : []),
    healthCheck: async () => {
      if (state.step !== "started") return false;
      const { workspace, connected } = state;
      // A change of the manifest may have removed a server since.
      const servers = workspace.health().map(({ alias }) => alias);
      return workspace.healthCheck({ servers: servers.filter((alias) => connected.has(alias)) });
    },
    stop,
    get workspace() {
      return state.step === "started" ? state.workspace : undefined;
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Opens the workspace, waits for every server, and keeps the list of tools current. */
async function open(
  source: WorkspaceSource,
  options: WorkspaceOptions,
  stopped: AbortSignal,
): Promise<Started> {
  const connected = new Set<string>();
  const onEvent = (event: HubEvent): void => {
    if (event.type === "mcp.server_ready") connected.add(event.server);
    options.onEvent?.(event);
  };
  const signal = options.signal === undefined ? stopped : AbortSignal.any([options.signal, stopped]);
  const workspace = await openWorkspace(source, { ...options, onEvent, signal });
  try {
    let tools = await settledTools(workspace, signal);
    workspace.on("toolsChanged", () => {
      void workspace.tools().then(
        (next) => (tools = next),
        // The workspace was closed meanwhile.
        () => {},
      );
    });
    return { workspace, connected, tools: () => tools };
  } catch (error) {
    await workspace.close();
    throw error;
  }
}

async function settledTools(workspace: Workspace, signal: AbortSignal): Promise<readonly Tool[]> {
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([workspace.settled(), aborted]);
  return workspace.tools();
}
