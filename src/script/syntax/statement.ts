// Statements of a script, one parser for each directive.

import { SCRIPT_LIMITS } from "../limits.ts";
import { didYouMean } from "../../errors/index.ts";
import type { Statement, ToolsImport } from "./ast.ts";
import { type Cursor, quoted } from "./cursor.ts";
import { parseBlock, parseQuoted, parseString } from "./template.ts";
import { parseCall, parseObject, parseValue } from "./value.ts";

type ParseStatement = (cursor: Cursor, at: number) => Statement;

const PACKAGE = /@[A-Za-z0-9][A-Za-z0-9._-]*\/[A-Za-z0-9][A-Za-z0-9._-]*/y;
const TOOL = /[A-Za-z_][A-Za-z0-9_-]*/y;

/** The directives that begin with `@`. */
const DIRECTIVES: Readonly<Record<string, ParseStatement>> = {
  import: parsePackageImport,
  "mcp:config": parseConfig,
  mcp: parseToolCall,
  text: parseText,
  data: parseData,
};

/** Reads the statement that begins at the cursor; undefined when the line is text. */
export function parseStatement(cursor: Cursor): Statement | undefined {
  cursor.spaces();
  const { at } = cursor;
  if (cursor.peek("@")) return parseDirective(cursor, at);
  const word = cursor.match(/\/?(?:import|var|show)(?=[ \t])/y)?.replace("/", "");
  cursor.spaces();
  const rest = cursor.text.slice(cursor.at, cursor.at + 200);
  if (word === "import" && /^(?:tools\b|\{|[^\n]*\bfrom[ \t]+mcp\b)/.test(rest))
    return parseToolsImport(cursor, at);
  if (word === "var" && rest.startsWith("@")) return parseVar(cursor, at);
  if (word === "show" && /^(?:@|"|'|\[|\{)/.test(rest)) return parseShow(cursor, at);
  cursor.at = at;
  return undefined;
}

function parseDirective(cursor: Cursor, at: number): Statement {
  cursor.at += 1;
  const word = cursor.match(/[A-Za-z]+(?::[A-Za-z]+)?(?=[ \t]|$|\n)/y) ?? "";
  const parse = Object.hasOwn(DIRECTIVES, word) ? DIRECTIVES[word] : undefined;
  if (parse !== undefined) {
    cursor.spaces();
    return parse(cursor, at);
  }
  cursor.at = at;
  const call = parseCall(cursor);
  if (call !== undefined) return { kind: "call-tool", name: undefined, call, at, nameAt: at };
  const known = Object.keys(DIRECTIVES).map((name) => `@${name}`);
  const written = cursor.found();
  return cursor.fail(
    `${written} is not a directive`,
    `${didYouMean(written.replaceAll('"', ""), known) ?? `The directives are ${known.join(", ")}.`} A line of text that begins with @ is written as \\@.`,
  );
}

function parsePackageImport(cursor: Cursor, at: number): Statement {
  cursor.expectWord(
    "mcp",
    "after @import",
    "A script can import only MCP servers. Write @import mcp name from @user/package",
  );
  cursor.spaces();
  const nameAt = cursor.at;
  cursor.take("@");
  const name = cursor.name("the server in this script");
  cursor.spaces();
  cursor.expectWord("from", "after the name", "Write @import mcp name from @user/package");
  cursor.spaces();
  const found = cursor.match(PACKAGE);
  if (found === undefined)
    cursor.fail(
      `The name of a package is expected, not ${cursor.found()}`,
      "A package is named @user/package.",
    );
  if (cursor.peek("@"))
    cursor.fail(
      "A script cannot choose the version of a package",
      `Choose it when you add the package to the workspace: portolan add ${found}@<version>`,
    );
  return { kind: "import-package", name, nameAt, package: found, at };
}

function parseConfig(cursor: Cursor, at: number): Statement {
  const serverAt = cursor.at;
  cursor.take("@");
  const server = cursor.name("an imported server");
  cursor.gap();
  const { entries } = parseObject(cursor);
  return { kind: "config", server, serverAt, settings: entries, at };
}

/** Reads `name =`; an `@` before the name is optional. */
function parseTarget(cursor: Cursor): { name: string; nameAt: number } {
  const nameAt = cursor.at;
  cursor.take("@");
  const name = cursor.name("a variable");
  cursor.spaces();
  cursor.expect("=", `after the variable ${quoted(name)}`);
  cursor.gap();
  return { name, nameAt };
}

function parseToolCall(cursor: Cursor, at: number): Statement {
  const target = parseTarget(cursor);
  const call = parseCall(cursor);
  if (call === undefined)
    cursor.fail(
      `A call is expected, not ${cursor.found()}`,
      "Write @mcp result = server.tool({ … }), or @data for a value.",
    );
  return { kind: "call-tool", ...target, call, at };
}

function parseText(cursor: Cursor, at: number): Statement {
  const target = parseTarget(cursor);
  if (cursor.peek("[[")) return { kind: "define", ...target, value: parseBlock(cursor), at };
  if (!cursor.peek('"') && !cursor.peek("'"))
    cursor.fail(
      `A text is expected, not ${cursor.found()}`,
      'Write "…" or [[ … ]]; for other values, @data.',
    );
  return { kind: "define", ...target, value: parseString(cursor), at };
}

function parseData(cursor: Cursor, at: number): Statement {
  const target = parseTarget(cursor);
  return { kind: "define", ...target, value: parseValue(cursor), at };
}

function parseVar(cursor: Cursor, at: number): Statement {
  const target = parseTarget(cursor);
  const call = parseCall(cursor);
  if (call !== undefined) return { kind: "call-tool", ...target, call, at };
  return { kind: "define", ...target, value: parseValue(cursor), at };
}

function parseShow(cursor: Cursor, at: number): Statement {
  return { kind: "show", value: parseCall(cursor) ?? parseValue(cursor), at };
}

const IMPORT_FORMS =
  'Write import tools from mcp "command" as @name, or import tools { @tool, @tool as @name } from mcp "command".';

function parseToolsImport(cursor: Cursor, at: number): Statement {
  cursor.expectWord("tools", "after import", IMPORT_FORMS);
  cursor.spaces();
  const tools = cursor.peek("{") ? parseToolNames(cursor) : [];
  const selects = tools.length > 0;
  cursor.spaces();
  cursor.expectWord("from", "before mcp", IMPORT_FORMS);
  cursor.spaces();
  cursor.expectWord("mcp", "after from", IMPORT_FORMS);
  cursor.spaces();
  const targetAt = cursor.at;
  if (!cursor.peek('"') && !cursor.peek("'"))
    cursor.fail(`A quoted command is expected, not ${cursor.found()}`, IMPORT_FORMS);
  const target = parseQuoted(cursor);
  if (target.trim() === "") cursor.fail("The command is empty", IMPORT_FORMS, targetAt);
  cursor.spaces();
  if (selects) return { kind: "import-tools", name: undefined, nameAt: at, tools, target, at, targetAt };
  cursor.expectWord("as", "after the command", IMPORT_FORMS);
  cursor.spaces();
  const nameAt = cursor.at;
  cursor.expect("@", "before the name", IMPORT_FORMS);
  const name = cursor.name("the server in this script");
  return { kind: "import-tools", name, nameAt, tools, target, at, targetAt };
}

function parseToolNames(cursor: Cursor): ToolsImport["tools"] {
  const start = cursor.at;
  cursor.at += 1;
  const tools: { tool: string; name: string; at: number }[] = [];
  for (;;) {
    cursor.gap();
    if (cursor.take("}")) break;
    const { at } = cursor;
    cursor.expect("@", "before the name of a tool", IMPORT_FORMS);
    const tool =
      cursor.match(TOOL) ??
      cursor.fail(`The name of a tool is expected, not ${cursor.found()}`, IMPORT_FORMS);
    cursor.gap();
    const name = cursor.match(/as(?=[ \t\n])/y) === undefined ? tool : parseAlias(cursor);
    if (!/^\w+$/.test(name))
      cursor.fail(`${quoted(name)} cannot be a name in a script`, `Write @${tool} as @name.`, at);
    tools.push({ tool, name, at });
    if (tools.length > SCRIPT_LIMITS.statements) cursor.fail("The list of tools is too long");
    cursor.gap();
    if (!cursor.take(",") && !cursor.peek("}"))
      cursor.fail(`A comma or } is expected in the list of tools, not ${cursor.found()}`, IMPORT_FORMS);
  }
  if (tools.length === 0) cursor.fail("The list of tools is empty", IMPORT_FORMS, start);
  return tools;
}

function parseAlias(cursor: Cursor): string {
  cursor.gap();
  cursor.expect("@", "after as", IMPORT_FORMS);
  return cursor.name("the tool in this script");
}
