// Hints for programs that fail at their start: package runners without network, packages whose native part is missing, and
// servers that reached a resource limit of their sandbox.

import { basename } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { constants } from "node:os";
import type { PortolanError } from "../../errors/index.ts";
import { IN_DRIVER, IN_PROGRAM, limitRule, type ResourceLimits } from "../../model/index.ts";

/** Options of uvx and pipx that are followed by a value. */
const WITH_VALUE = new Set(
  "--from --spec --with --with-requirements --python -p --index --index-url -i --extra-index-url --default-index --pip-args --cache-dir --directory --config-file".split(
    " ",
  ),
);

/**
 * For package runners (uvx, pipx, deno), which download their package at each start and so fail without network:
 * the commands that install the package once. Undefined for other programs, and where the network is granted.
 */
export function fetcherHint({ program, args, sandbox }: LaunchPlan): string | undefined {
  if (sandbox.backend === "none" || sandbox.policy.network.length > 0) return undefined;
  const name = basename(program).replace(/\.(?:exe|cmd)$/i, "");
  const remedy = remedyFor(name, args);
  if (remedy === undefined) return undefined;
  return `${name} downloads the package of the server at each start, but the sandbox of the server grants no network access. ${remedy}`;
}

function remedyFor(name: string, args: readonly string[]): string | undefined {
  if (name === "uvx") return installOnce("uv tool install", args);
  if (name === "uv" && args[0] === "tool" && args[1] === "run")
    return installOnce("uv tool install", args.slice(2));
  if (name === "uv" && args[0] === "run")
    return "Run `uv sync` once in the project of the server, and use the program in its .venv/bin as the command.";
  if (name === "pipx" && args[0] === "run") return installOnce("pipx install", args.slice(1));
  if (name === "deno") return forDeno(args);
  return undefined;
}

/** Options of `uvx` and `pipx run` that the installation needs too, as the command that installs names them. */
const INSTALL_OPTIONS = {
  "uv tool install": new Map([
    ["--with", "--with"],
    ["--with-requirements", "--with-requirements"],
    ["--python", "--python"],
    ["-p", "--python"],
  ]),
  "pipx install": new Map([
    ["--with", "--preinstall"],
    ["--python", "--python"],
  ]),
};

function installOnce(command: keyof typeof INSTALL_OPTIONS, args: readonly string[]): string {
  const { plain, options } = wordsOf(args);
  const named = new Map(options);
  const [first = "PACKAGE"] = plain;
  const spec = named.get("--from") ?? named.get("--spec") ?? first;
  // `package@1.2`, `package[extra]==1.2`
  const program = first.replace(/[@[=<>~! ].*$/s, "");
  const repeated = options.flatMap(([flag, value]) => {
    const own = INSTALL_OPTIONS[command].get(flag);
    return own === undefined ? [] : [own, shellWord(value)];
  });
  const install = [command, ...repeated, shellWord(spec)].join(" ");
  return `Install the package once, with \`${install}\`, and then use \`${shellWord(program)}\` as the command, with the arguments that follow the package name.`;
}

interface RunnerWords {
  /** The package or program, and its arguments. */
  readonly plain: readonly string[];
  /** Options of the runner that have a value. */
  readonly options: readonly (readonly [string, string])[];
}

function wordsOf(args: readonly string[]): RunnerWords {
  const options: [string, string][] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (word === "--") return { plain: args.slice(at + 1), options };
    if (!word.startsWith("-")) return { plain: args.slice(at), options };
    const [flag = "", value] = word.split(/=(.*)/s);
    if (value !== undefined) options.push([flag, value]);
    else if (WITH_VALUE.has(flag)) options.push([flag, args[(at += 1)] ?? ""]);
  }
  return { plain: [], options };
}

/** A local script downloads nothing itself. */
function forDeno(args: readonly string[]): string | undefined {
  const [command, ...words] = args;
  const at = words.findIndex((word) => /^(?:npm:|jsr:|https?:)/.test(word));
  if (command !== "run" || at === -1) return undefined;
  const source = words[at] ?? "";
  const npm = /^npm:\/?(.+)$/.exec(source)?.[1];
  if (npm !== undefined)
    return `If the package also runs on Node.js, use \`npx -y ${shellWord(npm)}\` as the command, with only the arguments that follow the package: Portolan installs it once.`;
  const options = words.slice(0, at).map((word) => `${shellWord(word)} `);
  return `Compile the server once, with \`deno compile --output server ${options.join("")}${shellWord(source)}\`, and then use \`./server\` as the command, with only the arguments that follow the source.`;
}

/** A file of compiled code in a package, as Node.js and the `bindings` package print it. */
const NATIVE_FILE =
  /node_modules\/((?:@[\w.-]{1,100}\/)?[\w.-]{1,100})\/(?:(?!node_modules)[^\s'"]){0,300}\.node\b/;

/** For an npm package that lacks a compiled file: Portolan runs no install scripts, which would build or download it. */
export function nativeHint(plan: LaunchPlan | undefined, { stderr = "" }: PortolanError): string | undefined {
  if (plan?.kind !== "npm") return undefined;
  const [, part] = NATIVE_FILE.exec(stderr) ?? [];
  if (part === undefined) return undefined;
  const [, name = "PACKAGE"] = /^((?:@[^@/\s]+\/)?[^@/\s]+)/.exec(plan.source) ?? [];
  const folder = `~/mcp/${basename(name)}`;
  return `The server needs compiled code of ${part}, which an install script would build. Portolan runs no install scripts. If you trust the package, install it yourself: \`npm install --prefix ${folder} ${shellWord(name)}\`, and use the full path of its program in ${folder}/node_modules/.bin as the command. In args, keep only the words after the package name: ["-y", ${JSON.stringify(name)}, "--verbose"] becomes ["--verbose"].`;
}

/** For a Node.js without support for TypeScript that should run a `.ts` file. */
export function typescriptHint({ stderr = "" }: PortolanError): string | undefined {
  const [, ending, path = ""] =
    /ERR_UNKNOWN_FILE_EXTENSION\]: Unknown file extension "(\.[cm]?tsx?)" for (\S+)/.exec(stderr) ?? [];
  if (ending === undefined) return undefined;
  return `This version of Node.js cannot run the TypeScript file ${path}. Compile it, or write command: npx, and tsx as the first word of args.`;
}

/** A runtime that gets no more memory may end with any of several signals. */
const ENDED_BY: Readonly<Partial<Record<keyof ResourceLimits, readonly NodeJS.Signals[]>>> = {
  cpuSeconds: ["SIGXCPU", "SIGKILL"],
  fileBytes: ["SIGXFSZ"],
  memoryBytes: ["SIGSEGV", "SIGABRT", "SIGTRAP", "SIGILL", "SIGBUS"],
};

/** For a server that a signal ended: the sandbox limit that may have caused it. */
export function limitHint(plan: LaunchPlan | undefined, { data }: PortolanError): string | undefined {
  if (plan === undefined || plan.sandbox.backend === "none") return undefined;
  const signal = signalOf(data);
  const { limits } = plan.sandbox.policy;
  const reached = (Object.keys(ENDED_BY) as (keyof ResourceLimits)[]).find(
    (name) => signal !== undefined && limits[name] !== undefined && ENDED_BY[name]?.includes(signal) === true,
  );
  if (reached === undefined) return undefined;
  return `The server may have reached a limit of its sandbox, ${limitRule(reached, limits[reached])}. If the server needs more, raise this limit in the sandbox of its config.`;
}

/** The wrapper programs of a sandbox report a signal as an exit code. */
function signalOf({ signal, exitCode }: PortolanError["data"]): NodeJS.Signals | undefined {
  if (typeof signal === "string") return signal as NodeJS.Signals;
  const number = typeof exitCode === "number" ? exitCode - 128 : 0;
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found?.[0] as NodeJS.Signals | undefined;
}

/** Whether the source of the program cannot be parsed, which has nothing to do with a sandbox. */
export function isProgramMistake(stderr = ""): boolean {
  return /^(?:SyntaxError|IndentationError|TabError): /m.test(stderr);
}

/**
 * For a program of a config file that ended while starting in a sandbox, if nothing else explains it: the command that starts it
 * without the sandbox, for comparison.
 */
export function comparisonHint(
  plan: LaunchPlan | undefined,
  { code, data, stderr }: PortolanError,
  command: string | undefined,
): string | undefined {
  if (isProgramMistake(stderr)) return undefined;
  if (command === undefined || command === IN_PROGRAM || command === IN_DRIVER) return undefined;
  if (plan === undefined || plan.sandbox.backend === "none" || plan.kind === "docker") return undefined;
  const hasEnded = data.exitCode !== undefined || data.signal !== undefined;
  // Text on stdout that is no message is an explanation.
  if (code !== "SERVER_START_FAILED" || !hasEnded || data.stdout !== undefined) return undefined;
  const name = shellWord(plan.server);
  const [, workspace = ""] = command.split(`portolan grant ${name}`);
  return `The server runs in a sandbox. To test whether the sandbox is the reason, start the server without it: portolan list ${name} --sandbox ${name}=off${workspace}. To see its grants: portolan why --plan ${name}${workspace}`;
}
