// `portolan list`: everything that a server offers.

import { type Diagnostic, isPortolanError, PortolanError } from "../../errors/index.ts";
import type {
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolDefinition,
} from "../../model/index.ts";
import type { ServerDescription } from "../../tools/index.ts";
import { namedArguments } from "../arguments.ts";
import type { Colors } from "../colors.ts";
import { type Cli, describeDiagnostic, takeTarget, withServer, type Words } from "../connect.ts";
import { plainLine, plainText, toJsonText } from "../plain-text.ts";
import { printSignature, quoteKey } from "../signature-print.ts";

export interface ListOptions {
  /** Every parameter, every line of text. */
  all?: boolean;
  /** The tools' JSON Schemas in full. */
  schema?: boolean;
}

/** What `list --json` prints. */
export interface Listing {
  readonly server: ServerDescription;
  readonly tools: readonly ToolDefinition[];
  readonly resources: readonly ResourceDefinition[];
  readonly resourceTemplates: readonly ResourceTemplateDefinition[];
  readonly prompts: readonly PromptDefinition[];
  readonly timing: { readonly connectMs: number; readonly listMs: number };
  readonly diagnostics: readonly Diagnostic[];
}

export async function list(cli: Cli, words: Words, options: ListOptions): Promise<number> {
  const { target, rest } = takeTarget(words, cli);
  if (rest.length > 0) {
    throw new PortolanError("USAGE", `list takes one target; ${JSON.stringify(rest[0])} is too much.`, {
      hint: "Put quotes around a command, or write it after --.",
    });
  }
  return withServer(
    cli,
    target,
    async ({ connection, connectMs, request }) => {
      const started = performance.now();
      const failed: Diagnostic[] = [];
      const wanted = request("listing");
      // A server that fails in one of the lesser lists still has tools to show.
      const lesser = async <T>(what: string, items: Promise<T[]>): Promise<T[]> =>
        items.catch((thrown: unknown) => {
          if (!isPortolanError(thrown) || wanted.signal.aborted) throw thrown;
          failed.push({
            code: thrown.code,
            severity: "warning",
            message: `the ${what} cannot be listed: ${thrown.message}`,
          });
          return [];
        });
      const [tools, resources, resourceTemplates, prompts] = await Promise.all([
        connection.listToolDefinitions(wanted),
        lesser("resources", connection.listResources(wanted)),
        lesser("resource templates", connection.listResourceTemplates(wanted)),
        lesser("prompts", connection.listPrompts(wanted)),
      ]);
      const listMs = Math.round(performance.now() - started);
      const { server } = connection;
      const listing: Listing = {
        server,
        tools,
        resources,
        resourceTemplates,
        prompts,
        timing: { connectMs, listMs },
        diagnostics: [...connection.diagnostics, ...failed],
      };
      if (cli.output.form === "json") cli.output.json(listing);
      else cli.output.print(describeListing(listing, cli.output.colors, options));
      return 0;
    },
    { showsDiagnostics: true },
  );
}

const MAX_SIGNATURE = 4_000;
const MAX_INSTRUCTION_LINES = 12;

export function describeListing(listing: Listing, colors: Colors, options: ListOptions = {}): string {
  const { server, tools, resources, resourceTemplates, prompts, timing, diagnostics } = listing;
  const sections = [describeServer(server, timing, colors)];
  const add = <T>(
    title: string,
    items: readonly T[],
    describe: (item: T) => string,
    separator = "\n",
  ): void => {
    if (items.length > 0)
      sections.push(
        `${colors.bold(title)} ${colors.dim(`(${items.length})`)}\n${indent(items.map(describe).join(separator))}`,
      );
  };
  if (server.instructions)
    sections.push(
      `${colors.bold("Instructions")}\n${indent(describeInstructions(server.instructions, colors, options))}`,
    );
  if (tools.length === 0) sections.push(colors.dim("No tools."));
  add("Tools", tools, (tool) => describeTool(tool, colors, options), "\n\n");
  add("Resources", resources, (resource) => describeItem(resource.uri, resource, colors, options));
  add("Resource templates", resourceTemplates, (template) =>
    describeItem(template.uriTemplate, template, colors, options),
  );
  add("Prompts", prompts, (prompt) => describePrompt(prompt, colors, options));
  add("Diagnostics", diagnostics, (diagnostic) => describeDiagnostic(diagnostic, colors.yellow));
  return sections.join("\n\n");
}

function describeServer(server: ServerDescription, timing: Listing["timing"], colors: Colors): string {
  const { info } = server;
  const name = plainLine(info?.title ?? info?.name ?? server.name, 100);
  const also =
    info?.title === undefined || info.title === info.name
      ? ""
      : ` ${colors.dim(`(${plainLine(info.name, 100)})`)}`;
  const version = info?.version === undefined ? "" : ` ${plainLine(info.version, 60)}`;
  const facts = [
    `MCP ${plainLine(server.revision, 40)} (${server.era})`,
    server.transport,
    `connected in ${timing.connectMs} ms`,
    `listed in ${timing.listMs} ms`,
  ];
  return `${colors.bold(name)}${version}${also}\n${colors.dim(facts.join(" · "))}`;
}

function describeInstructions(text: string, colors: Colors, options: ListOptions): string {
  const lines = plainText(text).trim().split("\n");
  if (options.all === true || lines.length <= MAX_INSTRUCTION_LINES) return lines.join("\n");
  return [
    ...lines.slice(0, MAX_INSTRUCTION_LINES),
    colors.dim(`… ${lines.length - MAX_INSTRUCTION_LINES} more lines (--all)`),
  ].join("\n");
}

function describeTool(tool: ToolDefinition, colors: Colors, options: ListOptions): string {
  const { signature, hidden } = printSignature(tool, options);
  const lines: string[] = [];
  const description = describe(tool.description ?? tool.title, options);
  if (description !== "")
    lines.push(
      colors.dim(
        description
          .split("\n")
          .map((line) => `// ${line}`)
          .join("\n"),
      ),
    );
  const shown = signature.length > MAX_SIGNATURE ? `${signature.slice(0, MAX_SIGNATURE)}…` : signature;
  const name = /^function (?:[^("]+|"[^"]*")/.exec(shown)?.[0] ?? "function ";
  lines.push(`${colors.dim("function ")}${colors.cyan(name.slice(9))}${shown.slice(name.length)}`);
  if (hidden.length > 0) {
    const names = hidden.slice(0, 20).map(quoteKey).join(", ") + (hidden.length > 20 ? ", …" : "");
    lines.push(colors.dim(`// optional (${hidden.length}): ${plainLine(names, 500)}`));
  }
  if (options.schema === true) {
    lines.push(`${colors.dim("// inputSchema")}\n${toJsonText(tool.inputSchema, 2)}`);
    if (tool.outputSchema !== undefined)
      lines.push(`${colors.dim("// outputSchema")}\n${toJsonText(tool.outputSchema, 2)}`);
  }
  return lines.join("\n");
}

function describePrompt(prompt: PromptDefinition, colors: Colors, options: ListOptions): string {
  const shown = namedArguments(prompt)
    .map((argument) => `${quoteKey(argument.name)}${argument.required === true ? "" : "?"}`)
    .join(", ");
  const description = describe(prompt.description ?? prompt.title, options);
  return `${colors.cyan(plainLine(prompt.name, 200))}(${plainLine(shown, 1_000)})${description === "" ? "" : `  ${colors.dim(description)}`}`;
}

function describeItem(
  address: string,
  item: ResourceDefinition | ResourceTemplateDefinition,
  colors: Colors,
  options: ListOptions,
): string {
  const name = plainLine(item.title ?? item.name, 100);
  const description = describe(item.description, options);
  const notes = [
    name,
    typeof item.mimeType === "string" ? plainLine(item.mimeType, 80) : "",
    description,
  ].filter((part) => part !== "");
  return `${colors.cyan(plainLine(address, 1_000))}${notes.length === 0 ? "" : `  ${colors.dim(notes.join(" · "))}`}`;
}

function describe(text: unknown, options: ListOptions): string {
  if (typeof text !== "string") return "";
  return options.all === true
    ? plainText(text).trim()
    : plainLine(text.trim().split(/\n\s*\n/)[0] ?? "", 120);
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
