// Connects to a server: creates its transport, negotiates, and tries the fallbacks that the specification describes.

import { isPortolanError, type PortolanError } from "../../errors/index.ts";
import type { Endpoint, UrlEndpoint } from "../../model/index.ts";
import type { EraMemory } from "./era-memory.ts";
import { DiedOnProbe } from "./negotiate.ts";
import { Session, type SessionOptions } from "../session/session.ts";
import type { Transport, TransportOptions } from "../transports/transport.ts";
import type { MemoryServer } from "../transports/memory.ts";

/** The address of a server: an endpoint, or an object of this program. */
export type ConnectTarget = Endpoint | { readonly transport: "memory"; readonly server: MemoryServer };

/** Statuses with which a server that only supports HTTP+SSE answers a POST. */
const MAYBE_SSE = new Set([400, 404, 405]);

export async function connect(
  reach: ConnectTarget,
  options: SessionOptions,
  eras: EraMemory,
): Promise<Session> {
  if ("program" in reach && reach.program !== undefined) {
    const { withProgram } = await import("../transports/http/local-program.ts");
    return withProgram({ ...reach, program: reach.program }, options, (at) => connect(at, options, eras));
  }
  const knownLegacy = options.knownLegacy || (reach.transport === "stdio" && (await eras.isLegacy(reach)));
  let session: Session;
  try {
    session = await connectOnce(reach, { ...options, knownLegacy });
  } catch (error) {
    // The server is not the legacy server that it was before, so it is probed again.
    if (!knownLegacy || options.definition.era !== "auto" || !isRefusal(error)) throw error;
    session = await connectOnce(reach, { ...options, knownLegacy: false });
  }
  // A session whose era the config demanded shows nothing about the other era.
  if (reach.transport === "stdio" && options.definition.era === "auto") {
    const { era, info } = session.description;
    session.afterwards = eras.remember(reach, {
      legacy: era === "legacy",
      serverVersion: info?.version ?? "",
    });
  }
  return session;
}

function isRefusal(error: unknown): boolean {
  const codes = ["RPC_ERROR", "VERSION_UNSUPPORTED", "HTTP_ERROR", "PROTOCOL_ERROR"];
  return isPortolanError(error) && codes.includes(error.code);
}

async function connectOnce(reach: ConnectTarget, options: SessionOptions): Promise<Session> {
  const transportOptions: TransportOptions = {
    server: options.definition.name,
    maxMessageBytes: options.definition.limits.maxMessageBytes,
    maxQueuedBytes: options.definition.limits.maxQueuedBytes,
    report: options.report,
    onStderr: options.onStderr,
    onNoise: options.onNoise,
    launch: options.definition.launch,
    roots: options.definition.roots,
    onLaunch: options.onLaunch,
    launchContext: options.launchContext,
    auth: options.auth,
  };
  try {
    return await Session.open(await createTransport(reach, transportOptions), options);
  } catch (error) {
    if (error instanceof DiedOnProbe)
      return Session.open(await createTransport(reach, transportOptions), { ...options, knownLegacy: true });
    if (reach.transport === "http" && options.definition.era !== "modern" && maybeSse(error)) {
      return openSse(reach, options, transportOptions, error);
    }
    throw error;
  }
}

function maybeSse(error: unknown): error is PortolanError {
  return isPortolanError(error) && error.code === "HTTP_ERROR" && MAYBE_SSE.has(Number(error.data.status));
}

async function openSse(
  reach: UrlEndpoint,
  options: SessionOptions,
  transportOptions: TransportOptions,
  first: PortolanError,
): Promise<Session> {
  try {
    return await Session.open(
      await createTransport({ ...reach, transport: "sse" }, transportOptions),
      options,
    );
  } catch (second) {
    // The error of the POST is closer to the cause than the missing event stream.
    if (!isPortolanError(second) || second.code === "HTTP_ERROR" || second.code === "PROTOCOL_ERROR")
      throw first;
    throw second;
  }
}

async function createTransport(reach: ConnectTarget, options: TransportOptions): Promise<Transport> {
  switch (reach.transport) {
    case "stdio":
      return new (await import("../transports/stdio.ts")).StdioTransport(reach, options);
    case "http":
      return new (await import("../transports/http/streamable-http.ts")).StreamableHttpTransport(
        reach,
        options,
      );
    case "sse":
      return new (await import("../transports/http/http-sse.ts")).HttpSseTransport(reach, options);
    case "websocket":
      return new (await import("../transports/websocket.ts")).WebSocketTransport(reach, options);
    case "memory":
      return new (await import("../transports/memory.ts")).MemoryTransport(reach.server);
  }
}
