// From a server definition to a negotiated session: the right wire, and the fallbacks between wires that the specification describes.

import { isPortolanError, type PortolanError } from "../../errors/index.ts";
import type { Endpoint, UrlEndpoint } from "../../model/index.ts";
import type { EraMemory } from "./era-memory.ts";
import { DiedOnProbe } from "./negotiate.ts";
import { Session, type SessionOptions } from "../session/session.ts";
import type { Wire, WireOptions } from "../transports/transport.ts";
import type { MemoryServer } from "../transports/memory.ts";

/** A server of another process or machine, or a part of this program. */
export type Reach = Endpoint | { readonly transport: "memory"; readonly server: MemoryServer };

/** Statuses by which a server that only has HTTP+SSE answers a POST. */
const MAYBE_SSE = new Set([400, 404, 405]);

export async function connect(reach: Reach, options: SessionOptions, eras: EraMemory): Promise<Session> {
  if ("program" in reach && reach.program !== undefined) {
    const { withProgram } = await import("../transports/http/local-program.ts");
    return withProgram({ ...reach, program: reach.program }, options, (at) => connect(at, options, eras));
  }
  const knownLegacy = options.knownLegacy || (reach.transport === "stdio" && (await eras.isLegacy(reach)));
  let session: Session;
  try {
    session = await connectOnce(reach, { ...options, knownLegacy });
  } catch (error) {
    // The server answered, but not as it did when it was found to be legacy: ask it again.
    if (!knownLegacy || options.definition.era !== "auto" || !isRefusal(error)) throw error;
    session = await connectOnce(reach, { ...options, knownLegacy: false });
  }
  // A session whose era was demanded says nothing about the other era.
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

async function connectOnce(reach: Reach, options: SessionOptions): Promise<Session> {
  const wireOptions: WireOptions = {
    server: options.definition.name,
    maxMessageBytes: options.definition.limits.maxMessageBytes,
    maxQueuedBytes: options.definition.limits.maxQueuedBytes,
    report: options.report,
    onStderr: options.onStderr,
    launch: options.definition.launch,
    roots: options.definition.roots,
    onLaunch: options.onLaunch,
  };
  try {
    return await Session.open(await createWire(reach, wireOptions), options);
  } catch (error) {
    if (error instanceof DiedOnProbe)
      return Session.open(await createWire(reach, wireOptions), { ...options, knownLegacy: true });
    if (reach.transport === "http" && options.definition.era !== "modern" && maybeSse(error)) {
      return openSse(reach, options, wireOptions, error);
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
  wireOptions: WireOptions,
  first: PortolanError,
): Promise<Session> {
  try {
    return await Session.open(await createWire({ ...reach, transport: "sse" }, wireOptions), options);
  } catch (second) {
    // What the POST said is closer to the cause than that there is no event stream either.
    if (!isPortolanError(second) || second.code === "HTTP_ERROR" || second.code === "PROTOCOL_ERROR")
      throw first;
    throw second;
  }
}

async function createWire(reach: Reach, options: WireOptions): Promise<Wire> {
  switch (reach.transport) {
    case "stdio":
      return new (await import("../transports/stdio.ts")).StdioWire(reach, options);
    case "http":
      return new (await import("../transports/http/streamable-http.ts")).HttpWire(reach, options);
    case "sse":
      return new (await import("../transports/http/http-sse.ts")).SseWire(reach, options);
    case "websocket":
      return new (await import("../transports/websocket.ts")).WebSocketWire(reach, options);
    case "memory":
      return new (await import("../transports/memory.ts")).MemoryWire(reach.server);
  }
}
