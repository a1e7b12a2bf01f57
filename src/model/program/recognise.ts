// Recognises what a command runs: a package of a registry, a container image, or a program of this machine.

import { PortolanError } from "../../errors/index.ts";
import type { StdioEndpoint } from "../config/server-definition.ts";
import { type DockerRun, parseDockerRun } from "./docker-run.ts";
import { type NpxCommand, type PackageRunner, parseNpx } from "./npx.ts";

/** A program of this machine. */
export interface BinaryCommand {
  readonly kind: "binary";
  /** Why it is no package or image although it looks like one. */
  readonly note?: string;
}

export type Recognised =
  | BinaryCommand
  | (NpxCommand & { readonly kind: "npm" })
  | (DockerRun & { readonly kind: "docker" });

/**
 * Throws if npx or another package runner is asked for something that it would do outside of the store: download
 * packages at every start, or run a shell.
 */
export function recognise({ command, args = [] }: Pick<StdioEndpoint, "command" | "args">): Recognised {
  const program = programName(command);
  const runner = packageRunner(program, args);
  if (runner !== undefined) return asNpm(parseNpx(runner.words, runner.name), runner.name);
  if (program === "docker" || program === "podman") {
    const words = args[0] === "container" ? args.slice(1) : args;
    const run = words[0] === "run" ? parseDockerRun(program, words.slice(1)) : `it is no "${program} run"`;
    if (typeof run !== "string") return { kind: "docker", ...run };
    return { kind: "binary", note: `"${program}" is started as it is: ${run}.` };
  }
  return { kind: "binary" };
}

/** The package runner of a command, and the words after it. */
function packageRunner(
  program: string,
  args: readonly string[],
): { readonly name: PackageRunner; readonly words: readonly string[] } | undefined {
  if (program === "npx" || program === "bunx") return { name: program, words: args };
  if (program === "pnpx") return { name: "pnpm dlx", words: args };
  const commands = Object.hasOwn(SUBCOMMANDS, program) ? SUBCOMMANDS[program] : undefined;
  // pnpm and yarn also accept options before their subcommand.
  const at = args.findIndex((word) => !word.startsWith("-"));
  const name = commands?.[args[at] ?? ""];
  return name === undefined ? undefined : { name, words: args.toSpliced(at, 1) };
}

const SUBCOMMANDS: Readonly<Record<string, Readonly<Partial<Record<string, PackageRunner>>>>> = {
  npm: { exec: "npm exec", x: "npm exec" },
  bun: { x: "bunx" },
  pnpm: { dlx: "pnpm dlx" },
  yarn: { dlx: "yarn dlx" },
};

/** `/usr/bin/npx` and `npx.cmd` are both `npx`. */
export function programName(command: string): string {
  return command.replace(/^.*[/\\]/, "").replace(/\.(?:exe|cmd|bat|ps1)$/i, "");
}

function asNpm(found: NpxCommand | string, command: string): Recognised {
  if (typeof found !== "string") return { kind: "npm", ...found };
  throw new PortolanError("CONFIG_INVALID", `"${command}" cannot be used like this: ${found}.`, {
    hint: "Write npm: PACKAGE, or npx -y PACKAGE and then the program's own arguments. Anything else: install it yourself, and name its program.",
  });
}
