// Folders that a server needs: folders among its arguments that its sandbox lacks, and its own folder if its code writes there.

import { statSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, extname, isAbsolute, join, relative, resolve, sep } from "node:path";

const CODE: ReadonlySet<string> = new Set([".js", ".mjs", ".cjs", ".ts", ".mts", ".py"]);
const OWN = String.raw`(?:import\.meta\.(?:url|dirname|filename)|__dirname|__filename|__file__)`;
const DATA = String.raw`["'\x60]([\w./-]+\.(?:jsonl?|ndjson|db|sqlite3?|log|txt|csv|ya?ml|lock|cache|data|md))["'\x60]`;
const OWN_FILE = new RegExp(
  String.raw`(?:join|resolve|URL)\([^;\n]{0,200}?${OWN}[^;\n]{0,200}?${DATA}|URL\(\s*${DATA}\s*,\s*${OWN}`,
  "g",
);
const WRITES =
  /\b(?:writeFile|appendFile|createWriteStream|outputFile|new Database|sqlite3\.connect)|\bopen\([^)\n]{0,200}["'][wa]/;
const OF_THE_PACKAGE = /(?:^|\/)(?:package(?:-lock)?|tsconfig|manifest|server)\.json$|\.md$/;
const SETTING =
  /(?:process\.env\.|process\.env\[["']|environ(?:\.get)?[[(]["'])([A-Z][A-Z0-9_]*(?:FILE|PATH|DIR|DB|STORE|STORAGE|DATA)[A-Z0-9_]*)/;
const MOST_FILES = 60;
const MOST_BYTES = 500_000;

interface OwnWrite {
  /** The written file, as the code names it. */
  readonly file: string;
  /** The source file that writes it. */
  readonly code: string;
  /** An environment variable that seems to set another path. */
  readonly variable?: string;
}

/** Searches the code of a script on the command line for writes beside itself: its folder is read-only in a sandbox, so calls would fail. */
export async function ownWriteOf(words: readonly string[]): Promise<OwnWrite | undefined> {
  for (const word of words.filter((one) => isAbsolute(one) && CODE.has(extname(one)))) {
    const folder = dirname(word);
    for (const file of [word, ...(await codeIn(folder)).filter((one) => one !== word)].slice(0, MOST_FILES)) {
      const found = findWrite(await textOf(file));
      if (found !== undefined) return { ...found, code: relative(folder, file) };
    }
  }
  return undefined;
}

function findWrite(text: string): Omit<OwnWrite, "code"> | undefined {
  if (!WRITES.test(text)) return undefined;
  for (const [, first, second] of text.matchAll(OWN_FILE)) {
    const file = first ?? second ?? "";
    if (OF_THE_PACKAGE.test(file)) continue;
    return { file, variable: SETTING.exec(text)?.[1] };
  }
  return undefined;
}

async function codeIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  const todo = [folder];
  for (let at = todo.shift(); at !== undefined && found.length < MOST_FILES; at = todo.shift()) {
    for (const entry of await readdir(at, { withFileTypes: true }).catch(() => [])) {
      if (
        entry.isDirectory() &&
        entry.name !== "node_modules" &&
        !entry.name.startsWith(".") &&
        todo.length < MOST_FILES
      )
        todo.push(join(at, entry.name));
      else if (entry.isFile() && CODE.has(extname(entry.name))) found.push(join(at, entry.name));
    }
  }
  return found;
}

async function textOf(file: string): Promise<string> {
  const size = await stat(file).then(
    (found) => found.size,
    () => Infinity,
  );
  return size > MOST_BYTES ? "" : readFile(file, "utf8").catch(() => "");
}

/** Note for the user; empty if the variable is set already. */
export function ownWriteNote({ file, code, variable }: OwnWrite, given: readonly string[]): string[] {
  if (variable !== undefined && given.includes(variable)) return [];
  const how = variable === undefined ? "" : `, perhaps with --env ${variable}=<file>`;
  return [
    `The server seems to write ${file} into its own folder (${code}), which is read-only in its sandbox. Calls that write the file will fail. Configure the server to use another folder${how}, and grant that folder with --allow-write.`,
  ];
}

/** Words of a command line that are folders outside of the granted paths. `granted` are absolute. */
export function ungranted(args: readonly string[], folder: string, granted: readonly string[]): string[] {
  return args.filter((word) => {
    if (!/[./\\]/.test(word)) return false;
    const path = resolve(folder, word);
    if (granted.some((grant) => path === grant || path.startsWith(grant + sep))) return false;
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  });
}
