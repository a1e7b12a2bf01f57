// How alike two names are, for finding the contract that a tool was meant for.

const SYNONYMS: Readonly<Record<string, string>> = {
  get: "read",
  fetch: "read",
  show: "read",
  load: "read",
  cat: "read",
  ls: "list",
  enumerate: "list",
  put: "write",
  save: "write",
  store: "write",
  find: "search",
  query: "search",
  remove: "delete",
  rm: "delete",
  add: "create",
  make: "create",
  new: "create",
  dir: "directory",
  folder: "directory",
  doc: "document",
  msg: "message",
  text: "content",
  body: "content",
  filename: "path",
  filepath: "path",
  file: "path",
};
/** Words that say where a thing belongs, not what it does. */
const EMPTY: ReadonlySet<string> = new Set(["fs", "filesystem", "mcp", "tool", "the", "a", "an", "of", "to"]);

/** Small words, each for one: `readTextFile` and `read_text_files` are the same. */
function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "")
    .map((word) => word.replace(/(?<=[a-z]{2})ies$/, "y").replace(/(?<=[a-z]{2}[^s])s$/, ""));
}

/** From 0, nothing in common, to 1, the same. The same word counts for more than one that means the same. */
export function likeness(a: string, b: string): number {
  return (
    0.7 * overlap(wordsOf(a).map(plainest), wordsOf(b).map(plainest)) + 0.3 * overlap(wordsOf(a), wordsOf(b))
  );
}

function overlap(a: readonly string[], b: readonly string[]): number {
  const [left, right] = [telling(a), telling(b)];
  const common = [...left].filter((word) => right.has(word)).length;
  return common / (left.size + right.size - common || 1);
}

function telling(words: readonly string[]): ReadonlySet<string> {
  const told = words.filter((word) => !EMPTY.has(word));
  return new Set(told.length === 0 ? words : told);
}

function plainest(word: string): string {
  return Object.hasOwn(SYNONYMS, word) ? (SYNONYMS[word] as string) : word;
}

/** A contract's id for a tool: small letters, digits, dashes. */
export function contractId(tool: string): string {
  const id = tool
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, "-")
    .replace(/^[-.]+|[-.]+$/g, "")
    .slice(0, 80)
    .replace(/[-.]+$/, "");
  return id.length >= 2 ? id : `tool-${id || "x"}`;
}

/** `read_text_file` as people write it: `Read text file`. */
export function title(tool: string): string {
  const words = tool
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/[^A-Za-z0-9]+/g, " ")
    .trim()
    .toLowerCase();
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`.slice(0, 80) || "Tool";
}
