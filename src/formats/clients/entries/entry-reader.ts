// Reader of one entry: checks its values one by one, and reports each wrong one with a hint.

import type { Diagnostic } from "../../../errors/index.ts";
import { isObject, isReferenceName } from "../../../model/index.ts";
import type { ReadContext } from "../known/context.ts";
import { type Field, findFields, type FoundFields } from "./fields.ts";
import { readValue, type ValuePlace } from "../references/interpolation.ts";
import { CLIENT_TITLES } from "../known/detect.ts";
import type { ClientId, Path } from "../types.ts";

export type EntryDiagnostic = Pick<Diagnostic, "severity" | "message" | "hint" | "server" | "literalSecret">;

export type ReportAt = (path: Path, diagnostic: EntryDiagnostic) => void;

export class EntryReader {
  readonly fields: FoundFields;
  #failed = false;
  readonly #entry: Readonly<Record<string, unknown>>;
  readonly #path: Path;
  readonly #client: ClientId;
  readonly #context: ReadContext;
  readonly #report: ReportAt;

  constructor(
    entry: Readonly<Record<string, unknown>>,
    place: { path: Path; client: ClientId; context: ReadContext; report: ReportAt },
  ) {
    this.#entry = entry;
    this.#path = place.path;
    this.#client = place.client;
    this.#context = place.context;
    this.#report = place.report;
    this.fields = findFields(entry);
  }

  /** The key that a field has in this entry, when it has a value at all. */
  keyOf(field: Field): string | undefined {
    const key = this.fields.keys.get(field);
    return key === undefined || this.#entry[key] == null ? undefined : key;
  }

  raw(field: Field): unknown {
    const key = this.keyOf(field);
    return key === undefined ? undefined : this.#entry[key];
  }

  report(severity: EntryDiagnostic["severity"], at: Path, message: string, hint?: string): void {
    this.#report([...this.#path, ...at], { severity, message, hint });
  }

  /** True if the entry has an error and cannot be used. All errors are reported before it is left out. */
  get failed(): boolean {
    return this.#failed;
  }

  refuse(at: Path, message: string, hint?: string): undefined {
    this.#failed = true;
    this.report("error", at, message, hint);
  }

  boolean(field: Field): boolean | undefined {
    const value = this.raw(field);
    if (value === undefined || typeof value === "boolean") return value;
    return this.#wrong(field, "true or false");
  }

  /** A time in the unit that `factor` turns into milliseconds. */
  milliseconds(field: Field, factor: number): number | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    const time = typeof value === "number" ? Math.round(value * factor) : Number.NaN;
    if (Number.isSafeInteger(time) && time > 0) return time;
    return this.#wrong(field, "a number greater than 0");
  }

  /** Names, as they are. */
  names(field: Field): string[] | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === "string" && item !== ""))
      return value as string[];
    return this.#wrong(field, 'a list of names, such as ["read_file"]');
  }

  text(field: Field, place: ValuePlace): string | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    if (typeof value !== "string" || value.trim() === "") return this.#wrong(field, "a text");
    return this.#translate(value, [this.keyOf(field) ?? field], place);
  }

  texts(field: Field, place: ValuePlace): string[] | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    const key = this.keyOf(field) ?? field;
    if (!Array.isArray(value)) return this.#wrong(field, 'a list of texts, such as ["-y", "a-package"]');
    return this.items(value, [key], place);
  }

  /** The texts of a list somewhere in the entry. */
  items(list: readonly unknown[], at: Path, place: ValuePlace): string[] {
    return list.flatMap((item, index) => {
      const here = [...at, index];
      if (isSimple(item)) return [this.#translate(String(item), here, place)];
      this.refuse(here, `${toLabel(here)} is ${kindOf(item)}`, "Make it a text.");
      return [];
    });
  }

  /** Names with texts; `check` says what is wrong with a name or a value. */
  map(
    field: Field,
    check: (name: string, text: string) => string | undefined,
  ): Record<string, string> | undefined {
    const value = this.raw(field);
    if (value === undefined) return undefined;
    const key = this.keyOf(field) ?? field;
    if (!isObject(value)) return this.#wrong(field, 'names with texts, such as { "NAME": "value" }');
    const found: [string, string][] = [];
    for (const [name, item] of Object.entries(value)) {
      // In VS Code, null removes an inherited variable; Portolan passes few variables on anyway.
      if (item === null) continue;
      const text = isSimple(item) ? String(item) : undefined;
      const problem =
        text === undefined ? `${name} is ${kindOf(item)}, which should be a text` : check(name, text);
      if (text === undefined || problem !== undefined) this.refuse([key, name], `${key}: ${problem}`);
      else found.push([name, this.#translate(text, [key, name], "value")]);
    }
    return Object.fromEntries(found);
  }

  /** Names of environment variables, by what they are for. */
  variables(field: Field): [string, string][] {
    const value = this.raw(field);
    const key = this.keyOf(field) ?? field;
    const pairs: [string, unknown][] = isObject(value) ? Object.entries(value) : [[key, value]];
    if (value === undefined) return [];
    return pairs.flatMap(([name, variable]): [string, string][] => {
      if (typeof variable === "string" && isReferenceName(variable)) return [[name, variable]];
      const at = isObject(value) ? [key, name] : [key];
      this.refuse(
        at,
        `${at.join(".")} does not name an environment variable`,
        "Write the name of the variable, not its value.",
      );
      return [];
    });
  }

  #translate(text: string, at: Path, place: ValuePlace): string {
    if (text.includes("\0")) this.refuse(at, `${toLabel(at)} contains a NUL character`, "Remove it.");
    const found = readValue(text, place, this.#client, this.#context);
    const title = CLIENT_TITLES[this.#client];
    for (const variable of found.editorOnly)
      this.report(
        "warning",
        at,
        `Portolan cannot resolve ${variable}: only the running editor knows its value`,
        "Write the value in place of the variable.",
      );
    if (found.foreign.length > 0)
      this.report("info", at, `${title} itself does not expand ${found.foreign.join(", ")}; Portolan does`);
    if (found.ambiguous)
      this.report(
        "warning",
        at,
        `a $ directly before a reference makes the reference plain text`,
        "Put the $ elsewhere.",
      );
    return found.text;
  }

  #wrong(field: Field, right: string): undefined {
    const key = this.keyOf(field) ?? field;
    this.refuse([key], `${key} is ${kindOf(this.raw(field))}`, `Make it ${right}.`);
  }
}

function isSimple(value: unknown): value is string | number | boolean | bigint {
  return (
    typeof value === "string" ||
    typeof value === "boolean" ||
    typeof value === "bigint" ||
    (typeof value === "number" && Number.isFinite(value))
  );
}

/** The kind of a value, never its content: it may be a misplaced secret. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "empty";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return value.trim() === "" ? "an empty text" : "a text";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" || typeof value === "bigint") return "a number";
  return "an object";
}

export function toLabel(path: Path): string {
  return path
    .map((step, index) => (typeof step === "number" ? `[${step}]` : `${index === 0 ? "" : "."}${step}`))
    .join("");
}
