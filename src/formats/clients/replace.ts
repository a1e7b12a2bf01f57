// Puts the entry of a gateway into a client's file in place of servers, and takes it out again. Pure: text in, text out.

import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { createLocator } from "../document/index.ts";
import {
  applyChange,
  type Change,
  openDocument,
  renderDocument,
  sameValue,
  type TextDocument,
  valueAt,
} from "../document/edit/index.ts";
import { fieldOf } from "./entries/fields.ts";
import { writeEntry } from "./entries/write-entry.ts";
import { ownPath } from "./known/containers.ts";
import { CLIENT_FORMATS, CLIENT_TITLES } from "./known/detect.ts";
import { declaredInputs, inputsIn, toInput } from "./references/inputs.ts";
import type { ClientId, ExportNote, Path, WritableServer } from "./types.ts";

/** Where an entry stands in a client's file: under its name in an object, or as an item of a list that has the name. */
export interface EntryPlace {
  readonly container: Path;
  readonly name: string;
}

/** The changes of `replaceServers`, in a form that can be stored and reversed. It contains no value of a removed entry. */
export interface Replacement {
  readonly entry: EntryPlace;
  /** The new entry as it stands in the file. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly removed: readonly EntryPlace[];
  /** VS Code: inputs that were declared for the entry. */
  readonly inputs: readonly string[];
}

/** The entry of this server for the client's file; undefined if the client cannot have it. */
export function planReplacement(
  client: ClientId,
  text: string,
  server: WritableServer,
  removed: readonly EntryPlace[],
): (Replacement & { readonly notes: readonly ExportNote[] }) | undefined {
  const { value } = openFile(client, text);
  const container = ownPath(client, value);
  const { entry, notes } = writeEntry(client, server, container.length === 2);
  if (entry === undefined) return undefined;
  const name = server.name ?? server.alias;
  const known = new Set(client === "vscode" ? [...declaredInputs(value), ...inputsIn(value)] : []);
  const inputs = client === "vscode" ? inputsIn(entry).filter((id) => !known.has(id)) : [];
  return {
    entry: { container, name },
    value: client === "axle" ? { name, ...entry } : entry,
    removed,
    inputs,
    notes,
  };
}

/**
 * The text with the new entry and without the removed ones; every other byte stays. Throws FILE_INVALID when the text does not
 * parse, NOT_SUPPORTED when it cannot be changed in place.
 */
export function replaceServers(client: ClientId, text: string, replacement: Replacement): string {
  const document = openFile(client, text);
  const { entry, value, removed, inputs } = replacement;
  const isEntry = (place: EntryPlace): boolean => samePlace(place, entry);
  const gone = removed.filter((place) => !isEntry(place)).map((place) => pathOf(document.value, place));
  const changes: Change[] = [
    { path: pathOf(document.value, entry) ?? newPath(document.value, entry, client), value },
    ...inputChanges(document.value, inputs),
    ...toDeletions(gone),
  ];
  if (text.trim() === "")
    return renderDocument(
      CLIENT_FORMATS[client],
      changes.reduce<unknown>(applyChange, {}) as Readonly<Record<string, unknown>>,
    );
  return edited(document, changes, client).render();
}

export interface Restoration {
  readonly text: string;
  /** `changed`: the person changed the entry into another server, so it stays. `gone`: there was none any more. */
  readonly entry: "removed" | "changed" | "gone";
  readonly restored: readonly EntryPlace[];
  /** Removed servers whose name has an entry again: that one stays. */
  readonly kept: readonly EntryPlace[];
}

/**
 * Reverses a replacement in a text that was changed since: takes the entry out, puts the servers of `before` back, and keeps
 * everything else, comments too. Throws like `replaceServers`.
 */
export function restoreServers(
  client: ClientId,
  text: string,
  before: string,
  { entry, value, removed, inputs }: Replacement,
): Restoration {
  const document = openFile(client, text);
  const earlier = openFile(client, before);
  const now = pathOf(document.value, entry);
  const current = now === undefined ? undefined : valueAt(document.value, now);
  const found = now === undefined ? "gone" : runsTheSame(current, value) ? "removed" : "changed";
  const original = removed.find((place) => samePlace(place, entry));
  // A server that stood under the name of the entry comes back when the entry goes.
  const wanted = removed.filter((place) => place !== original || found !== "changed");
  const isFree = (place: EntryPlace): boolean =>
    pathOf(document.value, place) === undefined || (place === original && found === "removed");
  const restored = wanted.filter(isFree);
  const changes: Change[] = [];
  let next: unknown = document.value;
  const add = (change: Change): void => {
    changes.push(change);
    next = applyChange(next, change);
  };
  if (found === "removed" && now !== undefined) add({ path: now });
  for (const place of restored) {
    const path = pathOf(earlier.value, place);
    if (path !== undefined) add({ path: newPath(next, place, client), value: valueAt(earlier.value, path) });
  }
  for (const index of unusedInputs(next, inputs)) add({ path: ["inputs", index] });
  for (const path of emptied(earlier.value, next, [entry.container, ["inputs"]])) add({ path });
  const done = edited(document, changes, client);
  return {
    text: withOwnText(done, earlier, restored).render(),
    entry: found,
    restored,
    kept: wanted.filter((place) => !restored.includes(place)),
  };
}

/** Whether the file has the entry of the replacement, perhaps with other settings beside its command or URL. */
export function hasEntry(client: ClientId, text: string, { entry, value }: Replacement): boolean {
  const document = openDocument(CLIENT_FORMATS[client], text);
  const path = pathOf(document.value, entry);
  return path !== undefined && runsTheSame(valueAt(document.value, path), value);
}

function openFile(client: ClientId, text: string): TextDocument {
  const document = openDocument(CLIENT_FORMATS[client], text);
  const [problem] = document.problems;
  const isUsable = document.value === undefined || document.value === null || isObject(document.value);
  if (problem === undefined && isUsable) return document;
  const { line, column } = createLocator(document.text)(problem?.offset ?? 0);
  throw new PortolanError(
    "FILE_INVALID",
    `the config file of ${CLIENT_TITLES[client]} cannot be parsed: ${problem?.message ?? "it is not an object"} (line ${line}, column ${column})`,
    { hint: "Nothing was written. Correct the file, and run the command again.", data: { line, column } },
  );
}

function edited(document: TextDocument, changes: readonly Change[], client: ClientId): TextDocument {
  const done = document.edit(changes);
  if (done !== undefined) return done;
  throw new PortolanError(
    "NOT_SUPPORTED",
    `Portolan cannot edit this config file of ${CLIENT_TITLES[client]} without changing other parts of it. Nothing was written`,
    {
      hint: "Put each server on its own lines, remove keys that occur twice, and run the command again. Or edit the file by hand.",
    },
  );
}

export function samePlace(a: EntryPlace, b: EntryPlace): boolean {
  return a.name === b.name && sameValue(a.container, b.container);
}

/** The path of an existing entry. */
function pathOf(value: unknown, { container, name }: EntryPlace): Path | undefined {
  const entries = valueAt(value, container);
  if (Array.isArray(entries)) {
    const index = entries.findIndex((item: unknown) => isObject(item) && item["name"] === name);
    return index < 0 ? undefined : [...container, index];
  }
  return isObject(entries) && Object.hasOwn(entries, name) ? [...container, name] : undefined;
}

function newPath(value: unknown, { container, name }: EntryPlace, client: ClientId): Path {
  const entries = valueAt(value, container);
  const isList = Array.isArray(entries) || (entries === undefined && client === "axle");
  return [...container, isList ? (Array.isArray(entries) ? entries.length : 0) : name];
}

/** Later items of a list first, so that the others keep their index. */
function toDeletions(paths: readonly (Path | undefined)[]): Change[] {
  return paths
    .filter((path) => path !== undefined)
    .toSorted((a, b) => Number(b.at(-1)) - Number(a.at(-1)) || 0)
    .map((path) => ({ path }));
}

function inputChanges(value: unknown, inputs: readonly string[]): Change[] {
  if (inputs.length === 0) return [];
  const declared = valueAt(value, ["inputs"]);
  if (!Array.isArray(declared)) return [{ path: ["inputs"], value: inputs.map(toInput) }];
  return inputs.map((id, index) => ({ path: ["inputs", declared.length + index], value: toInput(id) }));
}

/** The indexes of these inputs that no text refers to any more, the last one first. */
function unusedInputs(value: unknown, inputs: readonly string[]): number[] {
  const declared = valueAt(value, ["inputs"]);
  if (!Array.isArray(declared) || inputs.length === 0) return [];
  const used = new Set(inputsIn(value));
  return declared
    .flatMap((item: unknown, index) => {
      const id = isObject(item) ? item["id"] : undefined;
      return typeof id === "string" && inputs.includes(id) && !used.has(id) ? [index] : [];
    })
    .toReversed();
}

/** Objects and lists that the file did not have before and that are empty now, inner ones first. */
function emptied(before: unknown, now: unknown, paths: readonly Path[]): Path[] {
  const found: Path[] = [];
  let value = now;
  for (const whole of paths)
    for (let length = whole.length; length > 0; length -= 1) {
      const path = whole.slice(0, length);
      const at = valueAt(value, path);
      const isEmpty = Array.isArray(at) ? at.length === 0 : isObject(at) && Object.keys(at).length === 0;
      if (!isEmpty || valueAt(before, path) !== undefined) break;
      found.push(path);
      value = applyChange(value, { path });
    }
  return found;
}

/** The fields that say what an entry runs. */
const RUNS = new Set(["command", "args", "url"]);

function runsTheSame(current: unknown, value: Replacement["value"]): boolean {
  if (!isObject(current)) return false;
  const runs = (entry: Readonly<Record<string, unknown>>): unknown =>
    Object.fromEntries(Object.entries(entry).filter(([key]) => RUNS.has(fieldOf(key) ?? "")));
  return sameValue(runs(current), runs(value));
}

/** Restored entries get the text that they had, with its comments and its layout, if they stand equally deep. */
function withOwnText(
  document: TextDocument,
  earlier: TextDocument,
  places: readonly EntryPlace[],
): TextDocument {
  return places.reduce((now, place) => {
    const [from, to] = [pathOf(earlier.value, place), pathOf(now.value, place)];
    const own = from === undefined ? undefined : earlier.rangeOf(from);
    const written = to === undefined ? undefined : now.rangeOf(to);
    if (own === undefined || written === undefined) return now;
    if (indentAt(earlier.text, own.key) !== indentAt(now.text, written.key)) return now;
    const text =
      now.text.slice(0, written.key) + earlier.text.slice(own.key, own.end) + now.text.slice(written.end);
    return now.withText(text) ?? now;
  }, document);
}

function indentAt(text: string, offset: number): string {
  return /[ \t]*$/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset))?.[0] ?? "";
}
