// Era negotiation: finds out which era and revision a server supports, on the connection that will be used.

import { isPortolanError, PortolanError } from "../../errors/index.ts";
import {
  type Implementation,
  type JsonObject,
  LEGACY_REVISION,
  LEGACY_REVISIONS,
  META,
  MODERN_REVISION,
  RPC,
  type ServerDefinition,
  isModernErrorCode,
  isObject,
} from "../../model/index.ts";
import { envelope } from "../session/envelope.ts";
import type { Peer } from "../session/peer.ts";
import type { Caller, Description } from "../upstream.ts";
import { unlessLate } from "../waiting.ts";

/** Thrown when the connection ended while the era probe was open: some legacy servers die of a request before `initialize`. */
export class DiedOnProbe extends Error {
  override readonly cause: PortolanError;
  constructor(cause: PortolanError) {
    super(cause.message);
    this.cause = cause;
  }
}

export interface NegotiateOptions {
  readonly definition: ServerDefinition;
  readonly caller: Caller;
  /** Skips the probe: an earlier connection found the server to be legacy. */
  readonly knownLegacy: boolean;
  readonly signal: AbortSignal;
  readonly onProbe: () => void;
}

type ProbeVerdict = { era: "modern"; description: Description } | { era: "legacy" };

/** How long the response to the probe may arrive after the server refused `initialize`. */
const PROBE_LAG_MS = 100;
/** How long the `initialized` notification may take to be accepted. */
const INITIALIZED_MS = 5_000;

export async function negotiate(peer: Peer, options: NegotiateOptions): Promise<Description> {
  const description = await findOut(peer, options);
  const legacy = description.era === "legacy";
  peer.transport.negotiated?.(description.era, description.revision);
  // Over modern HTTP a dropped stream cancels the request; elsewhere a notification does.
  peer.announceCancel = legacy || !peer.transport.perRequestStreams;
  if (legacy) {
    peer.notify("notifications/initialized");
    const flushed = peer.transport.flushed?.() ?? Promise.resolve();
    await unlessLate(flushed, INITIALIZED_MS, options.signal);
    options.signal.throwIfAborted();
  }
  return description;
}

async function findOut(peer: Peer, options: NegotiateOptions): Promise<Description> {
  const { era, limits } = options.definition;
  if (era === "legacy" || peer.transport.name === "sse" || (era === "auto" && options.knownLegacy)) {
    return initialize(peer, options);
  }
  options.onProbe();
  const verdictReached = new AbortController();
  const probe = discover(peer, {
    ...options,
    signal: AbortSignal.any([options.signal, verdictReached.signal]),
  });
  if (era === "modern") return onlyModern(await probe, options);
  if (peer.transport.perRequestStreams) {
    const verdict = await probe;
    return verdict.era === "modern" ? verdict.description : initialize(peer, options);
  }

  const verdict = await unlessLate(probe.catch(diedOnProbe), limits.probeTimeoutMs, options.signal);
  if (verdict !== undefined)
    return verdict.era === "modern" ? verdict.description : initialize(peer, options);

  // A server that is only slow answers the probe first; a server that ignores the probe answers `initialize`.
  const late = probe
    .then((found) => (found.era === "modern" ? found.description : undefined))
    .catch(() => undefined);
  try {
    const greeted = await Promise.race([initialize(peer, options), late.then((found) => found ?? never())]);
    return (
      (await Promise.race([
        late,
        new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined))),
      ])) ?? greeted
    );
  } catch (error) {
    const found = await unlessLate(late, PROBE_LAG_MS, options.signal);
    if (found !== undefined) return found;
    throw error;
  } finally {
    verdictReached.abort();
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

function diedOnProbe(error: unknown): never {
  if (isPortolanError(error) && (error.code === "SERVER_CRASHED" || error.code === "CONNECTION_LOST"))
    throw new DiedOnProbe(error);
  throw error;
}

function onlyModern(verdict: ProbeVerdict, options: NegotiateOptions): Description {
  if (verdict.era === "modern") return verdict.description;
  const { name, revision } = options.definition;
  throw new PortolanError(
    "VERSION_UNSUPPORTED",
    `${name} does not support ${MODERN_REVISION}, the revision of MCP that ${revision === undefined ? "the setting era: modern" : "its protocol_version"} requires`,
    {
      server: name,
      data: { wanted: [MODERN_REVISION] },
      hint:
        revision === undefined
          ? 'Set "era: auto" in its config (on the command line: --era auto), or update the server.'
          : "Remove protocol_version from its config, set one that the server supports, or update the server.",
    },
  );
}

async function discover(peer: Peer, options: NegotiateOptions, retried = false): Promise<ProbeVerdict> {
  const { definition, caller, signal } = options;
  let result: JsonObject;
  try {
    result = await peer.request({
      method: "server/discover",
      meta: envelope(caller, MODERN_REVISION),
      timeoutMs: definition.limits.startTimeoutMs,
      maxTimeoutMs: definition.limits.startTimeoutMs,
      signal,
    });
  } catch (error) {
    if (!isPortolanError(error)) throw error;
    const { rpcCode, rpcData, status } = error.data;
    if (error.code === "RPC_ERROR" && rpcCode === RPC.UNSUPPORTED_VERSION) {
      const supported = isObject(rpcData) ? strings(rpcData.supported) : [];
      if (supported.includes(MODERN_REVISION) && !retried) return discover(peer, options, true);
      return { era: "legacy", ...mutualLegacy(definition, supported) };
    }
    if (error.code === "RPC_ERROR") {
      if (isModernErrorCode(rpcCode)) throw error;
      return { era: "legacy" };
    }
    const refused =
      error.code === "HTTP_ERROR" && typeof status === "number" && status >= 400 && status < 500;
    if (refused || error.code === "PROTOCOL_ERROR") return { era: "legacy" };
    throw error;
  }
  // A result alone proves nothing, because some legacy servers answer any method.
  const versions = strings(result.supportedVersions);
  if (versions.length === 0) return { era: "legacy" };
  if (!versions.includes(MODERN_REVISION)) return { era: "legacy", ...mutualLegacy(definition, versions) };
  const meta = isObject(result._meta) ? result._meta : {};
  return {
    era: "modern",
    description: {
      era: "modern",
      revision: MODERN_REVISION,
      transport: peer.transport.name,
      info: implementation(meta[META.SERVER_INFO]),
      capabilities: isObject(result.capabilities) ? result.capabilities : {},
      instructions: typeof result.instructions === "string" ? result.instructions : undefined,
    },
  };
}

/** A modern server may list legacy revisions that it also supports. Throws when none is supported here. */
function mutualLegacy(definition: ServerDefinition, supported: string[]): object {
  if (supported.some((version) => LEGACY_REVISIONS.includes(version))) return {};
  throw unsupported(definition.name, supported);
}

async function initialize(peer: Peer, options: NegotiateOptions): Promise<Description> {
  const { definition, caller, signal } = options;
  const result = await peer.request({
    method: "initialize",
    params: {
      protocolVersion: proposedRevision(definition),
      capabilities: caller.capabilities,
      clientInfo: caller.clientInfo,
    },
    timeoutMs: definition.limits.startTimeoutMs,
    maxTimeoutMs: definition.limits.startTimeoutMs,
    signal,
  });
  const revision = typeof result.protocolVersion === "string" ? result.protocolVersion : "";
  if (!LEGACY_REVISIONS.includes(revision)) throw unsupportedAnswer(definition, revision);
  return {
    era: "legacy",
    revision,
    transport: peer.transport.name,
    info: implementation(result.serverInfo),
    capabilities: isObject(result.capabilities) ? result.capabilities : {},
    instructions: typeof result.instructions === "string" ? result.instructions : undefined,
  };
}

/** The revision to propose: a server accepts the proposed one if it can, so the definition's revision is used. */
function proposedRevision({ revision }: ServerDefinition): string {
  return revision !== undefined && LEGACY_REVISIONS.includes(revision) ? revision : LEGACY_REVISION;
}

/** `initialize` can agree on a legacy revision only, so that the list of all revisions would contradict the error. */
function unsupportedAnswer({ name: server, era }: ServerDefinition, revision: string): PortolanError {
  const fact =
    revision === ""
      ? `${server} answered initialize without a protocolVersion`
      : `${server} answered initialize with the MCP revision ${revision}`;
  return new PortolanError(
    "VERSION_UNSUPPORTED",
    `${fact}; after initialize, Portolan supports ${LEGACY_REVISIONS.join(", ")}`,
    {
      server,
      data: { theirs: revision === "" ? [] : [revision], ours: [...LEGACY_REVISIONS] },
      hint:
        revision === ""
          ? "The server must name its protocolVersion. Report this to its author."
          : era === "legacy" && revision === MODERN_REVISION
            ? 'Set "era: auto" in its config (on the command line: --era auto).'
            : undefined,
    },
  );
}

function unsupported(server: string, theirs: string[]): PortolanError {
  const ours = [MODERN_REVISION, ...LEGACY_REVISIONS];
  return new PortolanError(
    "VERSION_UNSUPPORTED",
    theirs.length === 0
      ? `${server} refused the MCP revision ${MODERN_REVISION}, and named no revision that it supports`
      : `${server} supports MCP ${theirs.join(", ")}; Portolan supports ${ours.join(", ")}`,
    {
      server,
      data: { theirs, ours },
    },
  );
}

function implementation(value: unknown): Implementation | undefined {
  return isObject(value) && typeof value.name === "string" ? (value as Implementation) : undefined;
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
