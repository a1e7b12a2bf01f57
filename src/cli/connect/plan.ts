// Plan for one client's file: the gateway's entry, the servers that it replaces, and those that stay. Nothing is written.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import {
  type ClientEntry,
  type ClientId,
  type ClientServer,
  type Computer,
  type EntryPlace,
  type ExportNote,
  listEntries,
  parseClientFile,
  planReplacement,
  type Replacement,
  replaceServers,
  restoreServers,
  samePlace,
} from "../../formats/clients/index.ts";
import { GATEWAY_DEFAULTS, type ServerConfig, toCommandLine } from "../../model/index.ts";
import { clientTitle } from "../arguments/client-names.ts";
import { endpointLabel } from "../output/endpoint-label.ts";
import { ownGateway, runsServe, servedWorkspace } from "../serve/own-gateway.ts";
import { ENTRY_NAME, type GatewayPlace, gatewayServer } from "./gateway-server.ts";
import { type ConnectionRecord, hashOf, realFile, type Records } from "./records.ts";
import { matchServer, namesakeDifference } from "../import/same-server.ts";
import { pathLabel } from "../workspace/folder.ts";

export interface Target {
  readonly client: ClientId;
  readonly file: string;
}

export interface PlannedServer {
  readonly alias: string;
  /** The name in the client's file. */
  readonly name: string;
  /** `replaced`: taken out; `missing`: the workspace does not have it yet; `kept`: it stays, for this reason. */
  readonly change: "replaced" | "missing" | "kept";
  readonly reason?: string;
  /** Without values that may be secret. */
  readonly runs: string;
}

export interface FilePlan extends Target {
  /** With links followed. */
  readonly realFile: string;
  /** The text now; undefined if there is no file. */
  readonly text: string | undefined;
  /** The text without an earlier connection: what `disconnect` brings back. */
  readonly base: string | undefined;
  /** True if `base` contains changes that the person made while the client was connected. */
  readonly merged?: boolean;
  readonly record: ConnectionRecord | undefined;
  readonly replacement: Replacement;
  readonly after: string;
  readonly runs: string;
  /** The servers in the file now. */
  readonly servers: readonly PlannedServer[];
  /** The servers that can be imported. */
  readonly missing: readonly ClientServer[];
  readonly notes: readonly Pick<ExportNote, "message">[];
  /** Findings about the client's file, for example secrets that are written out. */
  readonly diagnostics: readonly Diagnostic[];
}

export interface PlanContext {
  readonly computer: Computer;
  readonly records: Records;
  readonly place: GatewayPlace;
  /** The servers of the workspace; those of other clients' files do not count. */
  readonly declared: readonly ServerConfig[];
}

/** Throws when the file cannot be read or changed. */
export async function planFile({ client, file }: Target, context: PlanContext): Promise<FilePlan> {
  const { computer, records, place, declared } = context;
  const real = await realFile(file);
  const text = await readClientText(real);
  const record = await records.find(real, text === undefined ? undefined : hashOf(text));
  const { base, replaced, merged } =
    record === undefined ? { base: text, replaced: [] } : await withoutConnection(record, text, records);
  const elsewhere = await declaredElsewhere(declared, real);
  // A server that an earlier connection took out is not in the file now: only `disconnect` brings it back.
  const entries = listEntries(base ?? "", real, client, computer).filter(
    (entry) => !replaced.some((place) => samePlace(place, entry.place)),
  );
  const server = gatewayServer(client, place);
  const planned = entries.map((entry) => planEntry(entry, elsewhere, context));
  const removed = planned.flatMap(({ change }, index) =>
    change === "replaced" ? [(entries[index] as ClientEntry).place] : [],
  );
  const name = freeName(entries, removed);
  const replacement = planReplacement(client, base ?? "", { ...server, name, alias: name }, [
    ...replaced,
    ...removed,
  ]);
  if (replacement === undefined)
    throw new PortolanError(
      "NOT_SUPPORTED",
      `Portolan cannot write the gateway into ${file}: the config format of this client does not support such an entry.`,
    );
  const { notes, ...rest } = replacement;
  return {
    ...{ client, file, realFile: real, text, base, merged, record },
    replacement: rest,
    after: named(() => replaceServers(client, base ?? "", rest), file),
    runs: endpointLabel(server.endpoint),
    servers: planned,
    missing: entries.flatMap(({ server: own }, index) =>
      planned[index]?.change === "missing" && own !== undefined ? [own] : [],
    ),
    notes: [...notes, ...notesOnProjects(base ?? "", real, client, computer)],
    diagnostics: parseClientFile(base ?? "", file, client, computer)?.diagnostics ?? [],
  };
}

/** Claude Code keeps servers of single projects in its file of the user; those of other folders stay there. */
function notesOnProjects(
  text: string,
  file: string,
  client: ClientId,
  computer: Computer,
): readonly Pick<ExportNote, "message">[] {
  const here = listEntries(text, file, client, computer);
  const elsewhere = listEntries(text, file, client, { ...computer, projects: "all" }).filter(
    ({ place }) => !here.some((entry) => samePlace(entry.place, place)),
  );
  const projects = new Set(elsewhere.flatMap(({ server }) => server?.project ?? []));
  return [...projects].map((project) => {
    const names = elsewhere
      .filter(({ server }) => server?.project === project)
      .map(({ place }) => place.name);
    const [servers, stay] = names.length === 1 ? ["server", "stays"] : ["servers", "stay"];
    return {
      message: `${names.length} more ${servers} of ${clientTitle(client)} only for the project ${pathLabel(project, computer)} ${stay} in its file: ${names.join(", ")}. To see ${names.length === 1 ? "its config" : "their config"}: portolan import ${client}, in the folder of that project`,
    };
  });
}

/** The text of a client's file; undefined if there is none. */
export async function readClientText(file: string): Promise<string | undefined> {
  const bytes = await readFile(file).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT" || cause.code === "ENOTDIR") return undefined;
    throw new PortolanError("FILE_FAILED", `${file} cannot be read (${cause.code}).`, { cause });
  });
  if (bytes === undefined) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `${file} is not UTF-8 text.`, {
      cause,
      hint: "Save the file as UTF-8 first.",
    });
  }
}

/** The text as `disconnect` would leave it, and the servers in it that are not in the file now. */
async function withoutConnection(
  record: ConnectionRecord,
  text: string | undefined,
  records: Records,
): Promise<Pick<FilePlan, "base" | "merged"> & { readonly replaced: readonly EntryPlace[] }> {
  if (text === undefined || hashOf(text) === record.before) return { base: text, replaced: [] };
  const before = await records.readBefore(record);
  if (hashOf(text) === record.after)
    return {
      base: record.before === undefined ? undefined : before,
      replaced: record.removed,
      merged: record.merged,
    };
  const done = named(() => restoreServers(record.client, text, before, record), record.file);
  return { base: done.text, replaced: done.restored, merged: true };
}

/** An error about a text gets the name of its file. */
export function named<T>(work: () => T, file: string): T {
  try {
    return work();
  } catch (thrown) {
    if (!(thrown instanceof PortolanError)) throw thrown;
    const { code, message, hint, data, cause } = thrown;
    throw new PortolanError(code, `${file}: ${message}`, { hint, cause, data: { ...data, file } });
  }
}

/** A workspace may read the client's file itself: then nothing replaces its servers. */
export async function declaredElsewhere(
  declared: readonly ServerConfig[],
  file: string,
): Promise<readonly ServerConfig[]> {
  const files = await Promise.all(declared.map(({ origin }) => realFile(origin.file)));
  return declared.filter((_server, index) => files[index] !== file);
}

function planEntry(
  { place: { name }, server }: ClientEntry,
  declared: readonly ServerConfig[],
  { place, computer }: PlanContext,
): PlannedServer {
  if (server === undefined)
    return { alias: name, name, change: "kept", reason: "its config has an error", runs: "" };
  const common = { alias: server.alias, name, runs: endpointLabel(server.endpoint) };
  const gateway = gatewayOf(server, place);
  if (gateway === "this") return { ...common, change: "replaced", reason: "it is this gateway already" };
  if (gateway === "other")
    return { ...common, change: "kept", reason: "it is a gateway of Portolan for another workspace" };
  const match = matchServer(server, declared, computer.home);
  switch (match.kind) {
    case "replaced":
      return {
        ...common,
        change: "replaced",
        reason: match.by === server.alias ? undefined : `the workspace has this server as ${match.by}`,
      };
    case "differs":
      return { ...common, change: "kept", reason: match.reason };
    case "missing":
      return { ...common, change: "missing", reason: namesakeDifference(server, declared) };
  }
}

/** Whether an entry is the gateway of this workspace, or one of Portolan for another. */
export function gatewayOf(server: ServerConfig, place: GatewayPlace): "this" | "other" | undefined {
  const { endpoint } = server;
  const { host = GATEWAY_DEFAULTS.host, port = GATEWAY_DEFAULTS.port, allowedHosts } = place.settings;
  const { script } = place.program;
  if (endpoint.transport !== "stdio")
    return ownGateway(server, { host, port, allowedHosts, script }) === undefined ? undefined : "this";
  if (endpoint.kind === "package") return undefined;
  const { command, args } = toCommandLine(endpoint);
  const words = [command, ...args];
  if (!runsServe(words, script)) return undefined;
  const workspace = servedWorkspace(words, script);
  return workspace !== undefined && resolve(workspace) === resolve(place.workspace) ? "this" : "other";
}

/** `portolan`, or the next free name if a server that stays has it. */
function freeName(entries: readonly ClientEntry[], removed: readonly EntryPlace[]): string {
  const taken = new Set(
    entries.filter(({ place }) => !removed.includes(place)).map(({ place }) => place.name),
  );
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? ENTRY_NAME : `${ENTRY_NAME}-${number}`;
    if (!taken.has(name)) return name;
  }
}
