// How strictly servers of the workspace are boxed, as the command line says it: by name, or not at all.

import { PortolanError } from "../errors/index.ts";
import type { SandboxMode } from "../model/index.ts";
import { givenSandboxFlags, type SandboxOptions } from "./sandbox-options.ts";
import { serverNamed, type Source } from "./workspace-source.ts";

/** What is refused when servers of the workspace are meant: a mode for all of them is nothing to be said in passing. */
export function workspaceSandboxProblems(options: SandboxOptions): string[] {
  const { mode, network, read, write } = options;
  return [
    ...(mode === undefined
      ? []
      : [
          `--sandbox ${mode} names no server; write --sandbox <server>=${mode} for each that it is meant for`,
        ]),
    ...givenSandboxFlags({ modes: {}, network, read, write }).map(
      (flag) =>
        `${flag} is for a command; a server of the workspace has it in its declaration, under sandbox`,
    ),
  ];
}

/** The modes for servers of the workspace. Throws for what names none. */
export function workspaceSandbox(
  options: SandboxOptions,
  source: Source,
): Readonly<Record<string, SandboxMode>> | undefined {
  const problems = workspaceSandboxProblems(options);
  if (problems.length > 0) throw new PortolanError("USAGE", problems.join("\n"), { data: { problems } });
  const names = Object.keys(options.modes);
  for (const name of names) serverNamed(source, name);
  return names.length === 0 ? undefined : options.modes;
}
