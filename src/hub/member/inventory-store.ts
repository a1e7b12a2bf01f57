// Inventory store: keeps inventories on disk, so that they are known before a server runs again.

import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, type ServerConfig } from "../../model/index.ts";
import type { Inventory } from "./inventory.ts";

const MAX_BYTES = 5 * 1024 * 1024;

export interface InventoryStore {
  load(key: string): Promise<Inventory | undefined>;
  save(key: string, inventory: Inventory): Promise<void>;
}

/** One file per server config. A damaged or unwritable file only means that the inventory is unknown before the start. */
export function createInventoryStore(folder: string): InventoryStore {
  const fileOf = (key: string): string =>
    join(folder, `${createHash("sha256").update(key).digest("hex").slice(0, 32)}.json`);
  const written = new Map<string, string>();
  let created: Promise<unknown> | undefined;
  return {
    async load(key) {
      try {
        const text = await readFile(fileOf(key), "utf8");
        const value: unknown = JSON.parse(text);
        if (!isInventory(value)) return undefined;
        written.set(key, text);
        return value;
      } catch {
        return undefined;
      }
    },
    async save(key, inventory) {
      const text = JSON.stringify(inventory);
      if (text === written.get(key) || text.length > MAX_BYTES) return;
      const file = fileOf(key);
      const temporary = `${file}.${process.pid}.${Math.random().toString(36).slice(2)}.tmp`;
      try {
        await (created ??= mkdir(folder, { recursive: true, mode: 0o700 }));
        await writeFile(temporary, text, { flag: "wx", mode: 0o600 });
        await rename(temporary, file);
        written.set(key, text);
      } catch {
        // Another program may have removed the folder, so the next save creates it again.
        created = undefined;
        await rm(temporary, { force: true }).catch(() => {});
      }
    },
  };
}

/** Identifies an inventory. A server may show more tools to a client that answers server requests. */
export function inventoryKey(
  { alias, endpoint, era = "auto" }: ServerConfig,
  capabilities: readonly string[],
): string {
  return JSON.stringify([alias, endpoint, era, capabilities.toSorted()]);
}

/** The capabilities that callers may have. */
const CAPABILITIES = ["elicitation", "extensions", "roots", "sampling"];

/** The tools that a server listed when it last ran, without starting it; of several callers' lists the longest one. */
export async function readKeptInventory(
  config: ServerConfig,
  folder?: string,
): Promise<Inventory | undefined> {
  const store = createInventoryStore(folder ?? (await defaultInventoryFolder()));
  const sets = CAPABILITIES.reduce<string[][]>(
    (all, name) => [...all, ...all.map((set) => [...set, name])],
    [[]],
  );
  const found = await Promise.all(sets.map((set) => store.load(inventoryKey(config, set))));
  return found
    .filter((inventory) => inventory !== undefined)
    .toSorted((a, b) => b.tools.length - a.tools.length)[0];
}

/** The folder in the user's cache. */
export async function defaultInventoryFolder(): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  return join(envPaths("portolan", { suffix: "" }).cache, "tools");
}

function isInventory(value: unknown): value is Inventory {
  if (!isObject(value) || !isObject(value.capabilities)) return false;
  const named = (list: unknown, key: string): boolean =>
    Array.isArray(list) && list.every((entry) => isObject(entry) && typeof entry[key] === "string");
  const { hashes } = value;
  const isHashed = (part: "tools" | "prompts" | "resources"): boolean =>
    isObject(hashes) && Array.isArray(hashes[part]);
  return (
    (hashes === undefined || (isHashed("tools") && isHashed("prompts") && isHashed("resources"))) &&
    named(value.tools, "name") &&
    named(value.prompts, "name") &&
    named(value.resources, "uri") &&
    named(value.templates, "uriTemplate")
  );
}
