// Copies servers of other clients into portolan.yaml. The clients' own files are only read.

import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Catalog, type FileChange, toFileChange } from "../../catalog/index.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { type ClientServer, type ImportedFile, writeClientFile } from "../../formats/clients/index.ts";
import { readText } from "../../formats/document/index.ts";
import { addServer, type ServerFields } from "../../formats/workspace/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import type { CompletedFields } from "../grants/noticed-fields.ts";
import { clientTitle } from "../arguments/client-names.ts";
import { toServerFields } from "../workspace/server-fields.ts";
import { isSameServer, matchServer } from "./same-server.ts";
import type { AliasedServer, PlaceSecrets, SecretPlacement, StoredSecrets } from "./secrets.ts";

export interface CopyResult {
  /** The workspace's own file. */
  readonly file: string;
  /** The backup of the file; absent when nothing was written or there was no file. */
  readonly backup?: string;
  /** The change of the file; absent when nothing was written. */
  readonly change?: FileChange;
  readonly added: readonly CopiedServer[];
  readonly skipped: readonly SkippedServer[];
  /** Names of secrets that were stored, in place of a copy in clear. */
  readonly stored?: StoredSecrets;
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
  /**
   * `there`: the workspace has the same server, or gets it from another entry; `taken`: another server has this alias;
   * `invalid`: its config is not valid; `gateway`: it is a gateway of Portolan itself; `secret`: it has secrets in clear, and
   * nobody said where they go.
   */
  readonly reason: "there" | "taken" | "invalid" | "gateway" | "secret";
  readonly message: string;
}

/** The longest alias that portolan.yaml accepts. */
const MAX_ALIAS = 40;

export interface CopyOptions {
  /** The home folder of the user. */
  readonly home: string;
  /** The reason not to copy a server, for example because it is a gateway of Portolan itself. */
  readonly refuse?: (server: ClientServer) => string | undefined;
  /** Gives another alias to a server whose alias is taken, in place of leaving it out. */
  readonly rename?: boolean;
  /** Decides where the plain secrets of the servers go. */
  readonly placeSecrets: PlaceSecrets;
  /** Adds to the fields of a server before it is written. */
  readonly complete?: (
    alias: string,
    fields: ServerFields,
    /** The fields with their secret values, of which `fields` may have references. */
    plain: ServerFields,
  ) => Promise<CompletedFields>;
}

/** Adds every server that the workspace does not have yet. An existing file gets a backup. */
export async function copyServers(
  folder: string,
  catalog: Pick<Catalog, "servers">,
  files: readonly ImportedFile[],
  options: CopyOptions,
): Promise<CopyResult> {
  const plan = await planCopy(folder, catalog, files, options);
  const { file, added, skipped } = plan;
  if (added.length === 0) return { file, added, skipped };
  return { ...(await writeCopy(plan)), added, skipped };
}

export interface CopyPlan extends Omit<CopyResult, "backup" | "change" | "stored"> {
  /** The text of the workspace's own file, before and after. */
  readonly basis: string | undefined;
  readonly text: string | undefined;
  /** Stores secrets and creates folders, before the file is written. */
  readonly prepare: () => Promise<StoredSecrets | undefined>;
}

/** Stores the secrets and writes the workspace's own file. */
export async function writeCopy({
  file,
  text,
  basis,
  prepare,
}: CopyPlan): Promise<Pick<CopyResult, "file" | "backup" | "change" | "stored">> {
  const stored = await prepare();
  const written = await writeClientFile(file, text ?? "", { basis: basis ?? "" });
  const change = toFileChange(file, basis ?? "", text ?? "");
  return { file: written.file, backup: written.backup, change, stored };
}

interface Chosen extends AliasedServer {
  readonly source: ImportedFile;
}

/** The text that `copyServers` would write; it changes nothing. */
export async function planCopy(
  folder: string,
  catalog: Pick<Catalog, "servers">,
  files: readonly ImportedFile[],
  options: CopyOptions,
): Promise<CopyPlan> {
  const complete = options.complete ?? (async (_, fields): Promise<CompletedFields> => ({ fields }));
  const { file, text: basis } = await readOwn(folder);
  const { chosen, skipped } = chooseServers(basis, catalog, files, options);
  const secrets = await options.placeSecrets(chosen);
  const added: CopiedServer[] = [];
  const prepared: CompletedFields["prepare"][] = [];
  let text = basis;
  for (const one of chosen) {
    const { alias, server, source } = one;
    const written = secrets.written(one);
    if (typeof written === "string") {
      skipped.push({ alias: server.alias, from: source.file, reason: "secret", message: written });
      continue;
    }
    const { fields, prepare } = await complete(alias, toServerFields(written), toServerFields(server));
    text = addServer(text, alias, fields);
    prepared.push(prepare);
    added.push({ alias, from: source.file, notes: notesOn(server, source, secrets) });
  }
  return {
    ...{ file, basis, text, added, skipped },
    prepare: async () => {
      const stored = await secrets.store?.();
      for (const prepare of prepared) await prepare?.();
      return stored;
    },
  };
}

/** The servers that the workspace does not have yet, each with its alias here. */
function chooseServers(
  basis: string | undefined,
  catalog: Pick<Catalog, "servers">,
  files: readonly ImportedFile[],
  { home, refuse = () => undefined, rename = false }: CopyOptions,
): { readonly chosen: Chosen[]; readonly skipped: SkippedServer[] } {
  const known = new Map<string, ServerConfig>(catalog.servers.map((server) => [server.alias, server]));
  const chosen: Chosen[] = [];
  const skipped: SkippedServer[] = [];
  let text = basis;
  for (const source of files) {
    for (const server of source.servers) {
      const refused = refuse(server);
      const there = known.get(server.alias);
      const taken =
        there === undefined ? underAnotherName(server) : thereAlready(there, server, replaces(there, server));
      const same = chosen.find((one) => isSameServer(one.server, server));
      const isRenamed = rename && taken?.reason === "taken";
      const alias = isRenamed ? freeAlias(server.alias, source.client) : server.alias;
      const problem =
        refused !== undefined
          ? { reason: "gateway" as const, message: refused }
          : same !== undefined
            ? repeated(same, server)
            : isRenamed || taken === undefined
              ? tryAdd(server, alias)
              : taken;
      if (problem === undefined) {
        known.set(alias, server);
        chosen.push({ alias, server, source });
      } else skipped.push({ alias: server.alias, from: source.file, ...problem });
    }
  }
  return { chosen, skipped };

  /** `files` of Cursor is `files-cursor` beside another server that is called `files`. */
  function freeAlias(alias: string, client: string): string {
    for (let number = 1; ; number += 1) {
      const end = `-${client}${number === 1 ? "" : `-${number}`}`;
      const name = `${alias.slice(0, MAX_ALIAS - end.length)}${end}`;
      if (!known.has(name)) return name;
    }
  }

  /** Two servers of clients are compared by `isSameServer`: Portolan has added nothing to them. */
  function replaces(there: ServerConfig, server: ClientServer): boolean {
    return catalog.servers.includes(there) && matchServer(server, [there], home).kind === "replaced";
  }

  /** The workspace may have the server under another name. */
  function underAnotherName(server: ClientServer): Pick<SkippedServer, "reason" | "message"> | undefined {
    const match = matchServer(server, catalog.servers, home);
    return match.kind === "replaced"
      ? { reason: "there", message: `the workspace has this server as ${match.by}` }
      : undefined;
  }

  /** A server that cannot be added is not asked about. */
  function tryAdd(
    server: ClientServer,
    alias: string,
  ): Pick<SkippedServer, "reason" | "message"> | undefined {
    try {
      text = addServer(text, alias, toServerFields(server));
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
        { hint: problem.hint ?? "Nothing was written. Correct the file first.", data: { file } },
      );
    return { file, text };
  }
  return { file: join(folder, "portolan.yaml"), text: undefined };
}

/** The entry of one client that another client has, too. */
function repeated(
  { alias, source }: Chosen,
  server: ClientServer,
): Pick<SkippedServer, "reason" | "message"> {
  const title = clientTitle(source.client);
  return {
    reason: "there",
    message:
      alias === server.alias
        ? `the same server as in ${title}, so it is imported only once`
        : `the same server as ${alias} of ${title}, so it is imported only once, as ${alias}`,
  };
}

function thereAlready(
  there: ServerConfig,
  server: ClientServer,
  isReplaced: boolean,
): Pick<SkippedServer, "reason" | "message"> {
  const place = `${basename(there.origin.file)}, line ${there.origin.line}`;
  if (there.origin.file === server.origin.file)
    return { reason: "there", message: "this workspace already reads the file of the client" };
  return isReplaced || sameEndpoint(there, server)
    ? { reason: "there", message: `the workspace already has the same server (${place})` }
    : { reason: "taken", message: `another server of the workspace has this name (${place})` };
}

function sameEndpoint(a: ServerConfig, b: ServerConfig): boolean {
  const fields = ({ alias, endpoint, origin }: ServerConfig): unknown =>
    toServerFields({ alias, endpoint, origin, enabled: true });
  return isDeepStrictEqual(fields(a), fields(b));
}

function notesOn(
  server: ClientServer,
  { diagnostics }: ImportedFile,
  { inClear }: SecretPlacement,
): string[] {
  const about = diagnostics.filter(
    ({ server: alias, severity }) => alias === server.alias && severity === "info",
  );
  return [
    ...(server.envFile === undefined
      ? []
      : [
          `the variables of ${server.envFile} were not imported: write them under env of the server in portolan.yaml`,
        ]),
    ...about.flatMap(({ literalSecret: name }) =>
      inClear && name !== undefined
        ? [`${name} looks like a secret. Its value is copied to portolan.yaml in plain text`]
        : [],
    ),
  ];
}
