// The program of a server: a package, a container image, or a program of this machine. A command line is parsed here, once for each
// start.

import { PortolanError } from "../../errors/index.ts";
import type { LocalProgram } from "../config/server-definition.ts";
import { type DockerOption, type DockerRun, parseDockerRun } from "./docker-run.ts";
import { type NpxCommand, type PackageRunner, parseNpx } from "./npx.ts";
import { PACKAGE_HINT, type PackageReference, parsePackageReference } from "./package-reference.ts";
import { parsePackageSpec } from "./package-spec.ts";

/** A program of this machine. */
interface BinaryProgram {
  readonly kind: "binary";
  readonly command: string;
  readonly args: readonly string[];
  /** Why it is no package or image although it looks like one. */
  readonly note?: string;
}

/** A package of a registry, or a bundle: the lock file says what it is. */
interface PackageReferenceProgram {
  readonly kind: "package";
  readonly reference: PackageReference;
  readonly args: readonly string[];
  readonly lock: { readonly file: string; readonly server: string };
}

/** A program that can be installed and started. */
export type InstallableProgram =
  | BinaryProgram
  | (NpxCommand & {
      readonly kind: "npm";
      readonly integrity?: string;
      readonly dependencies?: readonly string[];
    })
  /** `command` is the program of the engine, and `words` are all its arguments: `run …`. */
  | (DockerRun & { readonly kind: "docker"; readonly command: string; readonly words: readonly string[] });

export type ParsedProgram = InstallableProgram | PackageReferenceProgram;

/**
 * Throws if npx or another package runner is asked for something that it would do outside of the store: download
 * packages at every start, or run a shell.
 */
export function parseProgram(program: Exclude<LocalProgram, { kind: "package" }>): InstallableProgram;
export function parseProgram(program: LocalProgram): ParsedProgram;
export function parseProgram(program: LocalProgram): ParsedProgram {
  switch (program.kind) {
    case "npm": {
      const { package: spec, bin, integrity, dependencies, args = [] } = program;
      const parsed = parsePackageSpec(spec);
      const npm = asNpm(typeof parsed === "string" ? parsed : { ...parsed, bin, args }, "npm");
      return integrity === undefined ? npm : { ...npm, integrity, dependencies };
    }
    case "package": {
      const { lock, args = [] } = program;
      const reference = parsePackageReference(program.package);
      if (typeof reference !== "string") return { kind: "package", reference, lock, args };
      throw new PortolanError("CONFIG_INVALID", `${reference}.`, { hint: PACKAGE_HINT });
    }
    case "image": {
      const { image, args = [] } = program;
      const { command, args: words } = toCommandLine(program);
      return {
        ...{ kind: "docker", engine: "docker", command, words },
        options: imageOptions(program),
        image,
        args,
      };
    }
    default:
      return parseCommand(program.command, program.args ?? []);
  }
}

function parseCommand(command: string, args: readonly string[]): ParsedProgram {
  const program = programName(command);
  const runner = packageRunner(program, args);
  if (runner !== undefined) return asNpm(parseNpx(runner.words, runner.name), runner.name);
  if (program === "docker" || program === "podman") {
    const words = args[0] === "container" ? args.slice(1) : args;
    const run = words[0] === "run" ? parseDockerRun(program, words.slice(1)) : `it is not "${program} run"`;
    if (typeof run !== "string") return { kind: "docker", command, words: args, ...run };
    return {
      kind: "binary",
      command,
      args,
      note: `Portolan cannot interpret this ${program} command, and starts it unchanged: ${run}.`,
    };
  }
  return { kind: "binary", command, args };
}

/**
 * The container reads stdin unless it serves HTTP, and is removed when it ends. Names of variables stand on the command
 * line of the engine, values do not: other users of a machine see command lines.
 */
function imageOptions(program: LocalProgram): DockerOption[] {
  const stdin = "port" in program ? [] : [{ name: "interactive", value: undefined, text: "-i" }];
  const variables = Object.keys(program.env ?? {});
  return [
    ...stdin,
    { name: "rm", value: undefined, text: "--rm" },
    ...variables.map((name) => ({ name: "env", value: name, text: `-e ${name}` })),
  ];
}

function folderOf(file: string): string {
  return file.replace(/[/\\][^/\\]*$/, "") || ".";
}

/** The command line that runs a program for config files of clients and for people. */
export function toCommandLine(program: LocalProgram): {
  readonly command: string;
  readonly args: readonly string[];
} {
  const { args = [] } = program;
  switch (program.kind) {
    case "npm": {
      const { package: spec, bin } = program;
      const words = bin === undefined ? ["-y", spec] : ["-y", "-p", spec, bin];
      return { command: "npx", args: [...words, ...args] };
    }
    case "image": {
      const options = imageOptions(program).flatMap(({ text }) => text.split(" "));
      return { command: "docker", args: ["run", ...options, program.image, ...args] };
    }
    case "package": {
      // Only Portolan reads its lock file, so another client gets the server through Portolan.
      const { file, server } = program.lock;
      return { command: "portolan", args: ["serve", folderOf(file), "--stdio", "--only", server] };
    }
    default:
      return { command: program.command, args };
  }
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

function asNpm(found: NpxCommand | string, command: string): ParsedProgram & { readonly kind: "npm" } {
  if (typeof found !== "string") return { kind: "npm", ...found };
  throw new PortolanError("CONFIG_INVALID", `Portolan cannot run this ${command} command: ${found}.`, {
    hint: "Write npm: PACKAGE in the config of the server, or use the command npx -y PACKAGE with the arguments of the server. If neither is enough, install the package yourself, and use its program as the command.",
  });
}
