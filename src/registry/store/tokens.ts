// Tokens of accounts: each owns one scope, or all with `*`; some may only read. Only their hashes are stored.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";

const MAX_BYTES = 10 * 1024 * 1024;
const MAX_TOKEN = 200;

export interface TokenEntry {
  /** The first digits of the hash, to name the token by. */
  readonly id: string;
  readonly scope: string;
  readonly hash: string;
  readonly createdAt: string;
  /** `read`: the token only reads a private registry, and stars packages. */
  readonly access?: "read";
}

export interface Tokens {
  list(): Promise<readonly TokenEntry[]>;
  /** Creates a token. It is returned once and never again. */
  add(
    scope: string,
    options?: { readonly access?: "read" },
  ): Promise<{ readonly token: string; readonly entry: TokenEntry }>;
  /** Returns false if there is no token with this id. */
  remove(id: string): Promise<boolean>;
  /** The entry of a token, or undefined if the token is unknown. */
  find(token: string): Promise<TokenEntry | undefined>;
}

export function openTokens(file: string, now: () => Date): Tokens {
  const read = async (): Promise<TokenEntry[]> => {
    let text: string;
    try {
      text = (await readLimited(file, MAX_BYTES)).toString("utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
    return parseTokens(text, file);
  };
  const update = (change: (tokens: readonly TokenEntry[]) => readonly TokenEntry[]): Promise<void> =>
    withFileLock(file, async () => {
      await removeLeftovers(file);
      const tokens = change(await read());
      await writeAtomic(file, Buffer.from(`${JSON.stringify({ tokens }, undefined, 2)}\n`), { mode: 0o600 });
    });
  return {
    list: read,
    add: async (scope, { access } = {}) => {
      if (scope !== "*" && !/^[a-z0-9][a-z0-9-]{0,99}$/.test(scope))
        throw new PortolanError("USAGE", `${JSON.stringify(scope)} is not a scope.`, {
          hint: "Write the part of a package name between @ and /, such as alice for @alice/github-mcp. Or write * for all scopes.",
        });
      const token = `ptr_${randomBytes(32).toString("base64url")}`;
      const hash = hashOf(token);
      const entry: TokenEntry = {
        ...{ id: hash.slice(0, 12), scope, hash, createdAt: now().toISOString() },
        ...(access === undefined ? {} : { access }),
      };
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await update((tokens) => [...tokens, entry]);
      return { token, entry };
    },
    remove: async (id) => {
      let isThere = false;
      await update((tokens) => {
        const kept = tokens.filter((token) => token.id !== id);
        isThere = kept.length < tokens.length;
        return kept;
      });
      return isThere;
    },
    find: async (token) => {
      if (token === "" || token.length > MAX_TOKEN) return undefined;
      const hash = Buffer.from(hashOf(token), "hex");
      let found: TokenEntry | undefined;
      for (const entry of await read())
        if (timingSafeEqual(Buffer.from(entry.hash, "hex"), hash)) found = entry;
      return found;
    },
  };
}

/** The token has 256 random bits, so a fast hash is enough. */
function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

function parseTokens(text: string, file: string): TokenEntry[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const tokens = isObject(value) ? value["tokens"] : undefined;
  const isToken = (entry: unknown): entry is TokenEntry & object =>
    isObject(entry) &&
    ["id", "scope", "createdAt"].every((key) => typeof entry[key] === "string") &&
    (entry["access"] === undefined || entry["access"] === "read") &&
    typeof entry["hash"] === "string" &&
    /^[0-9a-f]{64}$/.test(entry["hash"]);
  if (!Array.isArray(tokens) || !tokens.every(isToken))
    throw new PortolanError("FILE_FAILED", `${file} is not a list of tokens.`, {
      hint: `Restore the file from a backup. Or remove the file: then all earlier tokens are invalid, and you must create new ones: portolan registry token add <scope> --folder ${shellWord(dirname(dirname(file)))}`,
    });
  return tokens;
}
