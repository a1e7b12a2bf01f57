// The file beside an mcpfile that says how it is served: `mcpserver.yaml`, or `payments.mcpserver.yaml` for `payments.mcpfile.yaml`.

import { basename, dirname, join } from "node:path";
import type { BesideFile } from "../formats.ts";
import { readDeclarationFile } from "./read-file.ts";
import type { ReadDeclaration } from "./taken.ts";

/** Where it would be, the likelier name first; nothing for files with other names. */
export function namesBeside(file: string): string[] {
  const [, before = "", ending = ""] = /^(|.+\.)mcpfile\.(ya?ml)$/i.exec(basename(file)) ?? [];
  if (ending === "") return [];
  return [ending, ending.toLowerCase() === "yml" ? "yaml" : "yml"].map((end) =>
    join(dirname(file), `${before}mcpserver.${end}`),
  );
}

/** The first that is there. One that cannot be read is told as such: it may say whom requests trust. */
export async function readBeside(
  file: string,
  read: ReadDeclaration = readDeclarationFile,
): Promise<BesideFile | undefined> {
  for (const name of namesBeside(file)) {
    const found = await read(name);
    if (found.kind === "text") return { file: name, text: found.text };
    if (found.kind === "problem") return { file: name, problem: found.message };
  }
  return undefined;
}
