// Client of the vault agent. A missing, stale or untrusted agent is the same as none: the passphrase is asked for.

import { connect } from "node:net";
import type { Environment } from "../sources/environment.ts";
import type { KeyParameters, VaultKey } from "../vault/vault-key.ts";
import {
  type AgentRequest,
  MAX_LINE_BYTES,
  parseJson,
  parseKey,
  parseStatus,
  type UnlockedVault,
  writeRequest,
} from "./messages.ts";
import { agentSocket, isAgentSupported, isTrusted } from "./socket.ts";

const ANSWER_MS = 2_000;

export interface VaultAgent {
  /** False on Windows. */
  readonly isSupported: boolean;
  /** The key of the vault with these parameters; undefined if no agent has it. */
  get(vault: string, parameters: KeyParameters): Promise<Buffer | undefined>;
  /** Gives the key to the running agent. False if none runs. */
  put(vault: string, key: VaultKey, ms: number): Promise<boolean>;
  /** Ends the agent. False if none runs. */
  lock(): Promise<boolean>;
  /** The unlocked vaults; undefined if no agent runs. */
  status(): Promise<readonly UnlockedVault[] | undefined>;
}

export function createVaultAgent(env: Environment, platform?: NodeJS.Platform): VaultAgent {
  const isSupported = isAgentSupported(platform);
  const ask = async (request: AgentRequest): Promise<Record<string, unknown> | undefined> => {
    if (!isSupported) return undefined;
    const socket = await agentSocket(env);
    // The socket of another user could give a wrong key, or collect this one.
    return (await isTrusted(socket)) ? exchange(socket, writeRequest(request)) : undefined;
  };
  return {
    isSupported,
    get: async (vault, parameters) => parseKey(await ask({ op: "get", vault, parameters })),
    put: async (vault, key, ms) => (await ask({ op: "put", vault, key, ms }))?.["ok"] === true,
    lock: async () => (await ask({ op: "lock" }))?.["ok"] === true,
    status: async () => {
      const answer = await ask({ op: "status" });
      return answer === undefined ? undefined : parseStatus(answer);
    },
  };
}

/** Undefined when nobody answers in time. */
function exchange(path: string, line: string): Promise<Record<string, unknown> | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    let text = "";
    const end = (answer?: Record<string, unknown>): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(ANSWER_MS, () => end());
    socket.once("error", () => end());
    socket.once("close", () => end());
    socket.once("connect", () => void socket.write(`${line}\n`));
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      const at = text.indexOf("\n");
      if (at >= 0) end(parseJson(text.slice(0, at)));
      else if (text.length > MAX_LINE_BYTES) end();
    });
  });
}
