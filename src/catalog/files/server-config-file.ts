// The server config file beside an mcpfile: `mcpserver.yaml`, or `payments.mcpserver.yaml` for `payments.mcpfile.yaml`.

import { basename, dirname, join } from "node:path";
import type { BesideFile } from "../formats.ts";
import { readConfigFile } from "./read-file.ts";
import type { ReadConfigFile } from "./accepted-files.ts";

/** Returns the possible paths, the usual one first. The list is empty for a file that is not named like an mcpfile. */
export function serverConfigPaths(file: string): string[] {
  const [, before = "", ending = ""] = /^(|.+\.)mcpfile\.(ya?ml)$/i.exec(basename(file)) ?? [];
  if (ending === "") return [];
  return [ending, ending.toLowerCase() === "yml" ? "yaml" : "yml"].map((end) =>
    join(dirname(file), `${before}mcpserver.${end}`),
  );
}

/** Reads the first one that exists. An unreadable file is an error, because it may contain TLS settings. */
export async function readServerConfig(
  file: string,
  read: ReadConfigFile = readConfigFile,
): Promise<BesideFile | undefined> {
  for (const name of serverConfigPaths(file)) {
    const found = await read(name);
    if (found.kind === "text") return { file: name, text: found.text };
    if (found.kind === "problem") return { file: name, problem: found.message };
  }
  return undefined;
}
