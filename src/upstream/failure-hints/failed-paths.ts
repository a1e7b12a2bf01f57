// Finds paths that could not be opened or written in the words of a server: a sandbox refuses no access that Portolan could see.

/** Words of a server may be long; an error stands at the beginning or the end. */
const MAX_CHARACTERS = 8_192;
const MAX_FOUND = 8;

const FAILED =
  /\b(?:ENOENT|EACCES|EPERM|EROFS)\b|permission denied|read-only file ?system|no such file|does ?n[o']t exist|not found|unable to open|cannot (?:open|create|access|read|write)|can't open|failed to open/i;

/** In quotes with any characters, or bare up to the next that no plain path has. */
const PATHS = /(['"`])(\/[^'"`\n]{1,1000})\1|(?<![\w/.:~-])(\/[^\s'"`:;,()<>|*?\\]{1,1000})/g;

/** Each once; none in a text that reports no failure. */
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

/** Paths among the arguments of a call, as far as they are plain: absolute, from a home, or a file: URL. */
export function argumentPaths(value: unknown, depth = 0): string[] {
  if (typeof value === "string")
    return value.length <= 4_096 && /^(?:~?\/|file:\/)/.test(value) ? [value] : [];
  if (typeof value !== "object" || value === null || depth > 3) return [];
  return Object.values(value)
    .slice(0, 100)
    .flatMap((inner) => argumentPaths(inner, depth + 1));
}
