// Merges servers into the config file of another client, and summarises the changes.

import { readFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { PortolanError } from "../../errors/index.ts";
import {
  type ClientId,
  type ClientServer,
  type Computer,
  type ExportNote,
  mergeInto,
  parseClientFile,
  writeClientFile,
} from "../../formats/clients/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { clientTitle } from "../arguments/client-names.ts";
import { endpointLabel } from "../output/endpoint-label.ts";
import type { Colors } from "../terminal/colors.ts";
import { cut, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { pathLabel } from "../workspace/folder.ts";
import { toServerFields } from "../workspace/server-fields.ts";

/** The output of `export --write --json`. */
export interface Merged {
  readonly client: ClientId;
  readonly file: string;
  readonly created: boolean;
  readonly changed: boolean;
  readonly backup?: string;
  readonly servers: readonly MergedServer[];
  readonly notes: readonly ExportNote[];
}

export interface MergedServer {
  readonly alias: string;
  readonly change: "added" | "changed" | "same" | "left out";
  /** The names of changed fields; values are never shown. */
  readonly fields?: readonly string[];
  readonly runs: string;
}

export async function mergeServers(
  client: ClientId,
  file: string,
  servers: readonly ServerConfig[],
  computer: Computer,
): Promise<Merged> {
  const existing = await readExisting(file);
  const before = existing ?? "";
  const context = { home: computer.home, cwd: computer.cwd, platform: computer.platform };
  const { text, notes } = mergeInto(client, before, servers, { ...context, file });
  const serversIn = (source: string): readonly ClientServer[] =>
    parseClientFile(source, file, client, context)?.servers ?? [];
  const [old, fresh] = [serversIn(before), serversIn(text)];
  const summary = servers.map((server) => compare(server, old, fresh));
  // No new file is created without a server for it.
  const nothing = existing === undefined && fresh.length === 0;
  const written = nothing ? { file, changed: false } : await writeClientFile(file, text, { basis: before });
  const backup = "backup" in written ? written.backup : undefined;
  return {
    client,
    file: written.file,
    created: existing === undefined && written.changed,
    changed: written.changed,
    backup,
    servers: summary,
    notes,
  };
}

export function describeMerge(
  merged: Merged,
  { colors, width, computer }: { colors: Colors; width: number | undefined; computer: Computer },
): string {
  const marks = {
    added: colors.green("+"),
    changed: colors.yellow("~"),
    same: colors.dim("="),
    "left out": colors.red("-"),
  };
  const column = Math.min(24, Math.max(0, ...merged.servers.map(({ alias }) => alias.length)));
  const lines = merged.servers.map(({ alias, change, fields, runs }) => {
    const detail =
      change === "changed" ? `changed: ${(fields ?? []).join(", ")}` : change === "added" ? runs : change;
    const name = plainLine(alias, 100).padEnd(column);
    const text = plainLine(detail, 1_000);
    const shown = width === undefined ? text : cut(text, Math.max(20, width - name.length - 4));
    return `${marks[change]} ${colors.cyan(name)}  ${change === "added" ? shown : colors.dim(shown)}`;
  });
  const path = pathLabel(merged.file, computer);
  const title = clientTitle(merged.client);
  const outcome = merged.changed
    ? `${merged.created ? "Created" : "Changed"} ${path} of ${title}; its other content is unchanged.`
    : merged.servers.every(({ change }) => change === "left out")
      ? `No server was written to ${path}: all of them were left out.`
      : merged.servers.some(({ change }) => change === "left out")
        ? `${path} is unchanged: some servers were left out, and ${title} has the others already.`
        : `${title} has these servers already; ${path} is unchanged.`;
  lines.push(wrap(merged.created ? `Created ${path} for ${title}.` : outcome, width));
  if (merged.backup !== undefined) lines.push(`Backup: ${pathLabel(merged.backup, computer)}`);
  return lines.join("\n");
}

function compare(
  server: ServerConfig,
  old: readonly ClientServer[],
  fresh: readonly ClientServer[],
): MergedServer {
  const { alias } = server;
  const find = (list: readonly ClientServer[]): ClientServer | undefined =>
    list.find((one) => one.alias === alias && one.project === undefined);
  const [before, after] = [find(old), find(fresh)];
  const runs = endpointLabel(server.endpoint);
  if (after === undefined) return { alias, change: "left out", runs };
  if (before === undefined) return { alias, change: "added", runs };
  const fields = changedFields(before, after);
  return fields.length === 0 ? { alias, change: "same", runs } : { alias, change: "changed", fields, runs };
}

function changedFields(before: ServerConfig, after: ServerConfig): string[] {
  const [a, b] = [before, after].map((server) => toServerFields(server) as Record<string, unknown>);
  const names = new Set([...Object.keys(a ?? {}), ...Object.keys(b ?? {})]);
  return [...names].filter((name) => !isDeepStrictEqual(a?.[name], b?.[name]));
}

async function readExisting(file: string): Promise<string | undefined> {
  const bytes = await readFile(file).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return undefined;
    throw new PortolanError("FILE_FAILED", `${file} cannot be read (${cause.code})`, {
      cause,
      data: { file },
      hint: cause.code === "EISDIR" ? "It is a folder. Name a file." : undefined,
    });
  });
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `${file} is not UTF-8 text`, {
      cause,
      hint: "Save the file as UTF-8 first.",
      data: { file },
    });
  }
}
