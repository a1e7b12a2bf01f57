// State file of a running gateway: who it is, where its socket is, and the token that the socket requires.

import { open } from "node:fs/promises";
import type { ProcessIdentity } from "../../base/files/process-identity.ts";
import { isObject } from "../../model/index.ts";

export interface GatewayState {
  readonly version: 1;
  readonly process: ProcessIdentity;
  /** The folder or config file that it serves. */
  readonly path: string;
  readonly kind: "http" | "stdio";
  /** The address of `/mcp`; absent for a gateway on stdio. */
  readonly url?: string;
  readonly socket: string;
  /** The first request on the socket must contain it. */
  readonly token: string;
  /** ISO time. */
  readonly startedAt: string;
  /** The version of Portolan. */
  readonly portolan: string;
  /** The log file of a gateway in the background. */
  readonly log?: string;
}

const MAX_BYTES = 64 * 1024;
const TOKEN = /^[\w-]{43}$/;

/** Undefined for a file that is damaged, too large, or of another version. */
export async function readState(file: string): Promise<GatewayState | undefined> {
  try {
    const handle = await open(file, "r");
    try {
      const { size } = await handle.stat();
      return size > MAX_BYTES ? undefined : parseState(await handle.readFile("utf8"));
    } finally {
      await handle.close();
    }
  } catch {
    return undefined;
  }
}

export function parseState(text: string): GatewayState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value) || value.version !== 1 || !isIdentity(value.process)) return undefined;
  const { kind, path, url, socket, token, startedAt, portolan, log } = value;
  const isValid =
    (kind === "http" || kind === "stdio") &&
    isText(path) &&
    (url === undefined || isText(url)) &&
    isText(socket) &&
    isText(token) &&
    TOKEN.test(token) &&
    isText(startedAt) &&
    !Number.isNaN(Date.parse(startedAt)) &&
    isText(portolan) &&
    (log === undefined || isText(log));
  return isValid ? (value as unknown as GatewayState) : undefined;
}

function isIdentity(value: unknown): boolean {
  const isOptional = (part: unknown): boolean => part === null || typeof part === "string";
  if (!isObject(value)) return false;
  const { pid, started, host, boot, namespace } = value;
  return (
    Number.isSafeInteger(pid) &&
    (pid as number) > 0 &&
    typeof host === "string" &&
    isOptional(started) &&
    isOptional(boot) &&
    isOptional(namespace)
  );
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 4_096;
}
