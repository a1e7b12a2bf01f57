// Copies servers of other clients into portolan.yaml. The clients' own files are only read.

import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Catalog } from "../../catalog/index.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { type ClientServer, type ImportedFile, writeClientFile } from "../../formats/clients/index.ts";
import { readText } from "../../formats/document/index.ts";
import { addServer } from "../../formats/workspace/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { toServerFields } from "../workspace/server-fields.ts";

export interface CopyResult {
  /** The workspace's own file. */
  readonly file: string;
  /** The backup of the file; absent when nothing was written or there was no file. */
  readonly backup?: string;
  readonly added: readonly CopiedServer[];
  readonly skipped: readonly SkippedServer[];
}

export interface CopiedServer {
  readonly alias: string;
  readonly from: string;
  /** Warnings about settings that were not copied, and about secrets that were. */
  readonly notes: readonly string[];
}

export interface SkippedServer {
  readonly alias: string;
  readonly from: string;
  /** `there`: the workspace has the same server; `taken`: another server has this alias; `invalid`: its config is not valid. */
  readonly reason: "there" | "taken" | "invalid";
  readonly message: string;
}

/** Part of the message of diagnostics about secrets in config files. */
const WRITTEN_OUT = "looks like a secret that is written out";

/** Adds every server that the workspace does not have yet. An existing file gets a backup. */
export async function copyServers(
  folder: string,
  catalog: Pick<Catalog, "servers">,
  files: readonly ImportedFile[],
): Promise<CopyResult> {
  const { file, text: basis } = await readOwn(folder);
  const known = new Map<string, ServerConfig>(catalog.servers.map((server) => [server.alias, server]));
  const added: CopiedServer[] = [];
  const skipped: SkippedServer[] = [];
  let text = basis;
  for (const source of files) {
    for (const server of source.servers) {
      const { alias } = server;
      const there = known.get(alias);
      const problem = there === undefined ? tryAdd(server) : thereAlready(there, server);
      if (problem === undefined) {
        known.set(alias, server);
        added.push({ alias, from: source.file, notes: notesOn(server, source) });
      } else skipped.push({ alias, from: source.file, ...problem });
    }
  }
  if (added.length === 0) return { file, added, skipped };
  const written = await writeClientFile(file, text ?? "", { basis: basis ?? "" });
  return { file: written.file, backup: written.backup, added, skipped };

  function tryAdd(server: ClientServer): Pick<SkippedServer, "reason" | "message"> | undefined {
    try {
      text = addServer(text, server.alias, toServerFields(server));
      return undefined;
    } catch (thrown) {
      if (!isPortolanError(thrown)) throw thrown;
      return { reason: "invalid", message: thrown.message };
    }
  }
}

/** Refuses a file with errors, because its servers' names are not known. */
async function readOwn(folder: string): Promise<{ file: string; text: string | undefined }> {
  for (const name of ["portolan.yaml", "portolan.yml"]) {
    const file = join(folder, name);
    const text = await readFile(file, "utf8").catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") return undefined;
      throw new PortolanError("FILE_FAILED", `${file} cannot be read (${thrown.code})`, { cause: thrown });
    });
    if (text === undefined) continue;
    const problem = readText(text, file).diagnostics.find(({ severity }) => severity === "error");
    if (problem !== undefined)
      throw new PortolanError(
        "FILE_INVALID",
        `${file}:${problem.line ?? 1}:${problem.column ?? 1} ${problem.message}`,
        { hint: problem.hint ?? "Correct the file first; nothing was written.", data: { file } },
      );
    return { file, text };
  }
  return { file: join(folder, "portolan.yaml"), text: undefined };
}

function thereAlready(there: ServerConfig, server: ClientServer): Pick<SkippedServer, "reason" | "message"> {
  const place = `${basename(there.origin.file)}, line ${there.origin.line}`;
  if (there.origin.file === server.origin.file)
    return { reason: "there", message: "this workspace reads that file already" };
  return sameEndpoint(there, server)
    ? { reason: "there", message: `the workspace already has the same server (${place})` }
    : { reason: "taken", message: `another server has this alias (${place})` };
}

function sameEndpoint(a: ServerConfig, b: ServerConfig): boolean {
  const fields = ({ alias, endpoint, origin }: ServerConfig): unknown =>
    toServerFields({ alias, endpoint, origin, enabled: true });
  return isDeepStrictEqual(fields(a), fields(b));
}

function notesOn(server: ClientServer, { diagnostics }: ImportedFile): string[] {
  const about = diagnostics.filter(
    ({ server: alias, severity }) => alias === server.alias && severity === "info",
  );
  return [
    ...(server.envFile === undefined
      ? []
      : [`the variables of ${server.envFile} do not come with it: write them as env`]),
    ...about
      .filter(({ message }) => message.includes(WRITTEN_OUT))
      .map(({ message }) => message.replace(/ in the file$/, " in portolan.yaml now, too")),
  ];
}
