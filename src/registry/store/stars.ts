// Stars of packages: one for each account. The file is read when it changed, and changed under the lock between processes.

import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";

const MAX_BYTES = 64 * 1024 * 1024;
/** Accounts that may star one package. */
const MAX_STARS = 100_000;

export interface Stars {
  count(name: string): number;
  /** Returns the number of stars after the change. A second star of an account changes nothing. */
  set(name: string, account: string, isStarred: boolean): Promise<number>;
}

type Table = ReadonlyMap<string, ReadonlySet<string>>;

export async function openStars(file: string): Promise<Stars> {
  let table = await readTable(file);
  return {
    count: (name) => table.get(name)?.size ?? 0,
    set: (name, account, isStarred) =>
      withFileLock(file, async () => {
        await removeLeftovers(file);
        // Another process may have changed the file.
        const before = await readTable(file);
        const accounts = new Set(before.get(name));
        if (isStarred === accounts.has(account)) {
          table = before;
          return accounts.size;
        }
        if (isStarred) accounts.add(account);
        else accounts.delete(account);
        if (accounts.size > MAX_STARS)
          throw new PortolanError(
            "INPUT_INVALID",
            `${name} already has ${MAX_STARS} stars, which is the maximum.`,
            { hint: "", data: { status: 409 } },
          );
        const after = new Map(before).set(name, accounts);
        if (accounts.size === 0) after.delete(name);
        await writeAtomic(file, Buffer.from(render(after)), { mode: 0o600 });
        table = after;
        return accounts.size;
      }),
  };
}

/** A broken file is an error, because the next star would overwrite all others. */
async function readTable(file: string): Promise<Table> {
  let text: string;
  try {
    text = (await readLimited(file, MAX_BYTES)).toString("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) throw new Error("it is not an object");
    return new Map(
      Object.entries(value).map(([name, accounts]) => [
        name,
        new Set(Array.isArray(accounts) ? accounts.filter((one) => typeof one === "string") : []),
      ]),
    );
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `${file} is not a list of stars: ${(cause as Error).message}`, {
      hint: "Restore the file from a backup. If you remove the file instead, all stars are lost.",
      cause,
    });
  }
}

function render(table: Table): string {
  const sorted = [...table].sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify(Object.fromEntries(sorted.map(([name, accounts]) => [name, [...accounts].sort()])))}\n`;
}
