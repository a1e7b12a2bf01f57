// Similarity of names, to find the contract that a tool might serve.

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
/** Words about the owner of a tool, not about its action. */
const EMPTY: ReadonlySet<string> = new Set(["fs", "filesystem", "mcp", "tool", "the", "a", "an", "of", "to"]);

/** Words in lower case and singular: `readTextFile` and `read_text_files` are the same. */
function wordsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "")
    .map((word) => word.replace(/(?<=[a-z]{2})ies$/, "y").replace(/(?<=[a-z]{2}[^s])s$/, ""));
}

/** Verbs at the beginning or end of names; those of one line are synonyms. */
const VERBS: ReadonlyMap<string, string> = new Map(
  [
    ["read", "get", "fetch", "show"],
    ["list", "ls", "enumerate"],
    ["search", "find"],
    ["delete", "remove", "rm"],
    ["create", "make", "new"],
    ..."write put save store add insert append update edit set replace patch move rename copy merge"
      .split(" ")
      .map((verb) => [verb]),
    ..."open close send post run start stop cancel count check query load upload download fork push"
      .split(" ")
      .map((verb) => [verb]),
  ].flatMap((words) => words.map((word) => [word, words.join()] as const)),
);

/** Whether two names mean the same: equal apart from case and separators, or synonymous verbs with the same nouns. */
export function sameness(a: string, b: string): "equal" | "same" | undefined {
  const [left, right] = [partsOf(a), partsOf(b)];
  if (left.length === 0) return undefined;
  if (left.join(" ") === right.join(" ")) return "equal";
  const [one, other] = [sentenceOf(left), sentenceOf(right)];
  const isSame = one?.nouns !== "" && one?.verb === other?.verb && one?.nouns === other?.nouns;
  return one !== undefined && isSame ? "same" : undefined;
}

/** Singular and plural differ here: `get_user` and `get_users` have different results. */
function partsOf(name: string): readonly string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

/** Undefined without a known verb: then only equal names are the same. */
function sentenceOf(words: readonly string[]): { readonly verb: string; readonly nouns: string } | undefined {
  const [first = "", last = ""] = [words[0], words.at(-1)].map((word) => VERBS.get(word ?? ""));
  if (first !== "") return { verb: first, nouns: words.slice(1).join(" ") };
  return last === "" ? undefined : { verb: last, nouns: words.slice(0, -1).join(" ") };
}

/** From 0 (no common word) to 1 (the same). Equal words count more than synonyms. */
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
  const meaningful = words.filter((word) => !EMPTY.has(word));
  return new Set(meaningful.length === 0 ? words : meaningful);
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

export function isContractId(text: string): boolean {
  return /^[a-z0-9][a-z0-9.-]{1,79}$/.test(text);
}

/** The first of `id`, `id-2`, `id-3` … that is free. */
export function freeId(id: string, isFree: (candidate: string) => boolean): string {
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? "" : `-${number}`;
    const candidate = `${id.slice(0, 80 - suffix.length)}${suffix}`;
    if (isFree(candidate)) return candidate;
  }
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
