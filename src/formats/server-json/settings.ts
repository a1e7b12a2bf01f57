// Inputs of a server.json as settings: texts with placeholders, and a JSON Schema of the values that the user gives.

import type { JsonObject } from "../../model/index.ts";
import type { InputValue } from "./schema.ts";

/** A text with placeholders, each of which stands for the value of a setting. */
export type Template = readonly (string | { readonly setting: string })[];

export interface Setting {
  readonly name: string;
  readonly input: InputValue;
  /** Several values may be given. */
  readonly isRepeated: boolean;
}

/** Collects settings; two inputs of one name with different meanings get different names. */
export class Settings {
  readonly #settings = new Map<string, Setting>();

  /** Inputs that say the same share one setting: a variable that is used in the URL and in a header. */
  add(wanted: string, input: InputValue, isRepeated = false): string {
    const base =
      wanted
        .replace(/^-+/, "")
        .replace(/[^A-Za-z0-9_.-]+/g, "_")
        .slice(0, 100) || "value";
    let name = base;
    for (let count = 2; ; count += 1) {
      const taken = this.#settings.get(name);
      if (taken === undefined) break;
      if (JSON.stringify(taken.input) === JSON.stringify(input)) return name;
      name = `${base}_${count}`;
    }
    this.#settings.set(name, { name, input, isRepeated });
    return name;
  }

  find(name: string): Setting | undefined {
    return this.#settings.get(name);
  }

  get all(): readonly Setting[] {
    return [...this.#settings.values()];
  }
}

export const GAP = /\{([A-Za-z_][A-Za-z0-9_.-]{0,99})\}/g;

/** Splits at `{name}`. A name that is no variable stays as it is written. */
export function toTemplate(text: string, settingOf: (name: string) => string | undefined): Template {
  const parts: (string | { setting: string })[] = [];
  let at = 0;
  for (const match of text.matchAll(GAP)) {
    const setting = settingOf(match[1] ?? "");
    if (setting === undefined) continue;
    if (match.index > at) parts.push(text.slice(at, match.index));
    parts.push({ setting });
    at = match.index + match[0].length;
  }
  if (at < text.length || parts.length === 0) parts.push(text.slice(at));
  return parts;
}

/** Returns undefined if a gap has no value: the whole text is then left out. */
export function fillTemplate(
  template: Template,
  valueOf: (setting: string) => string | undefined,
): string | undefined {
  let text = "";
  for (const part of template) {
    const value = typeof part === "string" ? part : valueOf(part.setting);
    if (value === undefined) return undefined;
    text += value;
  }
  return text;
}

/** The template of an input: its fixed value with variables, or a setting of its own. */
export function inputTemplate(
  settings: Settings,
  name: string,
  input: InputValue & { readonly variables?: Readonly<Record<string, InputValue>> },
  isRepeated = false,
): Template {
  const { variables = {}, value, ...rest } = input;
  if (value === undefined || value === "") return [{ setting: settings.add(name, plain(rest), isRepeated) }];
  return toTemplate(value, (variable) => {
    const found = Object.hasOwn(variables, variable) ? variables[variable] : undefined;
    return found === undefined ? undefined : settings.add(variable, inherit(found, input));
  });
}

/** A variable inside of a secret header is secret, and one without which a required header has no value is required. */
function inherit(variable: InputValue, parent: InputValue): InputValue {
  const isSecret = variable.isSecret ?? parent.isSecret;
  const isRequired = variable.isRequired ?? parent.isRequired;
  const { value, ...rest } = plain(variable);
  return { ...rest, isSecret, isRequired, default: variable.default ?? value };
}

function plain({
  description,
  isRequired,
  isSecret,
  format,
  value,
  default: preset,
  placeholder,
  choices,
}: InputValue): InputValue {
  return { description, isRequired, isSecret, format, value, default: preset, placeholder, choices };
}

/** The JSON Schema of the settings, as packages have it. */
export function toConfigurationSchema(settings: readonly Setting[]): JsonObject {
  const required = settings.filter(({ input }) => input.isRequired === true).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(settings.map((setting) => [setting.name, toProperty(setting)])),
    required,
    additionalProperties: false,
  };
}

function toProperty({ input, isRepeated }: Setting): JsonObject {
  const { format = "string", description, default: preset, choices, isSecret, placeholder } = input;
  const type = format === "filepath" ? "string" : format;
  const single: JsonObject = {
    type,
    ...(format === "filepath" ? { format: "file" } : {}),
    ...(choices === undefined || choices.length === 0
      ? {}
      : { enum: choices.map((choice) => typed(choice, type) ?? choice) }),
  };
  const value = preset === undefined || preset === "" ? undefined : typed(preset, type);
  return {
    ...(isRepeated ? { type: "array", items: single } : single),
    ...(description === undefined || description === "" ? {} : { description }),
    ...(isSecret === true ? { secret: true } : {}),
    ...(value === undefined ? {} : { default: isRepeated ? [value] : value }),
    ...(placeholder === undefined || placeholder === "" ? {} : { examples: [placeholder] }),
  };
}

/** Undefined for a text that is not of the type; such a default is ignored. */
function typed(text: string, type: string): string | number | boolean | undefined {
  if (type === "number")
    return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : undefined;
  return text;
}
