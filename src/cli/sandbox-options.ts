// The options about the sandbox: all of it for a command given on the command line, the mode alone for servers of the workspace.

import type { Command } from "commander";
import { didYouMean } from "../errors/index.ts";
import type { SandboxMode } from "../model/index.ts";

export interface RawSandboxOptions {
  sandbox?: string[];
  allowNet?: string[];
  allowRead?: string[];
  allowWrite?: string[];
}

export interface SandboxOptions {
  /** Without a server's name. */
  readonly mode?: SandboxMode | undefined;
  /** By the names of servers. */
  readonly modes: Readonly<Record<string, SandboxMode>>;
  /** These as they are written. */
  readonly network: readonly string[];
  readonly read: readonly string[];
  readonly write: readonly string[];
}

const MODES: readonly SandboxMode[] = ["enforce", "warn", "off"];

const collect = (value: string, previous: string[] | undefined): string[] => [...(previous ?? []), value];

/** For a command given on the command line; of the workspace, the mode. */
export function addSandboxOptions(command: Command): Command {
  return command
    .option(
      "--sandbox <mode>",
      "enforce, warn or off (commands); <server>=<mode> for one of the workspace (repeatable)",
      collect,
    )
    .option(
      "--allow-net <host>",
      "host that the command may reach, or *.host, host:port (repeatable)",
      collect,
    )
    .option("--allow-read <path>", "folder or file that it may read (repeatable)", collect)
    .option("--allow-write <path>", "folder or file that it may read and write (repeatable)", collect);
}

/** For commands about the workspace alone. */
export function addSandboxModeOption(command: Command): Command {
  return command.option(
    "--sandbox <server>=<mode>",
    "start this server with enforce, warn or off, whatever is declared (repeatable)",
    collect,
  );
}

export function parseSandboxOptions(raw: RawSandboxOptions, problems: string[]): SandboxOptions {
  const modes = new Map<string, SandboxMode>();
  let own: SandboxMode | undefined;
  for (const text of raw.sandbox ?? []) {
    const equals = text.lastIndexOf("=");
    const server = equals < 0 ? undefined : text.slice(0, equals);
    const written = text.slice(equals + 1);
    const mode = MODES.find((known) => known === written);
    const before = server === undefined ? own : modes.get(server);
    if (server === "" || mode === undefined) problems.push(wrongMode(text, written, server));
    else if (before !== undefined && before !== mode)
      problems.push(
        `--sandbox says both ${before} and ${mode}${server === undefined ? "" : ` for ${server}`}`,
      );
    else if (server === undefined) own = mode;
    else modes.set(server, mode);
  }
  return {
    ...(own === undefined ? {} : { mode: own }),
    modes: Object.fromEntries(modes),
    network: raw.allowNet ?? [],
    read: raw.allowRead ?? [],
    write: raw.allowWrite ?? [],
  };
}

function wrongMode(text: string, written: string, server: string | undefined): string {
  if (server === "") return `--sandbox ${JSON.stringify(text)} names no server before =`;
  const hint = didYouMean(written, MODES);
  return `--sandbox must be ${MODES.join(", ")}, got ${JSON.stringify(written)}.${hint === undefined ? "" : ` ${hint}`}`;
}

/** Which of the options are given, by their flags. */
export function givenSandboxFlags(options: SandboxOptions): string[] {
  const { mode, modes, network, read, write } = options;
  const given: readonly (readonly [string, boolean])[] = [
    ["--sandbox", mode !== undefined || Object.keys(modes).length > 0],
    ["--allow-net", network.length > 0],
    ["--allow-read", read.length > 0],
    ["--allow-write", write.length > 0],
  ];
  return given.filter(([, isGiven]) => isGiven).map(([flag]) => flag);
}
