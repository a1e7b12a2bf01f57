// Fields of an elicitation form: one per property of its schema, each with the check of its answer.

import { isObject, type JsonObject, type JsonSchema } from "../../model/index.ts";
import { plainLine } from "../terminal/safe-text.ts";

interface FieldBase {
  readonly key: string;
  /** The text of the prompt, safe to show. */
  readonly label: string;
  readonly required: boolean;
}

export interface Choice {
  readonly value: string;
  readonly label: string;
}

export type Field =
  | (FieldBase & {
      readonly kind: "text";
      readonly initial: string;
      readonly check: (text: string) => string | undefined;
      readonly read: (text: string) => unknown;
    })
  | (FieldBase & { readonly kind: "boolean"; readonly initial: boolean | undefined })
  | (FieldBase & {
      readonly kind: "choice";
      readonly choices: readonly Choice[];
      readonly initial: string | undefined;
    })
  | (FieldBase & {
      readonly kind: "choices";
      readonly choices: readonly Choice[];
      readonly initial: readonly string[];
      readonly min: number;
      readonly max: number;
    });

export const MAX_FIELDS = 100;
const EMAIL = /^[^\s@]+@[^\s@]+$/;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;

/** The fields of a form; undefined when it has more fields than a form should have. */
export function toFields(schema: JsonSchema | undefined): Field[] | undefined {
  const properties = isObject(schema?.["properties"]) ? Object.entries(schema["properties"]) : [];
  if (properties.length > MAX_FIELDS) return undefined;
  const required = new Set(Array.isArray(schema?.["required"]) ? schema["required"] : []);
  return properties.map(([key, property]) =>
    toField(key, isObject(property) ? property : {}, required.has(key)),
  );
}

function toField(key: string, schema: JsonObject, required: boolean): Field {
  const title = text(schema["title"]);
  const description = text(schema["description"]);
  const name = plainLine(title ?? key, 80);
  const limits = describeLimits(schema);
  const label = `${name}${limits === "" ? "" : ` (${limits})`}${required ? "" : " (optional)"}${description === undefined ? "" : ` - ${plainLine(description, 300)}`}`;
  const base = { key, label, required };
  if (schema["type"] === "array" && isObject(schema["items"])) {
    const choices = choicesOf(schema["items"]);
    if (choices !== undefined) {
      const initial = Array.isArray(schema["default"])
        ? schema["default"].filter((value) => choices.some((choice) => choice.value === value))
        : [];
      return {
        ...base,
        kind: "choices",
        choices,
        initial: initial as string[],
        min: size(schema["minItems"]) ?? 0,
        max: size(schema["maxItems"]) ?? choices.length,
      };
    }
  }
  const choices = choicesOf(schema);
  if (choices !== undefined) {
    const initial = choices.find((choice) => choice.value === schema["default"])?.value;
    return { ...base, kind: "choice", choices, initial };
  }
  if (schema["type"] === "boolean")
    return {
      ...base,
      kind: "boolean",
      initial: typeof schema["default"] === "boolean" ? schema["default"] : undefined,
    };
  return { ...base, kind: "text", ...textField(schema, required) };
}

function textField(
  schema: JsonObject,
  required: boolean,
): Pick<Field & { kind: "text" }, "initial" | "check" | "read"> {
  const fallback = schema["default"];
  const initial =
    fallback === undefined || fallback === null
      ? ""
      : typeof fallback === "string"
        ? fallback
        : JSON.stringify(fallback);
  const isNumber = schema["type"] === "number" || schema["type"] === "integer";
  const isText = schema["type"] === "string" || schema["type"] === undefined;
  const checkGiven = isNumber ? checkNumber : isText ? checkText : checkJson;
  return {
    initial,
    check: (given) => {
      const empty = given.trim() === "";
      if (empty)
        return required && !(isText && given === "" && size(schema["minLength"]) === 0)
          ? "An answer is needed."
          : undefined;
      return checkGiven(given, schema);
    },
    read: (given) => {
      if (given.trim() === "") return required ? given : undefined;
      return isNumber ? Number(given) : isText ? given : (JSON.parse(given) as unknown);
    },
  };
}

function checkText(given: string, schema: JsonObject): string | undefined {
  const length = Array.from(given).length;
  const min = size(schema["minLength"]);
  const max = size(schema["maxLength"]);
  if (min !== undefined && length < min) return `At least ${min} characters.`;
  if (max !== undefined && length > max) return `At most ${max} characters.`;
  switch (schema["format"]) {
    case "email":
      return EMAIL.test(given) ? undefined : "This is not an e-mail address.";
    case "uri":
      return isUri(given) ? undefined : "This is not a URI (with its scheme, such as https://).";
    case "date":
      return isDate(given) ? undefined : "A date is written YYYY-MM-DD.";
    case "date-time":
      return /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}/.test(given) && !Number.isNaN(Date.parse(given))
        ? undefined
        : "A time is written YYYY-MM-DDTHH:MM:SSZ.";
    default:
      return undefined;
  }
}

function checkNumber(given: string, schema: JsonObject): string | undefined {
  const value = Number(given);
  if (!/^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*$/i.test(given) || !Number.isFinite(value))
    return "This is not a number.";
  if (schema["type"] === "integer" && !Number.isInteger(value)) return "A whole number is needed.";
  const { minimum, maximum } = schema;
  if (typeof minimum === "number" && value < minimum) return `At least ${minimum}.`;
  if (typeof maximum === "number" && value > maximum) return `At most ${maximum}.`;
  return undefined;
}

function checkJson(given: string): string | undefined {
  try {
    JSON.parse(given);
    return undefined;
  } catch {
    return "This must be written as JSON.";
  }
}

/** `enum` (with `enumNames`), or a union of titled constants. */
function choicesOf(schema: JsonObject): Choice[] | undefined {
  if (Array.isArray(schema["enum"])) {
    const names = Array.isArray(schema["enumNames"]) ? schema["enumNames"] : [];
    return schema["enum"].flatMap((value, index) =>
      typeof value === "string" ? [toChoice(value, text(names[index]))] : [],
    );
  }
  const union = schema["oneOf"] ?? schema["anyOf"];
  if (!Array.isArray(union) || union.length === 0) return undefined;
  const choices = union.flatMap((entry) =>
    isObject(entry) && typeof entry["const"] === "string"
      ? [toChoice(entry["const"], text(entry["title"]))]
      : [],
  );
  return choices.length === union.length ? choices : undefined;
}

function toChoice(value: string, title: string | undefined): Choice {
  return { value, label: plainLine(title ?? value, 120) || '""' };
}

function describeLimits(schema: JsonObject): string {
  const { minimum, maximum } = schema;
  const parts: string[] = [];
  if (schema["type"] === "integer") parts.push("whole number");
  if (schema["type"] === "number") parts.push("number");
  if (typeof schema["format"] === "string") parts.push(plainLine(schema["format"], 20));
  if (typeof minimum === "number" && typeof maximum === "number") parts.push(`${minimum} to ${maximum}`);
  else if (typeof minimum === "number") parts.push(`from ${minimum}`);
  else if (typeof maximum === "number") parts.push(`up to ${maximum}`);
  return parts.join(", ");
}

function isUri(given: string): boolean {
  return URL.canParse(given);
}

function isDate(given: string): boolean {
  const [, year, month, day] = DATE.exec(given) ?? [];
  if (year === undefined) return false;
  const date = new Date(`${given}T00:00:00Z`);
  return date.getUTCMonth() + 1 === Number(month) && date.getUTCDate() === Number(day);
}

function size(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}
