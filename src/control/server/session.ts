// One connection to a gateway's control socket: answers the requests of another process of the same user.

import { timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";
import type { FileChange } from "../../catalog/index.ts";
import { type Diagnostic, PortolanError, unknownServer } from "../../errors/index.ts";
import {
  checkHealth,
  hasDriverOrContract,
  healthOf,
  type Hub,
  type HubEvent,
  type HubView,
  type OpenedWorkspace,
  readHealth,
  readPins,
} from "../../hub/index.ts";
import { isObject, type JsonObject, MODERN_REVISION } from "../../model/index.ts";
import type { ClientTransport, Observation } from "../../telemetry/index.ts";
import { type Caller, canAnswer, type ServerRequestHandler } from "../../upstream/index.ts";
import type { Approvals } from "../../gateway/index.ts";
import {
  type ApprovalsResult,
  type ConfigResult,
  type DriversParams,
  type DriversResult,
  type ForwardedRequest,
  type GatewayFacts,
  METHODS,
  type ReloadParams,
  type ReloadResult,
  type SandboxResult,
  type Snapshot,
  type SnapshotParams,
} from "../messages.ts";
import type { IncomingRequest } from "../peer.ts";

export interface SessionOptions {
  readonly workspace: OpenedWorkspace;
  readonly facts: () => GatewayFacts;
  /** The last events, the oldest first. */
  readonly recentEvents: () => readonly HubEvent[];
  readonly reload: (changes: readonly FileChange[]) => Promise<ReloadResult>;
  readonly stop: () => void;
  /** Serves an MCP client on the socket; absent if the requests come another way. */
  readonly serveClient?: (socket: Socket) => void;
  /** Creates a link that signs in to the console once; absent if the gateway has no console. */
  readonly consoleLink?: () => string | undefined;
  /** Calls that wait for a person; undefined while the gateway is starting. */
  readonly approvals: () => Pick<Approvals, "list" | "decide"> | undefined;
  /** Where a person decides who uses this connection. */
  readonly way: "console" | "terminal";
  /** The token of the first request; undefined if the client was authenticated before. */
  readonly token: string | undefined;
  /** How the client reaches the gateway, for records of its calls. */
  readonly transport: ClientTransport;
  /** The name of the client in calls. */
  readonly id: string;
  /** True if the client shows apps: it also sees the tools that only apps may call. */
  readonly appTools?: boolean;
}

const MAX_DIAGNOSTICS = 200;
const MAX_LINES = 2_000;

export class ControlSession {
  readonly #options: SessionOptions;
  readonly #ended = new AbortController();
  #isAuthenticated = false;
  #only: ReadonlySet<string> | undefined;
  #view: HubView | undefined;
  /** Views of single servers, by alias. */
  readonly #views = new Map<string, HubView>();
  #requests = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#isAuthenticated = options.token === undefined;
  }

  get isAuthenticated(): boolean {
    return this.#isAuthenticated;
  }

  async answer(request: IncomingRequest): Promise<unknown> {
    const { method, params } = request;
    if (method === METHODS.hello) return this.#hello(params);
    if (!this.#isAuthenticated)
      throw new PortolanError("AUTH_REQUIRED", "the first request on the control socket must be hello", {
        hint: "Send hello with the token of the gateway's state file.",
      });
    switch (method) {
      case METHODS.snapshot:
        return this.#snapshot(params);
      case METHODS.config:
        return this.#config();
      case METHODS.request:
        return this.#request(request);
      case METHODS.pins:
        return (await readPins(this.#options.workspace)).filter(({ server }) => this.#selects(server));
      case METHODS.drivers:
        return this.#drivers(params as unknown as DriversParams);
      case METHODS.events:
        return this.#events(request);
      case METHODS.serverLogs:
        return this.#serverLogs(request);
      case METHODS.restart:
        return this.#restart(String(params.server), params.stopFirst === true);
      case METHODS.stopServer:
        return this.#stopServer(String(params.server));
      case METHODS.consoleLink:
        return this.#consoleLink();
      case METHODS.sandbox:
        return this.#sandbox();
      case METHODS.logs:
        return this.#logs(request);
      case METHODS.approvals:
        return this.#approvals();
      case METHODS.decide:
        return this.#decide(params);
      case METHODS.client:
        if (request.takeOver !== undefined && this.#options.serveClient !== undefined)
          return request.takeOver(this.#options.serveClient);
        throw notSupported(method);
      case METHODS.reload:
        return this.#reload(params);
      case METHODS.stop:
        return this.#options.stop();
      default:
        throw notSupported(method);
    }
  }

  close(): void {
    this.#ended.abort();
    if (this.#view !== undefined) void this.#hub.removeView(this.#view);
    for (const view of this.#views.values()) void this.#hub.removeView(view);
  }

  get #hub(): Hub {
    return this.#options.workspace.hub;
  }

  #selects(alias: string): boolean {
    return this.#only === undefined || this.#only.has(alias);
  }

  #hello({ token, only }: JsonObject): GatewayFacts {
    const given = Buffer.from(String(token));
    const wanted = Buffer.from(this.#options.token ?? "");
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
      throw new PortolanError("AUTH_REQUIRED", "the token for the control socket of the gateway is wrong", {
        hint: "Run the command again. If it fails again, restart the gateway.",
      });
    this.#isAuthenticated = true;
    if (Array.isArray(only)) this.#only = new Set(only.map(String));
    return this.#options.facts();
  }

  /** The selected servers as one upstream. Results are not shortened. */
  #selected(): HubView {
    this.#view ??= this.#hub.view({
      name: "this workspace",
      includes: this.#only === undefined ? undefined : ({ alias }) => this.#selects(alias),
      appTools: this.#options.appTools,
    });
    return this.#view;
  }

  /** One server with its own names. */
  #alone(server: string): HubView {
    const known = this.#views.get(server);
    if (known !== undefined) return known;
    if (!this.#selects(server))
      throw unknownServer(
        server,
        this.#selected().members.map(({ alias }) => alias),
      );
    this.#hub.member(server);
    const { appTools } = this.#options;
    const includes = ({ alias }: { readonly alias: string }): boolean => alias === server;
    const view = this.#hub.view({ name: server, alone: server, includes, appTools });
    this.#views.set(server, view);
    return view;
  }

  /** References to secrets stay references; a plain value is in the file of the user as well. */
  #config(): ConfigResult {
    const { naming } = this.#options.workspace.config;
    return { naming, servers: this.#hub.members.map(({ config }) => config) };
  }

  async #snapshot({ wait, check }: SnapshotParams): Promise<Snapshot> {
    const view = this.#selected();
    if (wait === true)
      await Promise.all(
        view.members
          .filter(({ state }) => state === "starting")
          .map((member) => member.start().catch(() => {})),
      );
    const healthy = check === true ? await checkHealth(view.members, 0) : undefined;
    const { toolRoutes, promptRoutes } = view.table;
    return {
      health: readHealth(view.members),
      tools: [...toolRoutes].map(([full, { member, own }]) => [full, { server: member.alias, name: own }]),
      prompts: [...promptRoutes].map(([full, { member, name }]) => [full, { server: member.alias, name }]),
      description: view.describe(),
      diagnostics: this.#diagnostics(),
      healthy,
    };
  }

  #shows({ file, line, server }: Diagnostic): boolean {
    const contracts = this.#hub.members.find(({ config }) => hasDriverOrContract(config, server));
    if (contracts === undefined) return file === undefined && (server === undefined || this.#selects(server));
    // A diagnostic about a whole file compares it with its earlier version, which the other process does not do.
    return (file === undefined || line === undefined) && this.#selects(contracts.alias);
  }

  /** A gateway runs for days, so each diagnostic counts once, and config files are read by the other process itself. */
  #diagnostics(): Snapshot["diagnostics"] {
    const found = this.#options.workspace.diagnostics.filter((one) => this.#shows(one));
    const unique = new Map(found.map((one) => [`${one.server} ${one.code} ${one.message}`, one]));
    return [...unique.values()].slice(-MAX_DIAGNOSTICS);
  }

  #request({ params, signal, note, ask }: IncomingRequest): Promise<JsonObject> {
    const sent = params as unknown as ForwardedRequest;
    const { method, params: own, clientInfo, capabilities, timeoutMs, maxTimeoutMs } = sent;
    const caller: Caller = {
      id: this.#options.id,
      account: "local",
      clientInfo,
      capabilities,
      ended: this.#ended.signal,
    };
    const onServerRequest: ServerRequestHandler = async ({ id, method: asked, params: about }) => {
      const answer = await ask("serverRequest", { id, method: asked, params: about });
      return isObject(answer) ? answer : undefined;
    };
    const observation = this.#observe(sent);
    const view = sent.server === undefined ? this.#selected() : this.#alone(sent.server);
    const result = view.request({
      ...{ method, params: own, caller, signal, timeoutMs, maxTimeoutMs, observation },
      repeatable: sent.repeatable,
      repeats: sent.repeats,
      onProgress: (progress) => note("progress", progress),
      onLog: (message) => note("log", message),
      onServerRequest: canAnswer(capabilities) ? onServerRequest : undefined,
    });
    return observation === undefined ? result : observed(result, observation);
  }

  /** Undefined while nobody observes calls. */
  #observe({ method, params, clientInfo }: ForwardedRequest): Observation | undefined {
    const { calls } = this.#options.workspace;
    if (!calls.active) return undefined;
    return calls.begin({
      ...{ method, params, requestId: (this.#requests += 1), caller: "local", client: clientInfo },
      ...{ transport: this.#options.transport, era: "modern", revision: MODERN_REVISION },
    });
  }

  async #drivers({ waitMs }: DriversParams): Promise<DriversResult> {
    const contracts = await this.#hub.contracts();
    if (contracts === undefined) return { reports: [] };
    await Promise.race([contracts.settled(), new Promise((resolve) => setTimeout(resolve, waitMs).unref())]);
    return { reports: contracts.status() };
  }

  /** The last events; with `follow`, later ones as notes until the request is cancelled. */
  async #events({ params, note, signal }: IncomingRequest): Promise<unknown> {
    const isSelected = ({ server }: HubEvent): boolean => this.#selects(server);
    const recent = this.#options.recentEvents().filter(isSelected);
    if (params.follow !== true) return recent;
    for (const event of recent) note("event", event);
    const off = this.#options.workspace.events.on(
      (event) => {
        if (isSelected(event)) note("event", event);
      },
      { calls: params.calls === true },
    );
    await ended(signal);
    off();
    return [];
  }

  /** The log messages of servers (MCP), as notes until the request is cancelled. */
  async #serverLogs({ note, signal }: IncomingRequest): Promise<unknown> {
    const off = this.#selected().on("log", (message) => note("log", message));
    await ended(signal);
    off();
    return [];
  }

  async #reload({ changes = [] }: ReloadParams): Promise<ReloadResult> {
    const result = await this.#options.reload(changes);
    const { changed = [], restarted = [] } = result;
    const members = this.#hub.members.filter(
      ({ alias, failedReplacement }) =>
        changed.includes(alias) || restarted.includes(alias) || failedReplacement !== undefined,
    );
    return { ...result, servers: members.map(healthOf) };
  }

  async #restart(alias: string, stopFirst: boolean): Promise<unknown> {
    await this.#options.workspace.restart(alias, { stopFirst });
    return healthOf(this.#hub.member(alias));
  }

  /** Calls in flight finish. Calls that come later fail, until the server is restarted. */
  async #stopServer(alias: string): Promise<unknown> {
    const member = this.#hub.member(alias);
    await member.stopOnRequest();
    return healthOf(member);
  }

  #consoleLink(): string {
    const link = this.#options.consoleLink?.();
    if (link !== undefined) return link;
    throw new PortolanError("NOT_SUPPORTED", "This gateway does not serve the console.", {
      hint: "The console needs a gateway on HTTP (portolan serve), and gateway.console in portolan.yaml must not be off. With gateway.console: local (the default), gateway.host must be a loopback address such as 127.0.0.1, or 0.0.0.0 or ::. At 0.0.0.0 and ::, gateway.allowed_hosts must be absent or contain localhost. In other cases, set gateway.console: all. Restart the gateway after a change.",
    });
  }

  /** The launch plans of the servers, with what their sandboxes grant, and what they denied. */
  async #sandbox(): Promise<SandboxResult> {
    const { openDenials } = await import("./open-denials.ts");
    const plans = this.#selected().members.flatMap(({ processes: { plan } }) => plan ?? []);
    return { plans, denied: openDenials(plans, this.#options.recentEvents()) };
  }

  async #approvals(): Promise<ApprovalsResult> {
    const all = (await this.#options.approvals()?.list()) ?? [];
    return { waiting: all };
  }

  #decide({ id, decision, forMs, reason }: JsonObject): Promise<unknown> {
    const approvals = this.#options.approvals();
    if (approvals === undefined)
      throw new PortolanError(
        "INPUT_INVALID",
        "the gateway is still starting, so no call waits for approval",
        {
          hint: "Try again when the gateway has started.",
        },
      );
    if (typeof id !== "string" || (decision !== "approve" && decision !== "deny"))
      throw new PortolanError(
        "INPUT_INVALID",
        "a decision needs the id of a call, and must be approve or deny",
        { hint: 'Send the params { "id": "<id of the call>", "decision": "approve" }, or "deny".' },
      );
    if (forMs !== undefined && (typeof forMs !== "number" || !Number.isSafeInteger(forMs) || forMs <= 0))
      throw new PortolanError("INPUT_INVALID", "forMs must be a whole number of milliseconds, at least 1", {
        hint: "Omit forMs to decide about this call only.",
      });
    const verdict = {
      ...{ id, approve: decision === "approve", forMs },
      reason: typeof reason === "string" && reason.trim() !== "" ? reason.trim() : undefined,
    };
    return approvals.decide(verdict, this.#options.way);
  }

  /** The last lines of stderr; with `follow`, later ones as notes until the request is cancelled. */
  async #logs({ params, note, signal }: IncomingRequest): Promise<unknown> {
    const { stderrLog } = this.#hub.member(String(params.server));
    const lines = typeof params.lines === "number" ? Math.min(params.lines, MAX_LINES) : MAX_LINES;
    const tail = stderrLog.tail(lines);
    if (params.follow !== true) return tail;
    for (const line of tail) note("line", line);
    const off = stderrLog.follow((line) => note("line", line));
    await ended(signal);
    off();
    return [];
  }
}

async function observed(result: Promise<JsonObject>, observation: Observation): Promise<JsonObject> {
  try {
    const value = await result;
    observation.succeeded(value);
    return value;
  } catch (thrown) {
    observation.failed(thrown);
    throw thrown;
  } finally {
    observation.finish();
  }
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function notSupported(method: string): PortolanError {
  return new PortolanError(
    "NOT_SUPPORTED",
    `the running gateway does not support this command: its version of Portolan has no control request "${method.slice(0, 80)}"`,
    {
      hint: "Restart the gateway with the version of this command: portolan stop, then portolan serve --daemon. If the gateway is a service, restart it with the service manager: portolan service status shows its name. If an MCP client started the gateway, restart the client instead.",
    },
  );
}
