// Configuration of a package: the value of each setting, from options, earlier values, the environment and defaults.

import { settingText } from "../../formats/package/index.ts";
import {
  escapeReferences,
  formatReference,
  isObject,
  isReferenceName,
  type JsonObject,
} from "../../model/index.ts";
import { createValidator } from "../../schema/index.ts";
import { Secret } from "../../secrets/index.ts";
import { revealHiddenText } from "./reveal.ts";
import type { Setting } from "./facts.ts";

/** The value of a setting, and how the server's config refers to it. */
export interface SettingValue {
  readonly setting: Setting;
  /** The text under `env`: a literal, or a reference to a secret. Never the value of a secret. */
  readonly text: string;
  readonly from: "option" | "file" | "kept" | "stored" | "environment" | "default" | "typed";
  /** A secret that is to be stored under its own name before the server starts. */
  readonly store?: { readonly name: string; readonly value: Secret };
}

export interface ConfigurationSources {
  /** `--config key=value`, as written. */
  readonly options: ReadonlyMap<string, string>;
  /** The content of `--config-file`. */
  readonly file: JsonObject;
  /** The variables that the server has in portolan.yaml already. */
  readonly kept: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The names of stored secrets. */
  readonly stored: ReadonlySet<string>;
  /** The package, which gives its secrets their names. */
  readonly packageName: string;
}

export interface Configuration {
  readonly values: readonly SettingValue[];
  /** Settings without a value, the required ones first. */
  readonly open: readonly Setting[];
  readonly problems: readonly string[];
}

export async function resolveConfiguration(
  settings: readonly Setting[],
  sources: ConfigurationSources,
): Promise<Configuration> {
  const problems: string[] = [];
  const known = new Set(settings.map(({ key }) => key));
  for (const key of [...sources.options.keys(), ...Object.keys(sources.file)])
    if (!known.has(key))
      problems.push(
        `The package has no setting ${JSON.stringify(key.slice(0, 100))}. Its settings: ${[...known].join(", ") || "none"}.`,
      );
  const values: SettingValue[] = [];
  const open: Setting[] = [];
  for (const setting of settings) {
    const found = await valueOf(setting, sources);
    if (found === undefined) open.push(setting);
    else if (typeof found === "string") problems.push(`${revealHiddenText(setting.key).shown} ${found}`);
    else values.push(found);
  }
  return { values, open: open.sort((a, b) => Number(b.required) - Number(a.required)), problems };
}

/** The name under which a secret of a package is stored. */
export function secretNameOf(packageName: string, key: string): string {
  const safe = (text: string): string => text.replace(/[^A-Za-z0-9_-]+/g, ".").replace(/^\.+|\.+$/g, "");
  return `package.${safe(packageName)}.${safe(key)}`.slice(0, 256);
}

/** Returns undefined without a value, and a text that continues after the setting's name if the value is wrong. */
async function valueOf(
  setting: Setting,
  { options, file, kept, env, stored, packageName }: ConfigurationSources,
): Promise<SettingValue | string | undefined> {
  const { key, variable, secret, schema } = setting;
  const written = options.get(key);
  if (written !== undefined) {
    const reference = withReferences(written);
    if (secret && (reference === undefined || !/^\$\{[^}]*\}$/.test(reference)))
      return `is a secret: write --config '${key}={{NAME}}', where NAME is a stored secret or an environment variable`;
    return reference === undefined
      ? literal(setting, await parseSetting(setting, written), "option")
      : { setting, text: reference, from: "option" };
  }
  if (Object.hasOwn(file, key)) {
    const value = file[key];
    const reference = typeof value === "string" ? withReferences(value) : undefined;
    if (reference !== undefined) return { setting, text: reference, from: "file" };
    const parsed =
      typeof value === "string" && !isTextual(schema)
        ? await parseSetting(setting, value)
        : await checkValue(setting, value);
    if (!secret || "problem" in parsed) return literal(setting, parsed, "file");
    return storedSecret(setting, packageName, toText(parsed.value, setting), "file");
  }
  if (Object.hasOwn(kept, variable) && kept[variable] !== undefined)
    return { setting, text: kept[variable], from: "kept" };
  if (secret) {
    const own = secretNameOf(packageName, key);
    if (stored.has(own))
      return { setting, text: formatReference({ kind: "secret", name: own }), from: "stored" };
    // A variable without this prefix may be about another program, and is not handed to a stranger unasked.
    if ((env[`PORTOLAN_SECRET_${variable}`] ?? "") !== "" && isReferenceName(variable))
      return { setting, text: formatReference({ kind: "secret", name: variable }), from: "environment" };
    return undefined;
  }
  return schema.default === undefined || schema.default === null
    ? undefined
    : literal(setting, await checkValue(setting, schema.default), "default");
}

type Parsed = { readonly value: unknown } | { readonly problem: string };

function literal(setting: Setting, parsed: Parsed, from: SettingValue["from"]): SettingValue | string {
  return "problem" in parsed
    ? parsed.problem
    : { setting, text: escapeReferences(toText(parsed.value, setting)), from };
}

export function storedSecret(
  setting: Setting,
  packageName: string,
  value: string,
  from: SettingValue["from"],
): SettingValue {
  const name = secretNameOf(packageName, setting.key);
  return {
    ...{ setting, from, text: formatReference({ kind: "secret", name }) },
    store: { name, value: new Secret(value) },
  };
}

/** A value that was typed at the terminal. */
export async function typedValue(setting: Setting, packageName: string, text: string): Promise<SettingValue> {
  if (setting.secret) return storedSecret(setting, packageName, text, "typed");
  const parsed = await parseSetting(setting, text);
  const value = "problem" in parsed ? text : toText(parsed.value, setting);
  return { setting, text: escapeReferences(value), from: "typed" };
}

/** Reads a text as the type of the setting. */
export async function parseSetting(setting: Setting, text: string): Promise<Parsed> {
  const { type } = setting.schema;
  if (type === "number" || type === "integer") {
    const value = Number(text);
    if (text.trim() === "" || !Number.isFinite(value)) return { problem: "must be a number" };
    return checkValue(setting, value);
  }
  if (type === "boolean") {
    if (/^(?:true|yes|1)$/i.test(text)) return checkValue(setting, true);
    if (/^(?:false|no|0)$/i.test(text)) return checkValue(setting, false);
    return { problem: "must be true or false" };
  }
  if (type === "array") return parseList(setting, text);
  return checkValue(setting, text);
}

/** A JSON array, or items between commas. */
async function parseList(setting: Setting, text: string): Promise<Parsed> {
  if (text.trim().startsWith("["))
    try {
      return await checkValue(setting, JSON.parse(text));
    } catch {
      return { problem: "must be a JSON array, or items separated by commas" };
    }
  const { items } = setting.schema;
  const type = isObject(items) ? items.type : undefined;
  const parts = text === "" ? [] : text.split(",").map((part) => part.trim());
  const isNumber = type === "number" || type === "integer";
  return checkValue(setting, isNumber ? parts.map(Number) : parts);
}

async function checkValue({ schema, secret: isSecret }: Setting, value: unknown): Promise<Parsed> {
  const { secret: _, default: __, ...rest } = schema;
  const result = (await createValidator({ ...rest })).check(value);
  // A schema that cannot be checked in time is the server's own problem.
  if (result.valid !== false) return { value };
  if (Array.isArray(schema.enum)) return { problem: `must be one of ${schema.enum.map(String).join(", ")}` };
  // The message may repeat the value.
  if (isSecret) return { problem: "is not valid" };
  return { problem: `is not valid: ${result.problems[0]?.message ?? "it does not match its schema"}` };
}

function isTextual({ type }: JsonObject): boolean {
  return type === undefined || type === "string";
}

/** How a value stands in an environment variable. */
export function toText(value: unknown, { isJsonList }: Pick<Setting, "isJsonList"> = {}): string {
  return isJsonList === true && Array.isArray(value) ? JSON.stringify(value) : settingText(value);
}

/** `{{NAME}}` as a reference. Returns undefined for a text without any. */
function withReferences(text: string): string | undefined {
  const pattern = /\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}/g;
  if (text.search(pattern) < 0) return undefined;
  let filled = "";
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    filled += escapeReferences(text.slice(at, match.index));
    filled += formatReference({ kind: "any", name: match[1] ?? "" });
    at = match.index + match[0].length;
  }
  return filled + escapeReferences(text.slice(at));
}
