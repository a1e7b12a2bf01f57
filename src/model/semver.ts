// Versions and ranges as npm writes them: ^ ~ comparators, x-ranges, hyphens, ||, and its rule about prereleases.

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly prerelease: readonly (string | number)[];
}

type Operator = "<" | "<=" | ">" | ">=" | "=";

interface Comparator {
  readonly operator: Operator;
  readonly version: Version;
}

/** Any of the sets, all of a set; an empty set is any version that is not a prerelease. */
export type VersionRange = readonly (readonly Comparator[])[];

const MOST_CHARACTERS = 256;
const NUMBER = "0|[1-9]\\d*";
const IDENTIFIER = `(?:${NUMBER}|\\d*[a-zA-Z-][a-zA-Z0-9-]*)`;
const TAIL = `(?:-(${IDENTIFIER}(?:\\.${IDENTIFIER})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?`;
const VERSION = new RegExp(`^v?(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})${TAIL}$`);
const PART = `(${NUMBER}|x|X|\\*)`;
const PARTIAL = `[v=\\s]*${PART}(?:\\.${PART}(?:\\.${PART}${TAIL})?)?`;
const HYPHEN = new RegExp(`^(${PARTIAL})\\s+-\\s+(${PARTIAL})$`);
const SIMPLE = new RegExp(`^(\\^|~>?|[<>]=?|=|)\\s*(${PARTIAL})$`);

export function parseVersion(text: string): Version | undefined {
  const found = text.length > MOST_CHARACTERS ? null : VERSION.exec(text.trim());
  if (found === null) return undefined;
  const [major, minor, patch] = [Number(found[1]), Number(found[2]), Number(found[3])] as const;
  if (![major, minor, patch].every(Number.isSafeInteger)) return undefined;
  return { major, minor, patch, prerelease: parsePrerelease(found[4]) };
}

export function compareVersions(a: Version, b: Version): number {
  const numbers = a.major - b.major || a.minor - b.minor || a.patch - b.patch;
  if (numbers !== 0) return Math.sign(numbers);
  // A version without a prerelease comes after all of its prereleases.
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return Math.sign(b.prerelease.length - a.prerelease.length);
  for (let index = 0; ; index += 1) {
    const [left, right] = [a.prerelease[index], b.prerelease[index]];
    if (left === undefined || right === undefined) return left === right ? 0 : left === undefined ? -1 : 1;
    if (left === right) continue;
    if (typeof left === typeof right) return left < right ? -1 : 1;
    return typeof left === "number" ? -1 : 1;
  }
}

/** Undefined: it is no range. */
export function parseRange(text: string): VersionRange | undefined {
  if (text.length > MOST_CHARACTERS * 4) return undefined;
  const sets: Comparator[][] = [];
  for (const alternative of text.split("||")) {
    const set = parseSet(alternative.trim());
    if (set === undefined) return undefined;
    sets.push(set);
  }
  return sets;
}

/** False also for what is no version or no range. */
export function satisfies(version: string | Version, range: string | VersionRange): boolean {
  const parsed = typeof version === "string" ? parseVersion(version) : version;
  const sets = typeof range === "string" ? parseRange(range) : range;
  return parsed !== undefined && sets !== undefined && sets.some((set) => isIn(parsed, set));
}

function isIn(version: Version, set: readonly Comparator[]): boolean {
  if (!set.every((comparator) => holds(version, comparator))) return false;
  if (version.prerelease.length === 0) return true;
  // Who asks for ^1.2.3-beta.1 wants later betas of 1.2.3, and not those of 1.3.0.
  return set.some(
    ({ version: named }) =>
      named.prerelease.length > 0 &&
      named.major === version.major &&
      named.minor === version.minor &&
      named.patch === version.patch,
  );
}

function holds(version: Version, { operator, version: named }: Comparator): boolean {
  const order = compareVersions(version, named);
  if (operator === "=") return order === 0;
  if (order === 0) return operator.endsWith("=");
  return operator.startsWith("<") ? order < 0 : order > 0;
}

function parseSet(text: string): Comparator[] | undefined {
  if (text === "") return [];
  const hyphen = HYPHEN.exec(text);
  if (hyphen !== null) {
    const [from, to] = [toPartial(hyphen.slice(2, 6)), toPartial(hyphen.slice(7, 11))];
    if (from === undefined || to === undefined) return undefined;
    if (isDoubled(hyphen[1], from) || (to.prerelease.length === 0 && isDoubled(hyphen[6], to)))
      return undefined;
    const lower = from.major === undefined ? [] : [at(">=", floorOf(from))];
    if (to.major === undefined) return lower;
    return [...lower, to.patch === undefined ? at("<", afterPartial(to)) : at("<=", floorOf(to))];
  }
  const set: Comparator[] = [];
  for (const word of text.replace(/(\^|~>?|[<>]=?|=)\s+/g, "$1").split(/\s+/)) {
    const found = SIMPLE.exec(word);
    const partial = found === null || isDisordered(found) ? undefined : toPartial(found.slice(3, 7));
    if (found === null || partial === undefined) return undefined;
    if (!/^[~^]/.test(word) && isDoubled(found[2], partial)) return undefined;
    set.push(...expand(found[1] ?? "", partial));
  }
  return set;
}

/** A number after an x is a mistake, except where npm overlooks it. */
function isDisordered([, operator = "", , major, minor, patch]: readonly string[]): boolean {
  if (operator === "^" || operator.startsWith("~")) return false;
  const isX = (part: string | undefined): boolean => part === undefined || /^[xX*]$/.test(part);
  return (isX(major) && !isX(minor)) || (isX(minor) && !isX(patch));
}

/** `>==1.2.3`: npm takes a second sign only before what it rewrites. */
function isDoubled(text: string | undefined, { patch }: Partial): boolean {
  return patch !== undefined && !/^v?\d/.test(text ?? "");
}

interface Partial {
  readonly major: number | undefined;
  readonly minor: number | undefined;
  readonly patch: number | undefined;
  readonly prerelease: readonly (string | number)[];
}

function toPartial([major, minor, patch, tail]: readonly (string | undefined)[]): Partial | undefined {
  const number = (text: string | undefined): number | undefined =>
    text === undefined || /^[xX*]$/.test(text) ? undefined : Number(text);
  const [a, b, c] = [number(major), number(minor), number(patch)];
  if ([a, b, c].some((part) => part !== undefined && !Number.isSafeInteger(part))) return undefined;
  const [realMinor, whole] = [a === undefined ? undefined : b, a !== undefined && b !== undefined];
  const realPatch = whole ? c : undefined;
  return {
    major: a,
    minor: realMinor,
    patch: realPatch,
    prerelease: realPatch === undefined ? [] : parsePrerelease(tail),
  };
}

function expand(operator: string, partial: Partial): Comparator[] {
  const { major, minor, patch } = partial;
  if (major === undefined) return operator === "<" || operator === ">" ? [at("<", least(0, 0, 0))] : [];
  if (operator === "^") return [at(">=", floorOf(partial)), at("<", afterCaret(partial))];
  if (operator.startsWith("~"))
    return [at(">=", floorOf(partial)), at("<", afterPartial({ ...partial, patch: undefined }))];
  if (minor === undefined || patch === undefined) {
    const [floor, after] = [floorOf(partial), afterPartial(partial)];
    if (operator === "" || operator === "=") return [at(">=", floor), at("<", after)];
    if (operator === ">") return [at(">=", { ...after, prerelease: [] })];
    if (operator === "<=") return [at("<", after)];
    if (operator === "<") return [at("<", { ...floor, prerelease: [0] })];
    return [at(">=", floor)];
  }
  return [at(operator === "" ? "=" : (operator as Operator), floorOf(partial))];
}

const at = (operator: Operator, version: Version): Comparator => ({ operator, version });

/** Before every prerelease of a version, so that `<2.0.0-0` leaves them all out. */
const least = (major: number, minor: number, patch: number): Version => ({
  major,
  minor,
  patch,
  prerelease: [0],
});

function floorOf({ major = 0, minor = 0, patch = 0, prerelease }: Partial): Version {
  return { major, minor, patch, prerelease };
}

function afterPartial({ major = 0, minor }: Partial): Version {
  return minor === undefined ? least(major + 1, 0, 0) : least(major, minor + 1, 0);
}

function afterCaret({ major = 0, minor, patch }: Partial): Version {
  if (major > 0 || minor === undefined) return least(major + 1, 0, 0);
  return minor > 0 || patch === undefined ? least(0, minor + 1, 0) : least(0, 0, patch + 1);
}

function parsePrerelease(text: string | undefined): (string | number)[] {
  return (text ?? "")
    .split(".")
    .filter((part) => part !== "")
    .map((part) => (/^\d+$/.test(part) && Number.isSafeInteger(Number(part)) ? Number(part) : part));
}
