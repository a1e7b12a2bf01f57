// Public servers whose needs are plain: data that they keep, folders that they work in, hosts that they reach. Only used
// for suggestions; nothing is granted because of this table.

import { basename, dirname, join } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { IN_PROGRAM } from "./grant-command.ts";
import type { ServerConfig } from "../config/server-definition.ts";

export interface KnownServer {
  /** The name of its npm or Python package, without a version. */
  readonly package: string;
  /** The access that paths in its arguments and variables usually need. */
  readonly access?: "read" | "write";
  /** Its arguments are folders, also those that do not exist yet. */
  readonly takesFolders?: boolean;
  /** The variable with the path of its data file. Without it, the server writes into its own program folder, which fails. */
  readonly dataVariable?: string;
  /** An example of that file's name. */
  readonly dataFile?: string;
  /** The file that it writes without the variable, in its package. */
  readonly dataDefault?: string;
  /** It writes other files beside its data file (a copy that it renames, a journal), so that it needs the folder. */
  readonly writesBeside?: boolean;
  readonly hosts?: readonly string[];
}

/** Each entry names the published files that state the need, as they were read for the entry. */
const KNOWN: readonly KnownServer[] = [
  // npm @modelcontextprotocol/server-filesystem 2026.8.31, README.md: its arguments are the folders that it may use; it has
  // tools that write there.
  { package: "@modelcontextprotocol/server-filesystem", access: "write", takesFolders: true },
  // npm @modelcontextprotocol/server-memory 2026.8.31, dist/index.js: MEMORY_FILE_PATH, otherwise memory.jsonl beside that
  // file. It writes a temporary file beside it, and renames that.
  {
    ...{ package: "@modelcontextprotocol/server-memory", access: "write", writesBeside: true },
    ...{ dataVariable: "MEMORY_FILE_PATH", dataFile: "memory.jsonl", dataDefault: "dist/memory.jsonl" },
  },
  // PyPI mcp-server-git 2026.10.19, README: --repository is the repository; it has tools that commit and check out.
  { package: "mcp-server-git", access: "write" },
  // PyPI mcp-server-sqlite 2025.4.25, README and server.py: --db-path is the database that it changes.
  // sqlite.org/tempfiles.html: journals are beside the database.
  { package: "mcp-server-sqlite", access: "write", writesBeside: true },
  // npm @modelcontextprotocol/server-github 2025.4.8, dist/operations/*.js: requests to api.github.com only.
  { package: "@modelcontextprotocol/server-github", hosts: ["api.github.com"] },
  // npm @modelcontextprotocol/server-brave-search 0.6.2, dist/index.js: requests to api.search.brave.com only.
  { package: "@modelcontextprotocol/server-brave-search", hosts: ["api.search.brave.com"] },
  // npm @modelcontextprotocol/server-google-maps 0.6.2, dist/index.js: requests to maps.googleapis.com only.
  { package: "@modelcontextprotocol/server-google-maps", hosts: ["maps.googleapis.com"] },
  // npm @modelcontextprotocol/server-slack 2025.4.25, dist/index.js: requests to slack.com only.
  { package: "@modelcontextprotocol/server-slack", hosts: ["slack.com"] },
  // npm tavily-mcp 0.2.22, build/index.js: requests to api.tavily.com; docs.tavily.com is only in texts.
  { package: "tavily-mcp", hosts: ["api.tavily.com"] },
  // npm @upstash/context7-mcp 4.1.1, dist/lib/constants.js and api.js: requests to context7.com with the stdio transport.
  { package: "@upstash/context7-mcp", hosts: ["context7.com"] },
  // PyPI mcp-server-fetch 2026.10.24, README: it fetches the pages that the caller names.
  { package: "mcp-server-fetch", hosts: ["*"] },
];

/** Finds the server by the words of its command line: a package with a version, or a path into its installed package. */
export function knownServer(words: readonly string[]): KnownServer | undefined {
  return KNOWN.find(({ package: name }) =>
    words.some(
      (word) =>
        word === name ||
        word.replace(/(?<=.)[@=<>~].*$/, "") === name ||
        basename(word) === name ||
        word.includes(`/node_modules/${name}/`),
    ),
  );
}

/** The words that name the program of a server: its command or package, and its arguments. */
export function programWords({ endpoint }: Pick<ServerConfig, "endpoint">): readonly string[] {
  if (endpoint.transport !== "stdio" || endpoint.kind === "image" || endpoint.kind === "package") return [];
  return [endpoint.kind === "npm" ? endpoint.package : endpoint.command, ...(endpoint.args ?? [])];
}

/** The variable for the data file that the config does not set, and a file that Portolan suggests. */
export function unsetDataFile(
  { endpoint }: Pick<ServerConfig, "endpoint">,
  { package: name, dataVariable: variable, dataFile = "data" }: KnownServer,
  home: string,
): { readonly variable: string; readonly file: string } | undefined {
  const env = endpoint.transport === "stdio" ? (endpoint.env ?? {}) : {};
  if (variable === undefined || env[variable] !== undefined) return undefined;
  return { variable, file: join(home, basename(name), dataFile) };
}

/** Message and hint about a known server that would write its data into its own program folder. */
export function dataFileAdvice(
  server: Pick<ServerConfig, "alias" | "endpoint">,
  home: string,
  command: string | undefined,
): { readonly message: string; readonly hint: string } | undefined {
  const known = knownServer(programWords(server));
  const data = known && unsetDataFile(server, known, home);
  if (known === undefined || data === undefined) return undefined;
  const { alias } = server;
  const [file, folder] = [shellWord(data.file), shellWord(dirname(data.file))];
  const hint =
    command === undefined
      ? `Keep the data in another folder. Create it: mkdir -p ${folder}. Then start the server with --env ${data.variable}=${file} --allow-write ${folder}`
      : command === IN_PROGRAM
        ? `Keep the data in another folder. Create it: mkdir -p ${folder}. Then set env: { ${data.variable}: ${JSON.stringify(data.file)} } and sandbox: { fs: { write: [${JSON.stringify(dirname(data.file))}] } } of the server`
        : `Keep the data in another folder: ${command} --data ${folder}`;
  return {
    message: `The sandbox of server "${alias}" does not let the server write to its program folder. ${basename(known.package)} writes its data there unless ${data.variable} names another file, so tools that write will fail.`,
    hint,
  };
}
