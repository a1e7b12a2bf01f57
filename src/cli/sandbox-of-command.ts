// The sandbox of a command given on the command line: hosts and paths checked. Loaded when there is one, since few runs need it.

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { parseNetworkRule, type SandboxDeclaration } from "../model/index.ts";
import type { SandboxOptions } from "./sandbox-options.ts";

/** The sandbox of a command given on the command line; nothing when nothing is said. */
export function sandboxOfCommand(
  { mode, modes, network, read, write }: SandboxOptions,
  cwd: string,
  problems: string[],
): SandboxDeclaration | undefined {
  for (const [server, own] of Object.entries(modes))
    problems.push(`--sandbox ${server}=${own} is for a server of the workspace; here it is --sandbox ${own}`);
  const hosts = networkOf(network, problems);
  const paths = (flag: string, written: readonly string[]): string[] =>
    written.map((path) => {
      const found = resolve(cwd, path);
      if (statSync(found, { throwIfNoEntry: false }) === undefined)
        problems.push(`${flag} ${path} is not there`);
      return found;
    });
  const [readable, writable] = [paths("--allow-read", read), paths("--allow-write", write)];
  const sandbox: SandboxDeclaration = {
    ...(mode === undefined ? {} : { mode }),
    ...(hosts.length === 0 ? {} : { network: hosts }),
    ...(readable.length + writable.length === 0
      ? {}
      : {
          fs: {
            ...(readable.length === 0 ? {} : { read: readable }),
            ...(writable.length === 0 ? {} : { write: writable }),
          },
        }),
  };
  return Object.keys(sandbox).length === 0 ? undefined : sandbox;
}

/** Each in its one spelling. */
export function networkOf(written: readonly string[], problems: string[]): string[] {
  return written.flatMap((host) => {
    const parsed = parseNetworkRule(host);
    if (parsed.ok) return [parsed.rule.text];
    problems.push(`--allow-net ${JSON.stringify(host)}: ${parsed.problem} ${parsed.hint}`);
    return [];
  });
}
