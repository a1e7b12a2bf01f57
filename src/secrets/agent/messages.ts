// Messages between Portolan processes and the vault agent: one line of JSON each way, one request for each connection.

import { isObject } from "../../model/index.ts";
import type { KeyParameters, VaultKey } from "../vault/vault-key.ts";

export type AgentRequest =
  | { readonly op: "get"; readonly vault: string; readonly parameters: KeyParameters }
  | { readonly op: "put"; readonly vault: string; readonly key: VaultKey; readonly ms: number }
  | { readonly op: "lock" }
  | { readonly op: "status" };

/** An unlocked vault. */
export interface UnlockedVault {
  readonly vault: string;
  /** ISO time at which the agent forgets the key. */
  readonly until: string;
}

export const MAX_LINE_BYTES = 64 * 1024;
const MAX_PATH = 4_096;

export function writeRequest(request: AgentRequest): string {
  if (request.op === "get") return JSON.stringify({ ...request, parameters: toJson(request.parameters) });
  if (request.op !== "put") return JSON.stringify(request);
  const { parameters, key } = request.key;
  return JSON.stringify({
    ...request,
    key: undefined,
    parameters: toJson(parameters),
    bytes: key.toString("base64"),
  });
}

/** Undefined for anything that is not a request. */
export function parseRequest(text: string): AgentRequest | undefined {
  const value = parseJson(text);
  if (value === undefined) return undefined;
  const { op, vault, bytes, ms } = value;
  if (op === "lock" || op === "status") return { op };
  const parameters = parseParameters(value.parameters);
  if (typeof vault !== "string" || vault.length > MAX_PATH || parameters === undefined) return undefined;
  if (op === "get") return { op, vault, parameters };
  if (op !== "put" || typeof bytes !== "string" || typeof ms !== "number") return undefined;
  const key = Buffer.from(bytes, "base64");
  return key.length === 32 && ms > 0 && Number.isFinite(ms)
    ? { op, vault, ms, key: { parameters, key } }
    : undefined;
}

/** Undefined for an answer without a key. */
export function parseKey(answer: unknown): Buffer | undefined {
  if (!isObject(answer) || typeof answer.bytes !== "string") return undefined;
  const key = Buffer.from(answer.bytes, "base64");
  return key.length === 32 ? key : undefined;
}

export function parseStatus(answer: unknown): readonly UnlockedVault[] {
  const vaults: unknown[] = isObject(answer) && Array.isArray(answer.vaults) ? answer.vaults : [];
  return vaults.filter(
    (one): one is UnlockedVault & Record<string, unknown> =>
      isObject(one) && typeof one.vault === "string" && typeof one.until === "string",
  );
}

export function parseJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function toJson({ N, r, p, salt }: KeyParameters): object {
  return { N, r, p, salt: Buffer.from(salt).toString("hex") };
}

function parseParameters(value: unknown): KeyParameters | undefined {
  if (!isObject(value)) return undefined;
  const { N, r, p, salt } = value;
  const areNumbers = [N, r, p].every((one) => Number.isSafeInteger(one) && (one as number) > 0);
  if (!areNumbers || typeof salt !== "string" || !/^(?:[0-9a-f]{2}){8,64}$/.test(salt)) return undefined;
  return { N: N as number, r: r as number, p: p as number, salt: Buffer.from(salt, "hex") };
}
