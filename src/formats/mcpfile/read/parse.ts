// Reads an mcpfile of any version: text in, servers and diagnostics out.

import { dirname, resolve } from "node:path";
import type { Diagnostic } from "../../../errors/index.ts";
import type { InvokedServer } from "../../../model/index.ts";
import {
  Diagnostics,
  nodeAt,
  type ObjectNode,
  type Place,
  readText,
  type ScalarNode,
  type TextNode,
  toPointer,
} from "../../document/index.ts";
import { CONFIG, createFormat } from "../schema/file-schema.ts";
import type { McpRuntime } from "../schema/runtime-schema.ts";
import { detectVersion, type Version } from "../schema/versions.ts";
import { Budget, type Context } from "./context.ts";
import { checkUnique } from "./names.ts";
import { readServer, type ReadServer } from "./server.ts";

/** The settings of an `mcpserver.yaml`. */
export interface McpServerConfig {
  readonly runtime?: McpRuntime;
}

export interface McpfileResult {
  /** The servers without errors of their own, and without their invalid tools. */
  readonly servers: readonly InvokedServer[];
  /** The same servers, each with its position and its runtime settings. */
  readonly entries: readonly McpfileEntry[];
  /** Runtime settings of the first server, or of an `MCPServerConfig`. */
  readonly runtime?: McpRuntime;
  /** Undefined if the version is missing or unknown. */
  readonly version?: Version;
  /** Only for a file of kind `MCPServerConfig`, which has no servers. */
  readonly config?: McpServerConfig;
  readonly diagnostics: readonly Diagnostic[];
  /** The errors because of which single tools, prompts and resources are left out. */
  readonly leftOut: readonly Diagnostic[];
}

export interface McpfileEntry {
  readonly server: InvokedServer;
  readonly runtime?: McpRuntime;
  readonly place: Place;
}

export function parseMcpfile(text: string, file: string): McpfileResult {
  const { root, diagnostics: syntax } = readText(text, file);
  const nothing = { servers: [], entries: [], leftOut: [] };
  if (root === undefined) return { ...nothing, diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  if (root.kind !== "object") {
    diagnostics.add(root, root.kind === "null" ? "the file is empty" : "an mcpfile is an object with keys");
    return { ...nothing, diagnostics: diagnostics.sorted() };
  }
  const detected = detectVersion(root, diagnostics);
  if (detected === undefined) return { ...nothing, diagnostics: diagnostics.sorted() };
  const { version } = detected;
  const context: Context = {
    diagnostics,
    version,
    format: createFormat(version),
    within: createPlacer(text),
    budget: new Budget(),
    folder: dirname(resolve(file)),
  };
  if (detected.kind === "config") {
    const { runtime } = CONFIG.read(root, context) ?? {};
    return { ...nothing, version, runtime, config: { runtime }, diagnostics: diagnostics.sorted() };
  }
  const read = readServers(root, context);
  const entries = read.map(({ server, runtime, node }) => ({ server, runtime, place: placeOf(node) }));
  const named = withNames(diagnostics.sorted(), root);
  return {
    servers: read.map(({ server }) => server),
    entries,
    runtime: read[0]?.runtime,
    version,
    diagnostics: named,
    leftOut: named.filter(({ severity, path = "" }) => severity === "error" && ITEM.test(path)),
  };
}

/** An error inside one of these leaves out the tools, prompts and resources that it is about. */
const ITEM = /^(?:\/servers\/\d+)?\/(?:tools|prompts|resources|resourceTemplates|invocationBases)\/[^/]/;

function readServers(root: ObjectNode, context: Context): ReadServer[] {
  if (context.version !== "0.0.1") {
    const server = readServer(root, context);
    return server === undefined ? [] : [server];
  }
  context.format.serversFile.read(root, context);
  const list = nodeAt(root, "servers");
  if (list?.kind !== "list") return [];
  checkUnique(
    list.items.map((item) => nodeAt(item, "name")),
    "server name",
    context.diagnostics,
  );
  const seen = new Set<string>();
  return list.items.flatMap((item) => {
    const server = readServer(item, context);
    // Of two with one name the first is used.
    if (server === undefined || seen.has(server.server.info.name)) return [];
    seen.add(server.server.info.name);
    return [server];
  });
}

function placeOf({ line, column, path }: Place): Place {
  return { line, column, path };
}

/** Findings inside of a server or a tool name it. */
function withNames(diagnostics: readonly Diagnostic[], root: TextNode): Diagnostic[] {
  const names = new Map<string, { server?: string; tool?: string }>();
  const remember = (node: TextNode, key: "server" | "tool"): void => {
    const name = nodeAt(node, "name");
    if (name?.kind === "string") names.set(toPointer(node.path), { [key]: String(name.value) });
  };
  const servers = nodeAt(root, "servers");
  for (const server of servers?.kind === "list" ? servers.items : [root]) {
    remember(server, "server");
    const tools = nodeAt(server, "tools");
    for (const tool of tools?.kind === "list" ? tools.items : []) remember(tool, "tool");
  }
  return diagnostics.map((diagnostic) => {
    const steps = (diagnostic.path ?? "").split("/");
    const found = steps.map((_, index) => names.get(steps.slice(0, index + 1).join("/")));
    return { ...diagnostic, ...Object.assign({}, ...found) } as Diagnostic;
  });
}

/** Finds the position of a character of a YAML value. In folded and escaped texts, it is the position of the value. */
function createPlacer(text: string): (node: ScalarNode, offset: number) => Place {
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  let lines: string[] | undefined;

  const onOneLine = (node: ScalarNode, line: string, offset: number): Place | undefined => {
    const value = String(node.value);
    const start = node.column - 1;
    const quote = line[start] === '"' || line[start] === "'" ? 1 : 0;
    return line.startsWith(value, start + quote)
      ? { line: node.line, column: node.column + quote + offset, path: node.path }
      : undefined;
  };

  const inBlock = (node: ScalarNode, all: readonly string[], offset: number): Place | undefined => {
    const before = String(node.value).slice(0, offset).split("\n");
    const row = before.length - 1;
    const column = before[row]?.length ?? 0;
    const first = all.slice(node.line, node.line + 100).find((line) => line.trim() !== "");
    const indent = /^ */.exec(first ?? "")?.[0].length ?? 0;
    const line = all[node.line + row];
    const written = String(node.value).split("\n")[row] ?? "";
    return line?.slice(indent) === written
      ? { line: node.line + row + 1, column: indent + column + 1, path: node.path }
      : undefined;
  };

  return (node, offset) => {
    lines ??= source.split(/\r?\n/);
    const line = lines[node.line - 1] ?? "";
    const block = /^\|[-+0-9]*\s*(?:#.*)?$/.test(line.slice(node.column - 1));
    return (block ? inBlock(node, lines, offset) : onOneLine(node, line, offset)) ?? node;
  };
}
