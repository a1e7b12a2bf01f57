// Describes a server's tools, resources and prompts: fitted to the terminal, or in full without one.

import type { ServerDescription } from "../../client/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type {
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolDefinition,
} from "../../model/index.ts";
import { namedArguments } from "../arguments/arguments.ts";
import { type PrintedSignature, printSignature, quoteKey } from "../arguments/signature-print.ts";
import type { PinHealth } from "../../hub/index.ts";
import { describePins } from "../output/pin-lines.ts";
import { diagnosticLine } from "../output/diagnostic.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import type { GatewayField } from "../workspace/running.ts";
import { cut, displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine, plainText, toJsonText } from "../terminal/safe-text.ts";

export interface ListOptions {
  /** For all servers of the workspace: shows the tools' descriptions and parameters, not only their names. */
  long?: boolean;
  /** Shows every parameter and every line of text. */
  all?: boolean;
  /** Shows the tools' JSON Schemas in full. */
  schema?: boolean;
  /** Shows only the tools that this caller of the gateway may use, and which rule refuses the others. */
  caller?: string;
}

/** The output of `list --json`. */
export interface Listing {
  readonly server: ServerDescription;
  /** The running gateway that the server belongs to. */
  readonly gateway?: GatewayField;
  readonly tools: readonly ToolDefinition[];
  readonly resources: readonly ResourceDefinition[];
  readonly resourceTemplates: readonly ResourceTemplateDefinition[];
  readonly prompts: readonly PromptDefinition[];
  /** The comparison with the lock file; absent if nothing is compared. */
  readonly pins?: PinHealth;
  /** Whether the commands of an mcpfile run in a sandbox, in words. */
  readonly rights?: string;
  readonly timing: { readonly connectMs: number; readonly listMs: number };
  readonly diagnostics: readonly Diagnostic[];
}

/** How items are shown; `room` is the terminal's width minus the indentation. */
interface View {
  readonly colors: Colors;
  readonly all: boolean;
  readonly schema: boolean;
  readonly room: number | undefined;
}

/** A resource or a prompt: the text to type, and its description. */
interface Row {
  readonly head: string;
  readonly tail: string;
  readonly notes: string;
}

const INDENT = 2;
const MAX_SIGNATURE = 4_000;
const MAX_DESCRIPTION = 120;
const MAX_INSTRUCTION_LINES = 12;

export function describeListing(
  listing: Listing,
  colors: Colors,
  options: ListOptions = {},
  width?: number,
): string {
  const { server, tools, resources, resourceTemplates, prompts, timing, diagnostics } = listing;
  const room = width === undefined ? undefined : width - INDENT;
  const view: View = { colors, all: options.all === true, schema: options.schema === true, room };
  const sections = [describeServer(server, timing, listing.rights, colors, width)];
  const add = (title: string, items: readonly string[], separator = "\n"): void => {
    if (items.length > 0)
      sections.push(
        `${colors.bold(title)} ${colors.dim(`(${items.length})`)}\n${indent(items.join(separator))}`,
      );
  };
  if (server.instructions)
    sections.push(
      `${colors.bold("Instructions")}\n${indent(describeInstructions(server.instructions, view))}`,
    );
  for (const line of describePins(server.name, listing.pins)) sections.push(wrap(colors.red(line), width, 2));
  if (tools.length === 0) sections.push(colors.dim("No tools."));
  add(
    "Tools",
    tools.map((tool) => describeTool(tool, view)),
    "\n\n",
  );
  add(
    "Resources",
    describeRows(
      resources.map((resource) => resourceRow(resource.uri, resource, view)),
      view,
    ),
  );
  add(
    "Resource templates",
    describeRows(
      resourceTemplates.map((template) => resourceRow(template.uriTemplate, template, view)),
      view,
    ),
  );
  add(
    "Prompts",
    describeRows(
      prompts.map((prompt) => promptRow(prompt, view)),
      view,
    ),
  );
  add(
    "Diagnostics",
    diagnostics.map((diagnostic) => {
      const line = wrap(diagnosticLine(diagnostic, colors.yellow), room, 2);
      const { hint = "" } = diagnostic;
      return hint === ""
        ? line
        : `${line}\n${wrap(`${colors.cyan(" hint")} ${plainLine(hint, 1_000)}`, room, 2)}`;
    }),
  );
  return sections.join("\n\n");
}

/** Describes only tools, one after another. */
export function describeTools(
  tools: readonly ToolDefinition[],
  colors: Colors,
  options: ListOptions = {},
  width?: number,
): string {
  const room = width === undefined ? undefined : width - INDENT;
  const view: View = { colors, all: options.all === true, schema: options.schema === true, room };
  return indent(tools.map((tool) => describeTool(tool, view)).join("\n\n"));
}

function describeServer(
  server: ServerDescription,
  timing: Listing["timing"],
  rights: string | undefined,
  colors: Colors,
  width: number | undefined,
): string {
  const { info } = server;
  const name = plainLine(info?.title ?? info?.name ?? server.name, 100);
  const also =
    info?.title === undefined || info.title === info.name
      ? ""
      : ` ${colors.dim(`(${plainLine(info.name, 100)})`)}`;
  const version = info?.version === undefined ? "" : ` ${plainLine(info.version, 60)}`;
  const facts = [
    ...(server.revision === "" ? [] : [`MCP ${plainLine(server.revision, 40)} (${server.era})`]),
    server.transport,
    ...(rights === undefined ? [] : [rights]),
    `connected in ${timing.connectMs} ms`,
    `listed in ${timing.listMs} ms`,
  ];
  return `${wrap(`${colors.bold(name)}${version}${also}`, width)}\n${paintLines(wrap(facts.join(" · "), width), colors.dim)}`;
}

function describeInstructions(text: string, { all, room, colors }: View): string {
  const lines = plainText(text).trim().split("\n");
  const shown = all ? lines : lines.slice(0, MAX_INSTRUCTION_LINES);
  const wrapped = wrap(shown.join("\n").trimEnd(), room);
  const left = lines.length - shown.length;
  return left === 0 ? wrapped : `${wrapped}\n${colors.dim(`… ${left} more lines (--all)`)}`;
}

function describeTool(tool: ToolDefinition, view: View): string {
  const { colors, all, schema, room } = view;
  const printed = printSignature(tool, { all });
  const lines: string[] = [];
  const comment = (text: string): void => {
    const wrapped = wrap(text, room === undefined ? undefined : room - 3);
    const marked = wrapped.split("\n").map((line) => colors.dim(`// ${line}`.trimEnd()));
    lines.push(...marked);
  };
  const description = describe(tool.description ?? tool.title, view);
  if (description !== "") comment(description);
  lines.push(describeSignature(printed, view));
  if (printed.hidden.length > 0) {
    const names = printed.hidden.slice(0, 20).map(quoteKey).join(", ");
    const more = printed.hidden.length > 20 ? ", …" : "";
    comment(`optional (${printed.hidden.length}): ${plainLine(names, 500)}${more}`);
  }
  if (schema) {
    lines.push(`${colors.dim("// inputSchema")}\n${toJsonText(tool.inputSchema, 2)}`);
    if (tool.outputSchema !== undefined)
      lines.push(`${colors.dim("// outputSchema")}\n${toJsonText(tool.outputSchema, 2)}`);
  }
  return lines.join("\n");
}

/** Prints the signature in one line if it fits, else with a line for each parameter; both can be pasted back. */
function describeSignature({ signature, name, parameters, result }: PrintedSignature, view: View): string {
  const { colors, room } = view;
  const fits = room === undefined || parameters.length === 0 || displayWidth(signature) <= room;
  const rest = fits
    ? signature.slice("function ".length + name.length)
    : `(\n${parameters.map((parameter) => `  ${parameter},\n`).join("")}): ${result}`;
  const shown = rest.length > MAX_SIGNATURE ? `${rest.slice(0, MAX_SIGNATURE)}…` : rest;
  return wrap(`${colors.dim("function")} ${colors.cyan(name)}${shown}`, room, 2);
}

function promptRow(prompt: PromptDefinition, view: View): Row {
  const shown = namedArguments(prompt)
    .map((argument) => `${quoteKey(argument.name)}${argument.required === true ? "" : "?"}`)
    .join(", ");
  return {
    head: plainLine(prompt.name, 200),
    tail: `(${plainLine(shown, 1_000)})`,
    notes: describe(prompt.description ?? prompt.title, view),
  };
}

function resourceRow(
  address: string,
  item: ResourceDefinition | ResourceTemplateDefinition,
  view: View,
): Row {
  const head = plainLine(address, 1_000);
  const name = plainLine(item.title ?? item.name, 100);
  const notes = [
    name === head || head.endsWith(`/${name}`) ? "" : name,
    typeof item.mimeType === "string" ? plainLine(item.mimeType, 80) : "",
    describe(item.description, view),
  ];
  return { head, tail: "", notes: notes.filter((part) => part !== "").join(" · ") };
}

/**
 * Two columns, or the notes below when the first column is too wide or --all is given.
 * The text to type is never truncated; the notes are.
 */
function describeRows(rows: readonly Row[], { colors, all, room }: View): string[] {
  const widths = rows.map(({ head, tail }) => displayWidth(head) + displayWidth(tail));
  const limit = Math.floor((room ?? 100) * 0.6);
  const column = Math.max(0, ...widths.filter((width) => room !== undefined || width <= limit));
  const isStacked = all || (room !== undefined && column > limit);
  return rows.map(({ head, tail, notes }, index) => {
    const shown = `${colors.cyan(head)}${tail}`;
    if (notes === "") return shown;
    if (isStacked) {
      const text = all ? wrap(notes, room === undefined ? room : room - 2) : cut(notes, (room ?? 0) - 2);
      return `${shown}\n${paintLines(indent(text), colors.dim)}`;
    }
    const gap = " ".repeat(Math.max(0, column - (widths[index] ?? 0)) + 2);
    return `${shown}${gap}${colors.dim(room === undefined ? notes : cut(notes, room - column - 2))}`;
  });
}

/** The first paragraph in one line, or the whole text with --all. */
function describe(text: unknown, { all, room }: View): string {
  if (typeof text !== "string") return "";
  if (all) return plainText(text).trim();
  const line = plainLine(text.trim().split(/\n\s*\n/)[0] ?? "", MAX_DESCRIPTION);
  // When the terminal is almost wide enough, a truncated line reads better than a second line with one word.
  const oneLine = room !== undefined && room >= 90 && room - 3 < MAX_DESCRIPTION;
  return oneLine ? cut(line, room - 3) : line;
}

function paintLines(text: string, paint: Paint): string {
  return text.replace(/^.+$/gm, (line) => paint(line));
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, " ".repeat(INDENT));
}
