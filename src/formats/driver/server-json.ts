// The server.json beside a DRIVER.md: the server block by itself, or under `server`.

import type { Diagnostic } from "../../errors/index.ts";
import type { DriverServer } from "../../model/index.ts";
import { entryOf, Problems, readText } from "../text/index.ts";
import { readServer } from "./server.ts";

export interface ServerJson {
  readonly text: string;
  readonly file: string;
}

export function readServerJson({ text, file }: ServerJson): {
  readonly server?: DriverServer | undefined;
  readonly diagnostics: readonly Diagnostic[];
} {
  const { root, diagnostics } = readText(text, file);
  const problems = new Problems(file, diagnostics);
  if (root === undefined || problems.within({ line: 1, column: 1, path: [] }))
    return { diagnostics: problems.done() };
  const inner = entryOf(root, "server")?.value;
  if (root.kind !== "object" || (inner === undefined && entryOf(root, "kind") === undefined)) {
    problems.add(
      root,
      "this file does not say where the server is",
      'Write { "kind": "npm", "package": "<name>" }, or another kind: binary, docker, remote.',
    );
    return { diagnostics: problems.done() };
  }
  const server = readServer(inner ?? root, problems);
  return { server, diagnostics: problems.done() };
}
