// Reads the server.json beside a DRIVER.md: the server block itself, or an object with it under `server`.

import type { Diagnostic } from "../../../errors/index.ts";
import type { DriverServer } from "../../../model/index.ts";
import { entryOf, Diagnostics, readText } from "../../document/index.ts";
import { folderOf } from "../../manifest/index.ts";
import { SERVER } from "../schema/server-schema.ts";

export interface ServerJson {
  readonly text: string;
  readonly file: string;
}

export function readServerJson({ text, file }: ServerJson): {
  readonly server?: DriverServer;
  readonly diagnostics: readonly Diagnostic[];
} {
  const { root, diagnostics: syntax } = readText(text, file);
  const diagnostics = new Diagnostics(file, syntax);
  if (root === undefined || diagnostics.hasErrorIn({ line: 1, column: 1, path: [] }))
    return { diagnostics: diagnostics.sorted() };
  const inner = entryOf(root, "server")?.value;
  if (root.kind !== "object" || (inner === undefined && entryOf(root, "kind") === undefined)) {
    diagnostics.add(
      root,
      "this file does not name the MCP server",
      'Write { "kind": "npm", "package": "<name>" }, or another kind: binary, docker, remote.',
    );
    return { diagnostics: diagnostics.sorted() };
  }
  const server = SERVER.read(inner ?? root, { diagnostics, folder: folderOf(file) });
  return { server, diagnostics: diagnostics.sorted() };
}
