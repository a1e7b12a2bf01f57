// Reads a client's file: servers and diagnostics.

import type { Diagnostic } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { createLocator, toPointer } from "../document/index.ts";
import { type ReadContext, readContext } from "./known/context.ts";
import {
  CLIENT_FORMATS,
  CLIENT_TITLES,
  clientOfPlace,
  clientOfValue,
  formatOfPlace,
} from "./known/detect.ts";
import { findLooseness, openDocument, type TextDocument } from "../document/edit/index.ts";
import { kindOf, type ReportAt, toLabel } from "./entries/entry-reader.ts";
import { type Field, findFields } from "./entries/fields.ts";
import { checkInputs } from "./references/inputs.ts";
import { findPlainSecrets } from "./entries/plain-secrets.ts";
import type { EntryServer } from "./entries/read-entry.ts";
import { type FoundEntry, readEntries } from "./entries/read-servers.ts";
import type { ClientContext, ClientFile, ClientId, ClientServer, Path } from "./types.ts";

/** Clients that ignore a file with comments or trailing commas. */
const STRICT_CLIENTS: ReadonlySet<ClientId> = new Set(["claude-code", "claude-desktop"]);

/**
 * Reads one file. Returns undefined if neither its path nor its content is that of a client's file.
 * Never throws; errors are diagnostics with line and column.
 */
export function parseClientFile(
  text: string,
  file: string,
  client?: ClientId,
  context: ClientContext = {},
): ClientFile | undefined {
  const known = client ?? clientOfPlace(file);
  const format = known === undefined ? formatOfPlace(file) : CLIENT_FORMATS[known];
  if (format === undefined) return undefined;
  if (text.trim() === "")
    return known === undefined ? undefined : { client: known, servers: [], diagnostics: [] };
  const document = openDocument(format, text);
  const id = known ?? (document.problems.length === 0 ? clientOfValue(format, document.value) : undefined);
  return id === undefined ? undefined : read(document, id, file, context);
}

function read(document: TextDocument, client: ClientId, file: string, given: ClientContext): ClientFile {
  const { text, value } = document;
  const position = createLocator(text);
  const diagnostics: Diagnostic[] = [];
  const reportOffset = (offset: number, diagnostic: Omit<Diagnostic, "code">): void => {
    diagnostics.push({ code: "FILE_INVALID", ...diagnostic, file, ...position(offset) });
  };
  const report: ReportAt = (path, diagnostic) => {
    reportOffset(document.offsetOf(path), { ...diagnostic, path: toPointer(path) });
  };
  for (const { offset, message } of document.problems)
    reportOffset(offset, {
      severity: "error",
      message,
      hint: "Portolan does not read the servers after this place.",
    });
  if (STRICT_CLIENTS.has(client) && document.problems.length === 0) {
    const offset = findLooseness(text);
    if (offset !== undefined)
      reportOffset(offset, {
        severity: "warning",
        message: `${CLIENT_TITLES[client]} reads strict JSON and ignores a file with comments or trailing commas`,
        hint: "Remove them.",
      });
  }
  if (value !== undefined && value !== null && !isObject(value))
    report([], { severity: "error", message: `the file is ${kindOf(value)}`, hint: "Make it an object." });
  const context = readContext(file, given);
  const entries = chooseEntries(readEntries(document, client, context, report), context, report);
  if (client === "vscode") checkInputs(value, entries, report);
  const servers = entries.map(({ alias, name, path, container: { project }, server }): ClientServer => ({
    alias,
    name,
    ...(project === undefined ? {} : { project }),
    origin: { file, ...position(document.offsetOf(path)), format: client },
    ...server,
  }));
  for (const entry of entries) reportSecrets(entry, report);
  diagnostics.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  return { client, servers, diagnostics };
}

type WholeEntry = FoundEntry & { readonly server: EntryServer };

/** One entry per alias. The project's entry takes precedence over the user's, as in Claude Code; the client's own key over any other. */
function chooseEntries(entries: readonly FoundEntry[], context: ReadContext, report: ReportAt): WholeEntry[] {
  const best = new Map<string, WholeEntry>();
  const whole = entries.filter((entry): entry is WholeEntry => entry.server !== undefined);
  for (const entry of [...whole].sort((a, b) => rank(a) - rank(b))) {
    const key =
      context.projects === "all" ? JSON.stringify([entry.container.project, entry.alias]) : entry.alias;
    const winner = best.get(key);
    if (winner === undefined) best.set(key, entry);
    else if (winner.container !== entry.container)
      report(entry.path, {
        severity: "info",
        server: entry.alias,
        message: sameAlias(entry, winner),
      });
  }
  const chosen = new Set(best.values());
  return whole.filter((entry) => chosen.has(entry));
}

function sameAlias({ name, alias }: WholeEntry, winner: WholeEntry): string {
  const place = toLabel(winner.container.path);
  return name === winner.name
    ? `${JSON.stringify(name)} is also declared under ${place}. Portolan uses that declaration, and ignores this one`
    : `${JSON.stringify(name)} has the same alias ${alias} as ${JSON.stringify(winner.name)} under ${place}. Portolan uses the server under ${place}`;
}

function rank({ container: { project, own } }: FoundEntry): number {
  return project === undefined ? (own ? 1 : 2) : 0;
}

function reportSecrets({ alias, path, raw, server }: WholeEntry, report: ReportAt): void {
  const { keys } = findFields(raw);
  const command = raw[keys.get("command") ?? ""];
  const inCommand = Array.isArray(command) ? command.length - 1 : 0;
  for (const { name, at } of findPlainSecrets(server)) {
    const [field, step] = at;
    const place: Path =
      field === "args" && typeof step === "number"
        ? step < inCommand
          ? [keys.get("command") ?? "command", step + 1]
          : [keys.get("args") ?? "args", step - inCommand]
        : [keys.get(field as Field) ?? field ?? "", ...at.slice(1)];
    report([...path, ...place], {
      severity: "info",
      server: alias,
      message: `${name} looks like a secret that is written out in the file`,
      literalSecret: name,
      hint: "Store the value: portolan secrets set NAME. Then write the server into portolan.yaml, with ${NAME} in place of the value. For servers of MCP clients, portolan import --write --secrets vault does both, and leaves this file unchanged.",
    });
  }
}
