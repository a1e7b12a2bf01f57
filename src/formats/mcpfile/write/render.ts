// A server as the text of an mcpfile 0.2.0, the way a person would write it.

import { isDeepStrictEqual } from "node:util";
import type {
  CliInvocation,
  CliPart,
  CliVariable,
  CliWord,
  HttpInvocation,
  Invocation,
  InvokedServer,
  JsonSchema,
  Template,
  TemplatePart,
} from "../../../model/index.ts";
import { renderYaml } from "../../document/index.ts";
import { filled, toSandboxFields, withoutUndefined } from "../../manifest/index.ts";
import type { McpServerConfig } from "../read/parse.ts";
import { BODY_METHODS } from "../schema/invocation-schema.ts";
import { KINDS } from "../schema/versions.ts";

type Fields = Readonly<Record<string, unknown>>;

const VERSION = "0.2.0";

export function renderMcpfile(server: InvokedServer): string {
  const { info, instructions, tools, prompts, resources, resourceTemplates } = server;
  return toYaml({
    kind: KINDS.tools,
    schemaVersion: VERSION,
    name: info.name,
    version: info.version,
    instructions,
    tools: filled(tools.map(({ definition, ...rest }) => primitive(definition, undefined, rest))),
    prompts: filled(
      prompts.map(({ definition, inputSchema, ...rest }) => primitive(definition, inputSchema, rest)),
    ),
    resources: filled(resources.map(({ definition, ...rest }) => primitive(definition, undefined, rest))),
    resourceTemplates: filled(
      resourceTemplates.map(({ definition, inputSchema, ...rest }) =>
        primitive(definition, inputSchema, rest),
      ),
    ),
  });
}

export function renderServerConfig({ runtime }: McpServerConfig): string {
  return toYaml({ kind: KINDS.config, schemaVersion: VERSION, runtime });
}

function primitive(
  definition: Fields,
  inputSchema: JsonSchema | undefined,
  rest: { readonly invocation: Invocation; readonly requiredScopes?: readonly string[] },
): Fields {
  const { name, title, description, ...more } = definition;
  const { invocation, requiredScopes } = rest;
  const how = invocation.kind === "http" ? { http: http(invocation) } : { cli: cli(invocation) };
  const schema = inputSchema === undefined ? {} : { inputSchema };
  return { name, title, description, ...more, ...schema, requiredScopes, invocation: how };
}

function http(invocation: HttpInvocation): Fields {
  const { method, url, headers, rest, query, bodyRoot, bodyAsArray } = invocation;
  const { ignored, allowPrivate, timeoutMs, maxResponseBytes } = invocation;
  const usual = BODY_METHODS.has(method) ? "json" : "query";
  return {
    method,
    url: renderTemplate(url),
    headers: filled(Object.fromEntries(headers.map(({ name, value }) => [name, renderTemplate(value)]))),
    query: filled(query),
    body: rest === usual ? undefined : rest,
    bodyRoot: bodyRoot && pathText(bodyRoot),
    bodyAsArray: bodyAsArray ? true : undefined,
    ignoredArguments: ignored?.map((path) => path.join(".")),
    allowPrivate: allowPrivate === true ? true : undefined,
    timeout: duration(timeoutMs),
    maxResponseBytes,
  };
}

function cli(invocation: CliInvocation): Fields {
  const { words, shell, cwd, env, appendUnused, ignored, timeoutMs, maxOutputBytes, sandbox } = invocation;
  const { variables, nameOf } = nameVariables(invocation);
  return {
    command: shell === undefined ? renderWords(words, nameOf) : renderScript(shell.script, nameOf),
    shell: shell?.program === "bash" ? true : shell?.program,
    templateVariables: filled(
      Object.fromEntries(variables.map(([key, variable]) => [key, templateVariable(key, variable)])),
    ),
    cwd: cwd && renderTemplate(cwd),
    env: env && Object.fromEntries(env.map(({ name, value }) => [name, renderTemplate(value)])),
    appendUnused: appendUnused ? true : undefined,
    ignoredArguments: ignored?.map((path) => path.join(".")),
    timeout: duration(timeoutMs),
    maxOutputBytes,
    sandbox: sandbox && toSandboxFields(sandbox),
  };
}

/** The placeholder of the format says which argument it is, or else the key; `property` only where neither does. */
function templateVariable(key: string, { path, format, omitIfFalse }: CliVariable): Fields {
  const named = format.some((word) => word.some((part) => part.kind === "input")) || key === path.join(".");
  return {
    property: named ? undefined : path.join("."),
    format: renderFormat(format),
    omitIfFalse: omitIfFalse ? true : undefined,
  };
}

function pathText(path: readonly (string | number)[]): string {
  return path
    .map((step, index) => (typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join("");
}

function duration(ms: number | undefined): string | undefined {
  if (ms === undefined) return undefined;
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`;
}

function toYaml(fields: Fields): string {
  return renderYaml(withoutUndefined(fields), { quoted: ["version", "schemaVersion"] });
}

/** Name of a `templateVariables` placeholder in the text. */
type NameVariable = (variable: CliVariable) => string;

export function renderTemplate(template: Template): string {
  return joined(template.map((part) => (part.kind === "text" ? braces(part.text) : placeholder(part))));
}

export function renderScript(parts: readonly CliPart[], name: NameVariable): string {
  return joined(parts.map((part) => (part.kind === "text" ? braces(part.text) : named(part, name))));
}

export function renderWords(words: readonly CliWord[], name: NameVariable): string {
  return words.map((word) => renderWord(word, name)).join(" ");
}

function renderFormat(format: readonly Template[]): string {
  return renderWords(
    format.map((parts) => ({ kind: "word", parts })),
    () => "",
  );
}

function renderWord(word: CliWord, name: NameVariable): string {
  if (word.kind === "variable") return `{${name(word.variable)}}`;
  const [first, ...more] = word.parts;
  // Without quotes, it would be a variable word instead of a text.
  if (first?.kind === "variable" && more.length === 0) return `"{${name(first.variable)}}"`;
  return joined(word.parts.map((part) => (part.kind === "text" ? quote(part.text) : named(part, name))));
}

function named(part: Exclude<CliPart, { kind: "text" }>, name: NameVariable): string {
  return part.kind === "variable" ? `{${name(part.variable)}}` : placeholder(part);
}

function placeholder(part: Exclude<TemplatePart, { kind: "text" }>): string {
  if (part.kind === "input") return `{${part.path.join(".")}}`;
  return part.kind === "env" ? `\${${part.name}}` : `{headers.${part.name}}`;
}

/** A `$` before a placeholder is written twice, since `${name}` is a variable. */
function joined(texts: readonly string[]): string {
  let text = "";
  for (const next of texts) text += text.endsWith("$") && /^\{(?!\{)/.test(next) ? `$${next}` : next;
  return text;
}

function braces(text: string): string {
  return text.replaceAll(/[{}]/g, "$&$&");
}

function quote(text: string): string {
  if (/^[\w/:=.,@%+-]+$/.test(text)) return text;
  return `'${braces(text).replaceAll("'", "'\\''")}'`;
}

interface NamedVariables {
  readonly nameOf: (variable: CliVariable) => string;
  readonly variables: readonly (readonly [string, CliVariable])[];
}

function nameVariables({ words, shell }: CliInvocation): NamedVariables {
  const parts: readonly CliPart[] = [
    ...words.flatMap((word) => (word.kind === "variable" ? [word] : word.parts)),
    ...(shell?.script ?? []),
  ];
  const taken = new Set(parts.flatMap((part) => (part.kind === "input" ? [part.path.join(".")] : [])));
  const variables: (readonly [string, CliVariable])[] = [];
  for (const part of parts) {
    if (part.kind !== "variable" || find(variables, part.variable) !== undefined) continue;
    const plain = part.variable.path.join(".");
    let name = plain;
    for (let count = 2; taken.has(name); count += 1) name = `${plain}_${count}`;
    taken.add(name);
    variables.push([name, part.variable]);
  }
  return { nameOf: (variable) => find(variables, variable) ?? variable.path.join("."), variables };
}

function find(variables: NamedVariables["variables"], variable: CliVariable): string | undefined {
  return variables.find(([, known]) => isDeepStrictEqual(known, variable))?.[0];
}
