// The settings of an MCPB bundle in the form that packages use: a JSON Schema, and the environment variable of each setting.

import type { JsonObject } from "../../model/index.ts";
import { variableOf } from "../package/index.ts";
import { type McpbValue, problemOf } from "./check.ts";
import { soleSetting } from "./placeholders.ts";
import type { McpbManifest } from "./read.ts";
import type { McpbSetting } from "./schema.ts";

export interface Configuration {
  /** A JSON Schema of the settings. `secret: true` marks a property as secret. */
  readonly schema: JsonObject;
  /** The environment variable of each setting. */
  readonly env: Readonly<Record<string, string>>;
}

/** Returns undefined for a bundle without settings. */
export function mcpbConfiguration({ userConfig = {}, server }: McpbManifest): Configuration | undefined {
  const names = Object.keys(userConfig);
  if (names.length === 0) return undefined;
  const properties = Object.fromEntries(
    Object.entries(userConfig).map(([name, setting]) => [name, toProperty(setting)]),
  );
  const required = names.filter((name) => userConfig[name]?.required === true);
  return {
    schema: { type: "object", properties, required, additionalProperties: false },
    env: variablesOf(names, server.mcpConfig?.env ?? {}),
  };
}

function toProperty(setting: McpbSetting): JsonObject {
  const { type, title, description, default: preset, multiple, sensitive, min, max } = setting;
  const isPath = type === "directory" || type === "file";
  const single: JsonObject = {
    type: isPath ? "string" : type,
    ...(isPath ? { format: type } : {}),
    ...(type === "number" && min !== undefined ? { minimum: min } : {}),
    ...(type === "number" && max !== undefined ? { maximum: max } : {}),
  };
  const isPreset = preset !== undefined && problemOf(preset, setting) === undefined;
  return {
    ...(multiple === true ? { type: "array", items: single } : single),
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(sensitive === true ? { secret: true } : {}),
    ...(isPreset ? { default: typeof preset === "object" ? [...preset] : preset } : {}),
  };
}

/** A setting that fills a variable of the server alone has the name of that variable. Others get a name of their own. */
function variablesOf(
  names: readonly string[],
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const variables = new Map<string, string>();
  const taken = new Set(Object.keys(env));
  for (const [variable, text] of Object.entries(env)) {
    const setting = soleSetting(text);
    if (setting !== undefined && names.includes(setting) && !variables.has(setting) && isVariable(variable))
      variables.set(setting, variable);
  }
  for (const name of names) {
    if (variables.has(name)) continue;
    const usual = variableOf(name);
    const free = isVariable(usual) ? usual : `SETTING_${usual}`;
    let variable = free;
    for (let count = 2; taken.has(variable); count += 1) variable = `${free}_${count}`;
    taken.add(variable);
    variables.set(name, variable);
  }
  return Object.fromEntries(variables);
}

function isVariable(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
}

export interface SettingsResult {
  readonly values: Readonly<Record<string, McpbValue>>;
  /** One sentence for each value that does not fit. It never contains the value. */
  readonly problems: readonly string[];
}

/** The settings as a server's environment variables contain them. A list is a JSON array, or a single value. */
export function mcpbSettings(
  manifest: McpbManifest,
  env: Readonly<Record<string, string | undefined>>,
): SettingsResult {
  const values: Record<string, McpbValue> = {};
  const problems: string[] = [];
  const variables = mcpbConfiguration(manifest)?.env ?? {};
  for (const [name, setting] of Object.entries(manifest.userConfig ?? {})) {
    const variable = variables[name] ?? variableOf(name);
    const text = env[variable];
    if (text === undefined || text === "") continue;
    const value = toValue(text, setting);
    const problem = problemOf(value, setting);
    if (problem === undefined) values[name] = value;
    else problems.push(`The setting ${name} (${variable}) ${withoutValue(problem)}.`);
  }
  return { values, problems };
}

function withoutValue(problem: string): string {
  return problem.replace(/^is -?[\d.e+-]+, but/, "is out of range:");
}

function toValue(text: string, { type, multiple }: McpbSetting): McpbValue {
  if (multiple === true) return parseList(text) ?? [text];
  if (type === "number") return text.trim() === "" ? text : Number(text);
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}

function parseList(text: string): string[] | undefined {
  if (!text.startsWith("[")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
  } catch {
    return undefined;
  }
}
