// Describes the result of `portolan import` for a terminal.

import type { Diagnostic } from "../../errors/index.ts";
import { type ClientId, CLIENTS, type Computer } from "../../formats/clients/index.ts";
import { clientTitle } from "../arguments/client-names.ts";
import type { Colors } from "../terminal/colors.ts";
import { count, cut, displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { pathLabel } from "../workspace/folder.ts";
import type { CopyResult } from "./copy.ts";
import type { StoredSecrets } from "./secrets.ts";
import type { ImportListing, ListedFile, ListedServer } from "./import.ts";

interface View {
  readonly colors: Colors;
  readonly width: number | undefined;
  readonly computer: Computer;
}

interface ImportView extends View {
  /** The clients that the user named; undefined means all of them. */
  readonly only: readonly ClientId[] | undefined;
  /** True when the output ends with the command that copies the servers. */
  readonly offer: boolean;
  /** The option of the command for a workspace in another folder, with a space before it. */
  readonly inWorkspace: string;
}

export function describeImport({ files }: ImportListing, view: ImportView): string {
  if (files.length === 0) return describeNothing(view);
  const columns = columnsOf(files.flatMap(({ servers }) => servers));
  const sections = files.map((file) => describeFile(file, columns, view));
  const servers = files.reduce((sum, { servers }) => sum + servers.length, 0);
  const total = `${count(servers, "server")} in ${count(files.length, "file")}.`;
  const named = (view.only ?? []).map((client) => `${client} `).join("");
  const offer =
    view.offer && servers > 0
      ? ` To copy them into this workspace: portolan import ${named}--write${view.inWorkspace}`
      : "";
  return [...sections, wrap(`${total}${offer}`, view.width)].join("\n\n");
}

export function describeCopy({ file, backup, added, skipped, stored }: CopyResult, view: View): string {
  const { colors, width } = view;
  const lines: string[] = [];
  const alias = (text: string): string => colors.cyan(plainLine(text, 100));
  const from = (path: string): string => colors.dim(`from ${pathLabel(path, view.computer)}`);
  for (const server of added) {
    lines.push(`${colors.green("+")} ${alias(server.alias)} ${from(server.from)}`);
    for (const note of server.notes)
      lines.push(wrapIn(`${colors.yellow("warning")} ${plainLine(note, 500)}`, 4, width));
  }
  for (const server of skipped) {
    const mark = server.reason === "there" ? colors.dim("=") : colors.yellow("!");
    lines.push(
      wrap(
        `${mark} ${alias(server.alias)} ${from(server.from)}: ${plainLine(server.message, 500)}`,
        width,
        4,
      ),
    );
  }
  const path = pathLabel(file, view.computer);
  lines.push(
    wrap(
      added.length === 0
        ? `No server was added to ${path}.`
        : `${count(added.length, "server")} added to ${path}.`,
      width,
    ),
  );
  if (stored !== undefined) lines.push(wrap(describeStored(stored), width));
  if (backup !== undefined) lines.push(`Backup: ${pathLabel(backup, view.computer)}`);
  if (added.some(({ notes }) => notes.some((note) => note.includes("secret"))))
    lines.push(
      wrap(
        "Store secrets outside of this file, and refer to them as ${NAME}: portolan secrets set NAME. Until then, do not share this file.",
        width,
      ),
    );
  return lines.join("\n");
}

/** Names only; values are never shown. */
export function describeStored({ names, source }: StoredSecrets): string {
  const list = names.join(", ");
  const verb = names.length === 1 ? "is" : "are";
  if (source === undefined)
    return `${list} ${verb} stored already. portolan.yaml contains only the ${names.length === 1 ? "name" : "names"}.`;
  return `${list} ${verb} now in the ${source}. portolan.yaml contains only the ${names.length === 1 ? "name" : "names"}.`;
}

interface Columns {
  readonly alias: number;
  readonly transport: number;
}

/** All files share the column widths; a very long alias does not widen its column. */
function columnsOf(servers: readonly ListedServer[]): Columns {
  const widest = (texts: readonly string[], limit: number): number =>
    Math.max(0, ...texts.map((text) => displayWidth(text)).filter((width) => width <= limit));
  return {
    alias: widest(
      servers.map(({ alias }) => plainLine(alias, 100)),
      24,
    ),
    transport: widest(
      servers.map(({ transport }) => transport),
      20,
    ),
  };
}

function describeFile(file: ListedFile, columns: Columns, view: ImportView): string {
  const { colors, width } = view;
  const head = `${colors.bold(clientTitle(file.client))} ${colors.dim(`(${file.scope})`)} ${pathLabel(file.file, view.computer)}`;
  const servers = file.servers.map((server) => `  ${describeServer(server, columns, view)}`);
  if (servers.length === 0) servers.push(colors.dim("  no servers"));
  // After copying, the notes on the copied servers include the secrets.
  const shown = file.diagnostics.filter(({ severity }) => view.offer || severity !== "info");
  const diagnostics = shown.map((diagnostic, index) =>
    diagnosticText(diagnostic, diagnostic.hint !== shown[index + 1]?.hint, view),
  );
  return [wrap(head, width, 2), ...servers, ...diagnostics].join("\n");
}

function describeServer(server: ListedServer, columns: Columns, { colors, width }: View): string {
  const alias = plainLine(server.alias, 100);
  const gap = " ".repeat(Math.max(0, columns.alias - displayWidth(alias)));
  const transport = server.transport.padEnd(columns.transport);
  const note = server.enabled ? "" : " (off)";
  const used = 2 + displayWidth(alias) + gap.length + 2 + transport.length + 2 + note.length;
  const runs = plainLine(server.runs, 1_000);
  const shown = width === undefined ? runs : cut(runs, Math.max(20, width - used));
  return `${colors.cyan(alias)}${gap}  ${colors.dim(transport)}  ${shown}${colors.yellow(note)}`;
}

/** When several diagnostics in a row have the same hint, only the last one shows it. */
function diagnosticText(diagnostic: Diagnostic, advise: boolean, { colors, width }: View): string {
  const { severity, line, column, server, message, hint } = diagnostic;
  const label = { error: colors.red("error"), warning: colors.yellow("warning"), info: colors.dim("note") }[
    severity
  ];
  const place = line === undefined ? "" : `${line}:${column ?? 1} `;
  const who = server === undefined || message.includes(server) ? "" : `${plainLine(server, 80)}: `;
  const text = plainLine(message, 500).replace(/\.$/, "");
  const advice = hint === undefined || !advise ? "" : ` ${plainLine(hint, 300)}`;
  return wrapIn(`${label} ${place}${who}${text}.${colors.dim(advice)}`, 2, width);
}

function describeNothing({ only, computer, width }: ImportView): string {
  const clients = only ?? (Object.keys(CLIENTS) as ClientId[]);
  const places = clients.flatMap((id) => CLIENTS[id].places(computer).map((place) => ({ id, ...place })));
  const lines = places.map(({ id, file }) => `  ${clientTitle(id)}  ${pathLabel(file, computer)}`);
  const above = places.some(({ scope }) => scope === "project")
    ? ", and for the files of a project also in the folders above this one, up to the root of the repository"
    : "";
  return [
    wrap(`No config file of an MCP client was found. Portolan looked in these places${above}:`, width),
    ...lines,
  ].join("\n");
}

function wrapIn(text: string, indent: number, width: number | undefined): string {
  const wrapped = wrap(text, width === undefined ? undefined : width - indent, 2);
  return wrapped.replace(/^(?=.)/gm, " ".repeat(indent));
}
