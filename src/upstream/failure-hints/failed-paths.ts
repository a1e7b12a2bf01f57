// Finds paths that a server could not open, in its error text. A sandbox hides paths, so Portolan itself sees no refusal.

/** Longer texts are read at the beginning and the end only, where errors are. */
const MAX_CHARACTERS = 8_192;
const MAX_FOUND = 8;

const FAILED =
  /\b(?:ENOENT|EACCES|EPERM|EROFS)\b|permission denied|read-only file ?system|no such file|does ?n[o']t exist|not found|unable to open|cannot (?:open|create|access|read|write)|can't open|failed to open/i;

/** Matches quoted paths with any characters, and bare paths up to the first character that is unusual in a path. */
const PATHS = /(['"`])(\/[^'"`\n]{1,1000})\1|(?<![\w/.:~-])(\/[^\s'"`:;,()<>|*?\\]{1,1000})/g;

/** Each path once. A text that reports no failure has none. */
export function failedPaths(text: string): string[] {
  const read =
    text.length <= MAX_CHARACTERS * 2
      ? text
      : `${text.slice(0, MAX_CHARACTERS)}\n${text.slice(-MAX_CHARACTERS)}`;
  if (!FAILED.test(read)) return [];
  const found = new Set<string>();
  for (const [, , quoted, bare] of read.matchAll(PATHS)) {
    const path = quoted ?? bare?.replace(/[.!]+$/, "") ?? "";
    if (path.length > 1 && found.size < MAX_FOUND) found.add(path);
  }
  return [...found];
}

/** Paths among the arguments of a call: absolute, in the home folder, or a file: URL. */
export function argumentPaths(value: unknown, depth = 0): string[] {
  if (typeof value === "string")
    return value.length <= 4_096 && /^(?:~?\/|file:\/)/.test(value) ? [value] : [];
  if (typeof value !== "object" || value === null || depth > 3) return [];
  return Object.values(value)
    .slice(0, 100)
    .flatMap((inner) => argumentPaths(inner, depth + 1));
}
