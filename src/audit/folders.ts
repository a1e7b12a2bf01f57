// Folders of an audit log: the log itself, and its anchors, which are kept apart from it.

import { createHash } from "node:crypto";
import { readdir, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { AuditSettings } from "../model/index.ts";

export interface AuditFolders {
  readonly log: string;
  readonly anchors: string;
}

/** Gateways of the same workspace that run at the same time write chains of their own. */
export const MAX_CHAINS = 64;
const MAX_NEIGHBOURS = 1_000;
const FILE = /^(calls(?:-\d{1,2})?)(?:\.(\d{16}))?\.jsonl$/;

/** The folders of a workspace's audit log. `workspace` is its folder or file. */
export async function auditFolders(workspace: string, settings: AuditSettings): Promise<AuditFolders> {
  const { default: envPaths } = await import("env-paths");
  const { data, config } = envPaths("portolan", { suffix: "" });
  const log = settings.folder ?? join(data, "audit", await nameOf(workspace));
  // The name does not depend on the data folder, so that anchors and log can be restored into another home folder.
  const name = await nameOf(settings.folder ?? workspace);
  return { log, anchors: settings.anchors ?? join(config, "audit-anchors", name) };
}

export function chainName(slot: number): string {
  return slot === 1 ? "calls" : `calls-${slot}`;
}

/** Full files are named by their last line, so that they sort. */
export function rotatedName(chain: string, lastLine: number): string {
  return `${chain}.${String(lastLine).padStart(16, "0")}.jsonl`;
}

export function currentName(chain: string): string {
  return `${chain}.jsonl`;
}

/** The files of each chain in a folder, oldest first. */
export async function chainFiles(folder: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const chains = new Map<string, string[]>();
  // The current file has no number, and is the last.
  const order = (name: string): string => FILE.exec(name)?.[2] ?? "9".repeat(17);
  for (const name of names.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))) {
    const [, chain] = FILE.exec(name) ?? [];
    if (chain === undefined) continue;
    const files = chains.get(chain) ?? [];
    chains.set(chain, files);
    files.push(join(folder, name));
  }
  return chains;
}

/** Folders with logs beside an audit log: first those of workspaces with the same name, which may be the same one at another path. */
export async function neighbouringLogs({ log }: AuditFolders): Promise<readonly string[]> {
  const parent = dirname(log);
  const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(parent, name));
  const others = folders.filter((folder) => folder !== log).slice(0, MAX_NEIGHBOURS);
  const isLog = await Promise.all(
    others.map((folder) =>
      chainFiles(folder).then(
        (chains) => chains.size > 0,
        () => false,
      ),
    ),
  );
  const workspace = (folder: string): string => basename(folder).replace(/-[0-9a-f]{16}$/, "");
  const isOther = (folder: string): number => (workspace(folder) === workspace(log) ? 0 : 1);
  return others.filter((_, index) => isLog[index]).toSorted((a, b) => isOther(a) - isOther(b));
}

/** The chains that have an anchor, also if their files are gone. */
export async function anchoredChains(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.flatMap((name) => /^(calls(?:-\d{1,2})?)\.anchor$/.exec(name)?.[1] ?? []);
}

async function nameOf(path: string): Promise<string> {
  const real = await realpath(resolve(path)).catch(() => resolve(path));
  const hash = createHash("sha256").update(real).digest("hex").slice(0, 16);
  return `${basename(real)
    .replaceAll(/[^\w.-]/g, "_")
    .slice(0, 40)}-${hash}`;
}
