// Command words, variables, URL and headers of a server.json's option with the values of its settings: a pure function.

import { isObject } from "../../model/index.ts";
import type { ArgumentTemplate, InstallableOption } from "./options.ts";
import { fillTemplate, type Template } from "./settings.ts";

export interface FilledOption {
  readonly args: readonly string[];
  readonly runtimeArgs: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly url?: string;
  /** Required settings without a value, with the environment variable of each. */
  readonly missing: readonly { readonly setting: string; readonly variable: string }[];
}

/**
 * `env` contains the settings, each under the environment variable that `configuration.env` names. A list is a JSON array,
 * or a single value. A word, variable or header with a setting that has neither value nor default is left out.
 */
export function fillOption(
  option: InstallableOption,
  env: Readonly<Record<string, string | undefined>>,
): FilledOption {
  const { schema, env: variables = {} } = option.configuration ?? {};
  const properties = isObject(schema?.["properties"]) ? schema["properties"] : {};
  const valuesOf = (setting: string): readonly string[] => {
    const variable = Object.hasOwn(variables, setting) ? (variables[setting] ?? "") : "";
    const given = env[variable];
    const property = Object.hasOwn(properties, setting) ? properties[setting] : undefined;
    const { type, default: preset } = isObject(property) ? property : {};
    if (given !== undefined && given !== "") return type === "array" ? toList(given) : [given];
    if (preset === undefined) return [];
    return (Array.isArray(preset) ? preset : [preset]).map(String);
  };
  const fill = (template: Template): string | undefined =>
    fillTemplate(template, (setting) => {
      const values = valuesOf(setting);
      return values.length === 0 ? undefined : values.join(",");
    });
  const required = Array.isArray(schema?.["required"]) ? schema["required"] : [];
  const missing = required.flatMap((name) =>
    typeof name === "string" && valuesOf(name).length === 0
      ? [{ setting: name, variable: variables[name] ?? name }]
      : [],
  );
  const words = (templates: readonly ArgumentTemplate[]): string[] =>
    templates.flatMap((template) => fillArgument(template, valuesOf, fill));
  return {
    args: option.kind === "remote" ? [] : words(option.args),
    runtimeArgs: option.kind === "remote" ? [] : words(option.runtimeArgs),
    env: option.kind === "remote" ? {} : fillAll(option.env, fill),
    headers: fillAll(option.headers, fill),
    url: option.url === undefined ? undefined : fill(option.url),
    missing,
  };
}

function fillArgument(
  { name, value, flag }: ArgumentTemplate,
  valuesOf: (setting: string) => readonly string[],
  fill: (template: Template) => string | undefined,
): string[] {
  const named = (word: string): string[] => (name === undefined ? [word] : [name, word]);
  if (flag !== undefined) return name !== undefined && valuesOf(flag)[0] === "true" ? [name] : [];
  if (value === undefined) return name === undefined ? [] : [name];
  const [only] = value;
  if (value.length === 1 && typeof only === "object") return valuesOf(only.setting).flatMap(named);
  const filled = fill(value);
  return filled === undefined ? [] : named(filled);
}

function fillAll(
  templates: Readonly<Record<string, Template>>,
  fill: (template: Template) => string | undefined,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(templates).flatMap(([name, template]): [string, string][] => {
      const filled = fill(template);
      return filled === undefined ? [] : [[name, filled]];
    }),
  );
}

function toList(text: string): string[] {
  if (!text.startsWith("[")) return [text];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((item) => typeof item === "string") ? value : [text];
  } catch {
    return [text];
  }
}
