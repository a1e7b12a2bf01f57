// Which clients are connected to a workspace. `serve` asks this at every start, so that this file loads little.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { ClientId } from "../../formats/clients/index.ts";
import { type ConnectionRecord, hashOf, openRecords } from "./records.ts";

/** The clients whose files have the entry of this workspace's gateway. */
export async function connectedClients(workspace: string): Promise<ClientId[]> {
  const records = await (await openRecords()).list();
  const connected = new Set<ClientId>();
  for (const record of records)
    if (resolve(record.workspace) === resolve(workspace) && (await isConnected(record)))
      connected.add(record.client);
  return [...connected];
}

async function isConnected(record: ConnectionRecord): Promise<boolean> {
  const text = await readFile(record.file, "utf8").catch(() => undefined);
  if (text === undefined) return false;
  if (hashOf(text) === record.after) return true;
  // Only a file that was changed must be parsed, and the parsers of all client formats are large.
  const { recordState } = await import("./overview.ts");
  return recordState(record, text) === "changed";
}
