// Changes the grants of a `sandbox` block in the text of a config file; everything else in it stays as it was written.

import { isObject } from "../../../model/index.ts";
import type { Path } from "../node.ts";
import type { TextDocument } from "./text-document.ts";
import type { Change } from "./values.ts";

/** Grants: paths to read and to write, hosts, and names of variables. */
export interface Grants {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly net: readonly string[];
  readonly env: readonly string[];
}

export type GrantKind = keyof Grants;

/** Where a format keeps its lists. Undefined: the format has no place for this kind. */
export type GrantPlaces = Readonly<Record<GrantKind, Path | undefined>>;

/** Places in a `sandbox` block of Portolan's own formats. */
export const SANDBOX_PLACES: GrantPlaces = {
  read: ["fs", "read"],
  write: ["fs", "write"],
  net: ["network"],
  env: ["env", "pass"],
};

/** Places in the `sandbox` of VS Code's mcp.json. */
export const VSCODE_PLACES: GrantPlaces = {
  read: undefined,
  write: ["filesystem", "allowWrite"],
  net: ["network", "allowedDomains"],
  env: undefined,
};

export interface SandboxEdit {
  readonly document: TextDocument | undefined;
  /** The changes, such as `write ./notes`. */
  readonly changed: readonly string[];
  /** Grants that were there already, or were not there to revoke. */
  readonly unchanged: readonly string[];
}

/** Compares two entries of a list: paths have several spellings. */
export type SameEntry = (kind: GrantKind, a: string, b: string) => boolean;

export interface SandboxPlace {
  /** The path of the `sandbox` block in the document. */
  readonly at: Path;
  readonly places: GrantPlaces;
  readonly same: SameEntry;
}

/** The lists of a block, also in the long form `network: { egress: [...] }`. */
export function readGrants(document: TextDocument, { at, places }: Omit<SandboxPlace, "same">): Grants {
  const list = (kind: GrantKind): string[] => {
    const found = places[kind] === undefined ? undefined : document.get(listPath(document, at, places, kind));
    return Array.isArray(found) ? found.filter((one) => typeof one === "string") : [];
  };
  return { read: list("read"), write: list("write"), net: list("net"), env: list("env") };
}

export function grantIn(document: TextDocument, place: SandboxPlace, grants: Grants): SandboxEdit {
  const { at, places, same } = place;
  const before = readGrants(document, place);
  const [changed, unchanged]: [string[], string[]] = [[], []];
  const changes: Change[] = [];
  // `sandbox: warn` becomes a block with this mode.
  const mode = document.get(at);
  if (mode !== undefined && mode !== null && !isObject(mode)) changes.push({ path: at, value: { mode } });
  for (const kind of KINDS) {
    const wanted = [...new Set(grants[kind])];
    const has = (entry: string): boolean =>
      before[kind].some((one) => same(kind, one, entry)) ||
      (kind === "read" && [...before.write, ...grants.write].some((one) => same("write", one, entry)));
    const added = wanted.filter((entry) => !has(entry));
    changed.push(...added.map((entry) => `${kind} ${entry}`));
    unchanged.push(...wanted.filter(has).map((entry) => `${kind} ${entry}`));
    // A path that may be written need not be in the list for reading.
    const kept =
      kind === "read"
        ? before.read.filter((one) => !grants.write.some((entry) => same("write", one, entry)))
        : before[kind];
    if (added.length > 0 || kept.length < before[kind].length)
      changes.push(...listChanges(document, { at, places, kind }, before[kind], [...kept, ...added]));
  }
  return { document: document.edit(changes), changed, unchanged };
}

export function revokeIn(document: TextDocument, place: SandboxPlace, grants: Grants): SandboxEdit {
  const { at, places, same } = place;
  const before = readGrants(document, place);
  const [changed, unchanged]: [string[], string[]] = [[], []];
  let edited: TextDocument | undefined = document;
  for (const kind of KINDS) {
    const isGone = (one: string): boolean => grants[kind].some((entry) => same(kind, one, entry));
    changed.push(...before[kind].filter(isGone).map((entry) => `${kind} ${entry}`));
    unchanged.push(
      ...grants[kind]
        .filter((entry) => !before[kind].some((one) => same(kind, one, entry)))
        .map((entry) => `${kind} ${entry}`),
    );
    const left = before[kind].filter((one) => !isGone(one));
    if (left.length === before[kind].length || edited === undefined) continue;
    edited = edited.edit(listChanges(edited, { at, places, kind }, before[kind], left));
    if (left.length === 0 && edited !== undefined) edited = withoutEmpty(edited, at, places[kind] ?? []);
  }
  return { document: edited, changed, unchanged };
}

const KINDS: readonly GrantKind[] = ["read", "write", "net", "env"];

function listPath(document: TextDocument, at: Path, places: GrantPlaces, kind: GrantKind): Path {
  const path = [...at, ...(places[kind] ?? [])];
  return isObject(document.get(path)) ? [...path, "egress"] : path;
}

/** Single entries are added and removed, so that comments between the others stay. */
function listChanges(
  document: TextDocument,
  { at, places, kind }: { readonly at: Path; readonly places: GrantPlaces; readonly kind: GrantKind },
  before: readonly string[],
  after: readonly string[],
): Change[] {
  const path = listPath(document, at, places, kind);
  if (after.length === 0) return before.length === 0 ? [] : [{ path }];
  if (!Array.isArray(document.get(path))) return [{ path, value: [...after] }];
  const removed = before.flatMap((entry, index) => (after.includes(entry) ? [] : [index]));
  const added = after.filter((entry) => !before.includes(entry));
  const left = before.length - removed.length;
  return [
    ...removed.toReversed().map((index) => ({ path: [...path, index] })),
    ...added.map((value, index) => ({ path: [...path, left + index], value })),
  ];
}

/** Removes the objects that a removed list leaves empty, up to the block itself. */
function withoutEmpty(document: TextDocument, at: Path, inner: Path): TextDocument | undefined {
  let edited: TextDocument | undefined = document;
  for (let length = inner.length - 1; length >= 0 && edited !== undefined; length -= 1) {
    const path = [...at, ...inner.slice(0, length)];
    const value = edited.get(path);
    if (path.length === 0 || !isObject(value) || Object.keys(value).length > 0) break;
    edited = edited.delete(path);
  }
  return edited;
}
