// `portolan list`: lists the tools, resources and prompts of a server, or the servers and tools of the workspace.

import { type Diagnostic, isPortolanError, PortolanError } from "../../errors/index.ts";
import type { CallerAccess } from "../../gateway/index.ts";
import type { OwnName, ServerHealth } from "../../hub/index.ts";
import type { PromptDefinition, ResourceDefinition, ToolDefinition } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { refuseBothSides } from "../options/usage-error.ts";
import { describeDiagnostic } from "../output/diagnostic.ts";
import { describePins } from "../output/pin-lines.ts";
import { healthLabel, replacementLine, specificHint } from "../output/server-state.ts";
import { exampleCall } from "../arguments/example-call.ts";
import { findNamed, toolNotFound } from "../target/find-named.ts";
import { type ResolvedTarget, resolveServer } from "../target/resolve.ts";
import { withTarget } from "../target/session.ts";
import { wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { requireCaller } from "../workspace/callers.ts";
import { contractsOf, findContract } from "../workspace/contracts.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { explainLeftOut } from "../workspace/left-out.ts";
import { refuseTargetOptions } from "../workspace/open.ts";
import { withServers } from "../workspace/running.ts";
import { rightsIn, type Source, sourceNote } from "../workspace/source.ts";
import { describeRefused, type RefusedTool, refusedTools } from "./refused-tools.ts";
import { describeToolPage } from "./tool-page.ts";
import { describeListing, describeTools, type Listing, type ListOptions } from "./view.ts";

const NOTHING = { resources: [], resourceTemplates: [], prompts: [] };

export async function list(cli: Cli, words: Words, options: ListOptions): Promise<number> {
  refuseBothSides(words.words, words.server, "target");
  const target = await resolveServer(words, cli);
  if (target.kind === "workspace") return listWorkspace(cli, target.source, options);
  if (options.caller !== undefined) return listServerForCaller(cli, target, options);
  const contract = target.kind === "server" && target.rest.length === 1 ? contractOf(target) : undefined;
  const [wanted, extra] = contract === undefined ? target.rest : [];
  if (extra !== undefined)
    throw new PortolanError("USAGE", `list takes one tool; unexpected argument ${JSON.stringify(extra)}.`, {
      hint: "If the words are the command of a server, put quotes around them, or write them after --.",
    });
  if (wanted !== undefined) return listTool(cli, target, { words, wanted, options });
  return withTarget(
    cli,
    target,
    async ({ connection, connectMs, gateway, request, pins }) => {
      const started = performance.now();
      const failed: Diagnostic[] = [];
      const wanted = request("listing");
      // A server that fails to list its resources or prompts still has tools to show.
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
        gateway,
        ...(contract === undefined
          ? { tools, resources, resourceTemplates, prompts }
          : { ...NOTHING, tools: tools.filter(({ name }) => name === contract) }),
        pins: pins?.(),
        rights: target.kind === "server" ? rightsIn(target.source)(target.alias) : undefined,
        timing: { connectMs, listMs },
        diagnostics: [...connection.diagnostics, ...failed],
      };
      if (cli.output.form === "json") cli.output.json(listing);
      else cli.output.print(describeListing(listing, cli.output.colors, options, cli.output.width));
      return 0;
    },
    { showsDiagnostics: true },
  );
}

interface ToolWords {
  readonly words: Words;
  readonly wanted: string;
  readonly options: ListOptions;
}

/** One tool in full, with an example call. */
async function listTool(
  cli: Cli,
  target: Exclude<ResolvedTarget, { kind: "workspace" }>,
  { words, wanted, options }: ToolWords,
): Promise<number> {
  return withTarget(cli, target, async ({ connection, label, request, otherNames, withheld }) => {
    const tools = await connection.listToolDefinitions(request("listing the tools"));
    const tool = findNamed(wanted, "tool", tools, otherNames);
    if (tool === undefined)
      throw withheld?.(wanted) ?? toolNotFound(wanted, label, tools, (name) => leftOut(target, name, cli));
    // The words before the tool lead to the same server again. There are none in `list <server>.<tool>`.
    const before = words.words.slice(0, words.words.length - 1);
    const alias = target.kind === "server" ? target.alias : undefined;
    const isAlias =
      alias !== undefined && (before.length === 0 || (before.length === 1 && before[0] === alias));
    const called = isAlias ? [`${alias}.${tool.name}`] : [...before, tool.name];
    const { output } = cli;
    const { server } = words;
    const end = server === undefined ? [] : ["--", ...server];
    if (output.form === "json")
      output.json({ server: label, tool, example: [exampleCall(tool, called), ...end].join(" ") });
    else output.print(describeToolPage({ tool, target: called, end }, output, options));
    return 0;
  });
}

function leftOut(target: ResolvedTarget, name: string, cli: Cli): string | undefined {
  return target.kind === "direct" ? undefined : explainLeftOut(target.source, name, cli);
}

/** The tool name of the contract that the user named. */
function contractOf({
  source,
  rest: [word = ""],
}: Extract<ResolvedTarget, { kind: "server" }>): string | undefined {
  const own = contractsOf(source);
  return own === undefined ? undefined : findContract(own.endpoint, word)?.name;
}

/** A caller of the gateway sees the names of the workspace, also for one server. */
function listServerForCaller(cli: Cli, target: ResolvedTarget, options: ListOptions): Promise<number> {
  if (target.kind === "server" && target.rest.length === 0)
    return listWorkspace(cli, target.source, { ...options, long: true }, [target.alias]);
  throw new PortolanError(
    "USAGE",
    "--caller works only for the whole workspace, or for one server of the workspace.",
    {
      hint: "To see which callers of the gateway may use a tool: portolan why <server>.<tool>",
    },
  );
}

interface Lists {
  readonly caller: CallerAccess | undefined;
  /** The tools that the caller may not use. */
  readonly refused: readonly RefusedTool[];
  readonly health: readonly ServerHealth[];
  readonly tools: readonly ToolDefinition[];
  readonly names: ReadonlyMap<string, OwnName>;
  readonly resources: readonly ResourceDefinition[];
  readonly prompts: readonly PromptDefinition[];
  readonly diagnostics: readonly Diagnostic[];
  readonly rightsOf: (alias: string) => string | undefined;
  /** ` -w <path>`, if a command needs it to use the same servers. */
  readonly option: string;
}

/** A first start installs packages. */
const WAIT_MS = 60_000;

async function listWorkspace(
  cli: Cli,
  source: Source,
  options: ListOptions,
  only?: readonly string[],
): Promise<number> {
  refuseTargetOptions(cli);
  const { output, io } = cli;
  const waitMs = cli.options.waitMs ?? WAIT_MS;
  return withServers(
    cli,
    source,
    { showsSource: true, waitMs, only, asGateway: options.caller !== undefined },
    async ({ workspace, gateway, callers, diagnostics }) => {
      const caller = options.caller === undefined ? undefined : requireCaller(callers, options.caller);
      const [all, resources, resourceTemplates, prompts] = await Promise.all([
        workspace.toolDefinitions(),
        workspace.resources(),
        workspace.resourceTemplates(),
        workspace.prompts(),
      ]);
      const health = workspace.health();
      const names = workspace.toolNames();
      const refused = caller === undefined ? [] : await refusedTools(caller, all, names, source);
      const definitions = all.filter(({ name }) => !refused.some((one) => one.name === name));
      if (output.form === "json") {
        const { kind, path, files } = source;
        output.json({
          gateway,
          source: { kind, path, files },
          servers: health,
          tools: definitions.map((tool) => ({ server: names.get(tool.name)?.server, ...tool })),
          ...(caller === undefined
            ? { resources, resourceTemplates, prompts }
            : { caller: caller.name, refused }),
          diagnostics: diagnostics(),
        });
        return 0;
      }
      const lists = {
        ...{
          health,
          tools: definitions,
          names,
          resources,
          prompts,
          diagnostics: diagnostics(),
          caller,
          refused,
        },
        rightsOf: rightsIn(source),
        option: optionFor(source.path, io),
      };
      output.print(describeWorkspace(lists, sourceNote(source, io), cli, options));
      return 0;
    },
  );
}

function describeWorkspace(
  { health, tools, names, resources, prompts, diagnostics, rightsOf, caller, refused, option }: Lists,
  note: string | undefined,
  { io, output: { colors, width }, options: { verbose } }: Cli,
  options: ListOptions,
): string {
  const isLong = options.long === true || options.all === true || options.schema === true;
  const sections = note === undefined ? [] : [colors.dim(wrap(note, width))];
  for (const server of health) {
    const own = tools.filter((tool) => names.get(tool.name)?.server === server.alias);
    const others = refused.filter((one) => one.server === server.alias);
    const total = own.length + others.length;
    const of = caller === undefined ? "" : `${own.length} of `;
    const whose = caller === undefined ? "" : ` for ${plainLine(caller.name, 80)}`;
    const count = `${of}${total} ${total === 1 ? "tool" : "tools"}${whose}`;
    const state = server.state === "ready" ? count : `${healthLabel(server, colors)} · ${count}`;
    const lines = [`${colors.bold(plainLine(server.alias))} ${colors.dim("·")} ${state}`];
    if (server.state === "starting")
      lines.push(colors.dim("  The server is still starting. To wait longer: portolan list --wait 5m"));
    const rights = rightsOf(server.alias);
    if (rights !== undefined) lines.push(colors.dim(`  ${rights}`));
    if (server.error !== undefined)
      lines.push(
        wrap(`  ${plainLine(server.error.message, 500)}`, width, 2),
        ...[specificHint(server.error.code, server.error.hint)]
          .filter(Boolean)
          .map((hint) => wrap(`  ${colors.cyan("hint")} ${hint}`, width, 2)),
        colors.dim(`  portolan why ${server.alias}`),
      );
    if (server.failedReplacement !== undefined)
      lines.push(
        wrap(`  ${colors.yellow(replacementLine(server.failedReplacement))}`, width, 2),
        colors.dim(`  portolan why ${server.alias}`),
      );
    for (const line of describePins(server.alias, server.pins))
      lines.push(wrap(`  ${colors.red(line)}`, width, 2));
    if (own.length > 0)
      lines.push(
        isLong
          ? describeTools(
              own.map((tool) => ({ ...tool, name: typedName(tool.name, names.get(tool.name)) })),
              colors,
              options,
              width,
            )
          : wrap(`  ${describeNames(own, names, `${plainLine(server.alias)}${option}`)}`, width),
      );
    lines.push(...describeRefused(others, options).map((line) => colors.dim(wrap(`  ${line}`, width, 2))));
    sections.push(lines.join("\n"));
  }
  if (!isLong && tools.length > 0)
    sections.push(
      colors.dim(
        wrap(
          `To see the parameters: portolan list <server>${option}, or portolan list --long${option}`,
          width,
        ),
      ),
    );
  const more = [count(resources.length, "resource"), count(prompts.length, "prompt")].filter(
    (part) => part !== "",
  );
  if (more.length > 0 && caller === undefined)
    sections.push(
      colors.dim(wrap(`Also ${more.join(" and ")}: portolan list <server>${option} shows them.`, width)),
    );
  const label = pathLabeller(io);
  const shown = diagnostics.filter(({ severity }) => verbose || severity !== "info");
  if (shown.length > 0)
    sections.push(
      shown.map((diagnostic) => describeDiagnostic(diagnostic, { colors, width, label })).join("\n"),
    );
  return sections.join("\n\n");
}

/** More names than these fill a page. */
const MAX_NAMES = 30;

/** The names of tools, as in `portolan call <server>.<name>`. */
function describeNames(
  tools: readonly ToolDefinition[],
  names: ReadonlyMap<string, OwnName>,
  server: string,
): string {
  const shown = tools.slice(0, MAX_NAMES).map(({ name }) => plainLine(names.get(name)?.name ?? name, 200));
  const more = tools.length - shown.length;
  return `${shown.join(", ")}${more === 0 ? "" : `, and ${more} more: portolan list ${server}`}`;
}

function count(number: number, word: string): string {
  return number === 0 ? "" : `${number} ${word}${number === 1 ? "" : "s"}`;
}

/** The full name, or `<server>.<name>` when the full name was too long to hold the server's own name. */
function typedName(full: string, own: OwnName | undefined): string {
  return own === undefined || full.includes(own.name) ? full : `${own.server}.${own.name}`;
}
