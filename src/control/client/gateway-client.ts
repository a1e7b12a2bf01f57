// Client of a running gateway: one connection to its control socket.

import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import type { HubEvent, LogLine, ServerHealth, ServerPins } from "../../hub/index.ts";
import type { JsonObject } from "../../model/index.ts";
import type { WaitingCall } from "../../gateway/index.ts";
import {
  type ApprovalsResult,
  type ConfigResult,
  type DecideParams,
  type DriversParams,
  type DriversResult,
  type GatewayFacts,
  METHODS,
  type ReloadParams,
  type ReloadResult,
  type Snapshot,
  type SnapshotParams,
} from "../messages.ts";
import { Peer, type RequestOptions } from "../peer.ts";
import type { RunningGateway } from "../state/find.ts";

const CONNECT_MS = 5_000;

export class GatewayClient implements AsyncDisposable {
  readonly facts: GatewayFacts;
  readonly #peer: Peer;

  constructor(peer: Peer, facts: GatewayFacts) {
    this.#peer = peer;
    this.facts = facts;
  }

  snapshot(params: SnapshotParams): Promise<Snapshot> {
    return this.#peer.request(METHODS.snapshot, params as JsonObject) as Promise<Snapshot>;
  }

  config(): Promise<ConfigResult> {
    return this.#peer.request(METHODS.config) as Promise<ConfigResult>;
  }

  request(params: JsonObject, options: RequestOptions): Promise<JsonObject> {
    return this.#peer.request(METHODS.request, params, options) as Promise<JsonObject>;
  }

  pins(): Promise<ServerPins[]> {
    return this.#peer.request(METHODS.pins) as Promise<ServerPins[]>;
  }

  async drivers(waitMs: number): Promise<DriversResult["reports"]> {
    const params: DriversParams = { waitMs };
    return ((await this.#peer.request(METHODS.drivers, { ...params })) as DriversResult).reports;
  }

  /** The last events of the selected servers. */
  recentEvents(): Promise<HubEvent[]> {
    return this.#peer.request(METHODS.events) as Promise<HubEvent[]>;
  }

  /** Calls the listener with the last events and all later ones, until the signal aborts or the gateway stops. */
  followEvents(listener: (event: HubEvent) => void, signal: AbortSignal, calls: boolean): Promise<void> {
    const onNote = (_name: string, value: unknown): void => listener(value as HubEvent);
    return this.#follow(METHODS.events, { follow: true, calls }, { signal, onNote });
  }

  /** Calls the listener with each log message of the servers. */
  followServerLogs(listener: (message: JsonObject) => void, signal: AbortSignal): Promise<void> {
    const onNote = (_name: string, value: unknown): void => listener(value as JsonObject);
    return this.#follow(METHODS.serverLogs, {}, { signal, onNote });
  }

  logs(server: string, lines: number): Promise<LogLine[]> {
    return this.#peer.request(METHODS.logs, { server, lines }) as Promise<LogLine[]>;
  }

  followLogs(
    server: string,
    lines: number,
    listener: (line: LogLine) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const onNote = (_name: string, value: unknown): void => listener(value as LogLine);
    return this.#follow(METHODS.logs, { server, lines, follow: true }, { signal, onNote });
  }

  /** Resolves with the state of the server when it is ready again or has failed. */
  /** `stopFirst`: the old process ends before the new one starts. */
  restart(server: string, signal?: AbortSignal, stopFirst?: boolean): Promise<ServerHealth> {
    return this.#peer.request(METHODS.restart, { server, stopFirst }, { signal }) as Promise<ServerHealth>;
  }

  /** The calls that wait for approval. */
  async approvals(): Promise<ApprovalsResult["waiting"]> {
    return ((await this.#peer.request(METHODS.approvals)) as ApprovalsResult).waiting;
  }

  /** Approves or denies a waiting call, and returns it. */
  decide(params: DecideParams): Promise<WaitingCall> {
    return this.#peer.request(METHODS.decide, { ...params }) as Promise<WaitingCall>;
  }

  /** A link that signs in to the console of the gateway once. */
  async consoleLink(): Promise<string> {
    return String(await this.#peer.request(METHODS.consoleLink));
  }

  /** Resolves when the gateway uses its files as they are now: changed servers have taken over or have failed. */
  reload(params: ReloadParams = {}, signal?: AbortSignal): Promise<ReloadResult> {
    return this.#peer.request(METHODS.reload, params as JsonObject, { signal }) as Promise<ReloadResult>;
  }

  /** Requests the stop; the connection ends while the gateway stops. */
  async stop(): Promise<void> {
    await this.#peer.request(METHODS.stop).catch(ignoreLost);
  }

  async close(): Promise<void> {
    this.#peer.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #follow(method: string, params: JsonObject, options: RequestOptions): Promise<void> {
    await this.#peer.request(method, params, options).catch((error: unknown) => {
      if (options.signal?.aborted !== true) throw error;
    });
  }
}

/** Selects the servers in `only`; all of them by default. Throws when the gateway does not answer. */
export async function connectGateway(
  gateway: RunningGateway,
  only?: readonly string[],
): Promise<GatewayClient> {
  const peer = new Peer(await openSocket(gateway), async () => {
    throw new PortolanError(
      "NOT_SUPPORTED",
      "the command accepts no request of the gateway, except server requests during its own calls",
    );
  });
  const late = setTimeout(() => peer.close(), CONNECT_MS);
  try {
    const facts = (await peer.request(METHODS.hello, { token: gateway.token, only })) as GatewayFacts;
    return new GatewayClient(peer, facts);
  } catch (error) {
    peer.close();
    throw isPortolanError(error) && error.code !== "CONNECTION_LOST" ? error : noAnswer(gateway, error);
  } finally {
    clearTimeout(late);
  }
}

/** Connects as an MCP client: the socket is MCP in lines, as stdio would be. Rejects with NOT_SUPPORTED for an older gateway. */
export async function connectAsClient(gateway: RunningGateway): Promise<ClientLink> {
  const peer = new Peer(await openSocket(gateway), async () => undefined);
  const late = setTimeout(() => peer.close(), CONNECT_MS);
  try {
    const facts = (await peer.request(METHODS.hello, { token: gateway.token })) as GatewayFacts;
    await peer.request(METHODS.client);
    return { facts, socket: peer.detach() };
  } catch (error) {
    peer.close();
    throw isPortolanError(error) && error.code !== "CONNECTION_LOST" ? error : noAnswer(gateway, error);
  } finally {
    clearTimeout(late);
  }
}

export interface ClientLink {
  readonly facts: GatewayFacts;
  readonly socket: Duplex;
}

function openSocket(gateway: RunningGateway): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path: gateway.socket, allowHalfOpen: true });
    socket.once("error", (cause) => reject(noAnswer(gateway, cause)));
    socket.once("connect", () => resolve(socket));
  });
}

function noAnswer({ pid, url }: RunningGateway, cause: unknown): PortolanError {
  const place = url === undefined ? "on stdio" : `at ${url}`;
  const message = `the gateway ${place} (process ${pid}) runs, but does not respond`;
  return new PortolanError("CONNECTION_LOST", message, {
    hint: `To stop the gateway: kill ${pid}. If this does not end the process, for example because it is stopped: kill -9 ${pid}. Commands that have the option --standalone, such as portolan list, can run without the gateway.`,
    cause,
  });
}

function ignoreLost(error: unknown): void {
  if (!isPortolanError(error) || error.code !== "CONNECTION_LOST") throw error;
}
