// A server as the text of an mcpfile 0.2.0, the way a person would write it.

import { Document, isScalar, visit } from "yaml";
import type {
  CliInvocation,
  CliVariable,
  HttpInvocation,
  Invocation,
  InvokedServer,
  JsonSchema,
} from "../../../model/index.ts";
import { toSandboxFields } from "../../manifest/index.ts";
import type { McpServerConfig } from "../read/parse.ts";
import { nameVariables } from "./render-variables.ts";
import { renderFormat, renderScript, renderTemplate, renderWords } from "./render-template.ts";
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

/** The gap of the format says which argument it is, or else the key; `property` only where neither does. */
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

function filled<T extends object>(value: T): T | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}

function toYaml(fields: Fields): string {
  const document = new Document(withoutUndefined(fields), { schema: "core", aliasDuplicateObjects: false });
  visit(document, {
    // What the core schema of YAML would read as something else stands in quotes by itself; a version does so to be safe.
    Pair: (_, { key, value }) => {
      if (isScalar(key) && /^(?:version|schemaVersion)$/.test(String(key.value)) && isScalar(value))
        value.type = "QUOTE_DOUBLE";
    },
  });
  return document.toString({ lineWidth: 0 });
}

function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(entries.map(([key, field]) => [key, withoutUndefined(field)]));
}
