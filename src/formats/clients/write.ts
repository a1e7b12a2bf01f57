// Writes servers into a client's file: a new one, or an existing one in which nothing else changes.

import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { isLegalAlias } from "../manifest/alias.ts";
import { createLocator } from "../document/index.ts";
import { ownPath } from "./known/containers.ts";
import { type ReadContext, readContext } from "./known/context.ts";
import { CLIENT_FORMATS, CLIENT_TITLES } from "./known/detect.ts";
import { applyChange, type Change, openDocument, renderDocument, valueAt } from "../document/edit/index.ts";
import { declaredInputs, inputsIn, toInput } from "./references/inputs.ts";
import { changesOf } from "./entries/merge-entry.ts";
import { type FoundEntry, readEntries } from "./entries/read-servers.ts";
import type { ClientContext, ClientId, ExportNote, Path, WritableServer, WrittenConfig } from "./types.ts";
import { writeEntry } from "./entries/write-entry.ts";

/** A complete file for the client with these servers and nothing else. */
export function renderFor(client: ClientId, servers: readonly WritableServer[]): WrittenConfig {
  // TOML without servers is empty, so that it can be appended to a file that has some.
  const nothing = { path: ownPath(client, {}), value: client === "axle" ? [] : {} };
  const empty = CLIENT_FORMATS[client] === "toml" ? {} : applyChange({}, nothing);
  const { changes, notes } = plan(client, empty, servers, [], readContext("file", {}));
  const value = changes.reduce(applyChange, empty) as Readonly<Record<string, unknown>>;
  return { text: renderDocument(CLIENT_FORMATS[client], value), notes };
}

/**
 * The existing text with these servers in it: those it has under the same name are brought up to date member by member, new ones are added,
 * and everything else (comments, order, unknown keys, other servers) stays byte for byte. `file` tells what `${workspaceFolder}` stands for.
 * Throws FILE_INVALID when the text does not parse, NOT_SUPPORTED when it cannot be changed in place.
 */
export function mergeInto(
  client: ClientId,
  existingText: string,
  servers: readonly WritableServer[],
  context: ClientContext & { readonly file?: string } = {},
): WrittenConfig {
  if (existingText.trim() === "") return renderFor(client, servers);
  const document = openDocument(CLIENT_FORMATS[client], existingText);
  const [problem] = document.problems;
  if (problem !== undefined || !isObject(document.value)) {
    const { line, column } = createLocator(document.text)(problem?.offset ?? 0);
    throw new PortolanError(
      "FILE_INVALID",
      `the config file of ${CLIENT_TITLES[client]} cannot be parsed: ${problem?.message ?? "it is not an object"} (line ${line}, column ${column})`,
      { data: { line, column, file: context.file } },
    );
  }
  const reading = readContext(context.file ?? "file", { ...context, projects: "all" });
  const entries = readEntries(document, client, reading, () => undefined);
  const { changes, notes } = plan(client, document.value, servers, entries, reading);
  const edited = document.edit(changes);
  if (edited === undefined) {
    const printed = ["portolan export --for", client, ...servers.map(({ alias }) => alias)].join(" ");
    throw new PortolanError(
      "NOT_SUPPORTED",
      `Portolan cannot edit ${context.file ?? "the config file"} without changing other parts of it. Nothing was written`,
      {
        hint: `Put each server on its own lines, remove keys that occur twice, and run the command again. Or add the servers by hand; this command prints them: ${printed}`,
      },
    );
  }
  return { text: edited.render(), notes };
}

interface Plan {
  readonly changes: readonly Change[];
  readonly notes: readonly ExportNote[];
}

function plan(
  client: ClientId,
  value: unknown,
  servers: readonly WritableServer[],
  entries: readonly FoundEntry[],
  context: ReadContext,
): Plan {
  const changes: Change[] = [];
  const notes: ExportNote[] = [];
  const names = new Map<string, Path>();
  let length = lengthOf(valueAt(value, ownPath(client, value)));
  for (const server of servers) {
    const second = ownPath(client, value).length === 2;
    const { entry, notes: found } = writeEntry(client, server, second);
    notes.push(...found);
    if (entry === undefined) continue;
    const existing = findEntry(entries, server);
    notes.push(...noteMissingSandbox(client, server, existing));
    if (existing !== undefined) {
      changes.push(...changesOf(existing, { entry, enabled: server.enabled, client, context, second }));
      continue;
    }
    const container = containerOf(client, value, server);
    const name = nameFor(client, server);
    const key = JSON.stringify([container, name]);
    const path = names.get(key) ?? [...container, client === "axle" ? length : name];
    if (client === "axle" && !names.has(key)) length += 1;
    names.set(key, path);
    changes.push({ path, value: client === "axle" ? { name, ...entry } : entry });
  }
  if (client === "vscode") changes.push(...inputChanges(value, changes));
  return { changes, notes };
}

/** VS Code starts a server without a sandbox unless its entry enables one. */
function noteMissingSandbox(
  client: ClientId,
  { alias, endpoint, launch }: WritableServer,
  existing: FoundEntry | undefined,
): ExportNote[] {
  if (client !== "vscode" || endpoint.transport !== "stdio") return [];
  if (launch?.sandbox !== undefined || existing?.raw["sandboxEnabled"] === true) return [];
  const title = CLIENT_TITLES[client];
  const message = `${title} runs this server without a sandbox, because Portolan's default sandbox cannot be exported: set sandbox in the config of the server, or connect ${title} to the gateway: portolan connect ${client}`;
  return [{ server: alias, message }];
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0;
}

/** By the name in the file, else by the alias that it stands for; servers of one project only among those of that project. */
function findEntry(entries: readonly FoundEntry[], server: WritableServer): FoundEntry | undefined {
  const here = entries.filter(({ container }) => container.project === server.project);
  return here.find(({ name }) => name === server.name) ?? here.find(({ alias }) => alias === server.alias);
}

function containerOf(client: ClientId, value: unknown, { project }: WritableServer): Path {
  return client === "claude-code" && project !== undefined
    ? ["projects", project, "mcpServers"]
    : ownPath(client, value);
}

/** Codex and Claude Code want plain names. */
function nameFor(client: ClientId, { name, alias }: WritableServer): string {
  if (name === undefined) return alias;
  return (client === "codex" || client === "claude-code") && !isLegalAlias(name) ? alias : name;
}

/** VS Code asks only for inputs that the file declares, so those that the changes bring in are declared with them. */
function inputChanges(value: unknown, changes: readonly Change[]): Change[] {
  const known = new Set([...declaredInputs(value), ...inputsIn(value)]);
  const missing = inputsIn(changes.reduce<unknown>(applyChange, value)).filter((id) => !known.has(id));
  const inputs = valueAt(value, ["inputs"]);
  if (missing.length === 0) return [];
  if (!Array.isArray(inputs)) return [{ path: ["inputs"], value: missing.map(toInput) }];
  return missing.map((id, index) => ({ path: ["inputs", inputs.length + index], value: toInput(id) }));
}
