// Replacement of a server's processes: which configs need new processes, which processes cannot run beside each other, and when the
// old process continues because the new one failed.

import { isDeepStrictEqual } from "node:util";
import { isPortolanError, type PortolanError } from "../../errors/index.ts";
import { findReferences, type LocalProgram, parseProgram, type ServerConfig } from "../../model/index.ts";
import type { Member } from "../member/member.ts";

/** True when both configs result in the same processes. */
export function isSameProcess(a: ServerConfig, b: ServerConfig): boolean {
  if (b.endpoint.transport === "contracts") return false;
  return isDeepStrictEqual(identityOf(a), identityOf(b));
}

/** True when two processes would conflict: they share a kept HOME, or a port that the URL names. */
export function isExclusive({ enabled, endpoint, launch }: ServerConfig): boolean {
  if (!enabled) return false;
  return launch?.sandbox?.home === "kept" || ("program" in endpoint && endpoint.program !== undefined);
}

/** The settings of the new config that apply to the running process, with the program of the old config. */
export function withEarlierProgram(server: ServerConfig, old: ServerConfig): ServerConfig {
  return { ...server, ...identityOf(old) };
}

/**
 * True when the old process continues to serve, because the new one could not start. The old process must not have more rights than
 * the new config gives, so only the program may differ. A missing secret or login, a changed secret and a refused package end it.
 */
export async function keepsOld(old: Member, next: Member): Promise<boolean> {
  const { error } = next.lastError;
  const hasFailed = next.state === "failed" || next.state === "blocked";
  if (!hasFailed || error === undefined || old.processes.main.live === undefined) return false;
  if (!ABOUT_THE_PROGRAM.has(error.code) || isConflict(error)) return false;
  if (old.isPerCaller || next.isPerCaller || !hasSameRights(old.config, next.config)) return false;
  return !(await old.processes.hasNewSecrets().catch(isMissingSecret));
}

/** Failures of a start that take no right away from the server. AUTH_UNAVAILABLE says that nobody checked the login, not that it is refused. */
const ABOUT_THE_PROGRAM: ReadonlySet<string> = new Set([
  "AUTH_UNAVAILABLE",
  "CONFIG_INVALID",
  "CONNECTION_CLOSED",
  "CONNECTION_LOST",
  "FILE_FAILED",
  "FILE_INVALID",
  "HOST_UNREACHABLE",
  "HTTP_ERROR",
  "INSTALL_FAILED",
  "MESSAGE_TOO_LARGE",
  "PACKAGE_NOT_FOUND",
  "PLATFORM_UNSUPPORTED",
  "PROTOCOL_ERROR",
  "RATE_LIMITED",
  "RPC_ERROR",
  "SECRET_STORE_FAILED",
  "SERVER_CRASHED",
  "SERVER_START_FAILED",
  "SERVER_UNAVAILABLE",
  "TIMEOUT",
  "VERSION_MISMATCH",
  "VERSION_UNSUPPORTED",
]);

/** The words of programs that cannot start because another process of them runs. */
const CONFLICT =
  /\b(?:EADDRINUSE|EBUSY|EWOULDBLOCK)\b|already (?:in use|running|locked)|another (?:instance|process)|\bis locked\b|acquire .{0,40}lock/i;

function isConflict({ message, stderr }: PortolanError): boolean {
  return CONFLICT.test(message) || CONFLICT.test(stderr ?? "");
}

function isMissingSecret(thrown: unknown): boolean {
  return isPortolanError(thrown) && thrown.code === "SECRET_MISSING";
}

type Identity = Pick<ServerConfig, "endpoint" | "era" | "limits" | "launch" | "enabled" | "shared">;

function identityOf({ endpoint, era, limits, launch, enabled, shared = true }: ServerConfig): Identity {
  return { endpoint, era, limits, launch, enabled, shared };
}

/** True when the configs differ only in the program: its version, command, arguments or URL. */
function hasSameRights(old: ServerConfig, next: ServerConfig): boolean {
  if (isDeepStrictEqual(identityOf(old), identityOf(next))) return true;
  const names = referencesIn(next.endpoint);
  return (
    isDeepStrictEqual(rightsOf(old), rightsOf(next)) &&
    [...referencesIn(old.endpoint)].every((name) => names.has(name))
  );
}

function rightsOf(config: ServerConfig): unknown {
  const { endpoint } = config;
  const same = identityOf(config);
  if (endpoint.transport === "contracts" || endpoint.transport === "invoke") return same;
  if (endpoint.transport === "stdio") return { ...same, endpoint: programRights(endpoint) };
  const { url: _, program, ...more } = endpoint;
  return { ...same, endpoint: { ...more, program: program && programRights(program) } };
}

/** The variables and the folder of a program, and the options of a container, which grant folders, variables and networks. */
function programRights(program: LocalProgram): unknown {
  const { env, cwd } = program;
  return { env, cwd, options: containerOptions(program) };
}

function containerOptions(program: LocalProgram): unknown {
  try {
    const parsed = parseProgram(program);
    if (parsed.kind === "docker") return parsed.options;
    // A container command that Portolan cannot interpret may grant anything.
    return parsed.kind === "binary" && parsed.note !== undefined ? parsed.args : undefined;
  } catch {
    // A command line that no start accepts grants nothing.
    return undefined;
  }
}

/** The references to secrets in an endpoint, such as `${TOKEN}`. */
function referencesIn(endpoint: ServerConfig["endpoint"]): ReadonlySet<string> {
  const text = JSON.stringify(endpoint);
  return new Set(findReferences(text).map(({ start, end }) => text.slice(start, end)));
}
