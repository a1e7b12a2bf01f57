// Distributes the tools of a description over mcpfiles: one file, one for each tag, or as few as possible.

import type { JsonObject } from "../model/index.ts";
import { MAX_ALIAS } from "../formats/manifest/index.ts";
import { Pack } from "./mcpfile.ts";
import type { PackedTool } from "./render-tool.ts";
import { serverName } from "./names.ts";
import type { ConvertOptions } from "./types.ts";

/** One tool with the parts of the head that it needs. */
export interface MadeTool {
  readonly tool: PackedTool;
  /** The tag, or the first word of the path. */
  readonly group: string;
  readonly base: string;
  readonly needs: readonly string[];
  /** The size of the part that models read, in JSON. */
  readonly listBytes: number;
}

/** The tools of one file. */
export interface FilePart {
  /** Name of the server, unique among the files. */
  readonly server: string;
  readonly fileName: string;
  readonly pack: Pack;
  readonly bases: ReadonlySet<string>;
  readonly needs: ReadonlySet<string>;
}

interface OpenPart {
  readonly pack: Pack;
  readonly bases: Set<string>;
  readonly needs: Set<string>;
}

export function distribute(
  tools: readonly MadeTool[],
  name: string,
  split: ConvertOptions["split"],
): readonly FilePart[] {
  if (split === undefined) {
    const [only, ...more] = fill(tools);
    if (only !== undefined && more.length === 0) return [{ server: name, fileName: "mcpfile.yaml", ...only }];
  }
  const groups = split === "size" ? new Map([["", tools]]) : byGroup(tools);
  const taken = new Set<string>();
  return [...groups].flatMap(([group, members]) => {
    const parts = fill(members, true);
    return parts.map((part, index) => {
      const number = parts.length === 1 ? "" : String(index + 1);
      const own = [group, number].filter((word) => word !== "").join("-") || "1";
      const label = uniqueLabel(serverName(own), taken);
      const server = groups.size === 1 && parts.length === 1 ? name : joinName(name, label);
      return { server, fileName: `${label}.mcpfile.yaml`, ...part };
    });
  });
}

/** Fills one file after the other. `whole` keeps the outputSchemas, at the price of more files. */
function fill(tools: readonly MadeTool[], whole = false): OpenPart[] {
  const parts: OpenPart[] = [];
  for (const { tool, base, needs } of tools) {
    let part = parts.at(-1);
    if (part?.pack.add(tool, { whole }) !== true) {
      part = { pack: new Pack(), bases: new Set(), needs: new Set() };
      parts.push(part);
      // A tool whose outputSchema fills a file by itself goes in without it.
      if (!part.pack.add(tool, { whole })) part.pack.add(tool);
    }
    part.bases.add(base);
    for (const need of needs) part.needs.add(need);
  }
  return parts;
}

function byGroup(tools: readonly MadeTool[]): Map<string, readonly MadeTool[]> {
  const groups = new Map<string, MadeTool[]>();
  for (const tool of tools) {
    const members = groups.get(tool.group);
    if (members === undefined) groups.set(tool.group, [tool]);
    else members.push(tool);
  }
  return groups;
}

/** Labels are file names too, and some file systems ignore case; `serverName` has made them lower case. */
function uniqueLabel(label: string, taken: Set<string>): string {
  let unique = label;
  for (let count = 2; taken.has(unique); count += 1) unique = `${label.slice(0, MAX_ALIAS - 5)}-${count}`;
  taken.add(unique);
  return unique;
}

/** The end distinguishes the files, so a long name is cut at its beginning. */
function joinName(name: string, label: string): string {
  const room = MAX_ALIAS - label.length - 1;
  const start = name.slice(0, Math.max(room, 0)).replace(/-+$/, "");
  return start === "" ? label : `${start}-${label}`;
}

/** The size of a tool in a list: the parts that models read. */
export function listBytes({ name, description, inputSchema }: JsonObject): number {
  return JSON.stringify({ name, description, inputSchema }).length;
}
