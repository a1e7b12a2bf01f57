// Direct targets: a URL, a quoted command, or the words after `--`.

import { splitCommandLine } from "../../base/text/command-line.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { parseProgram } from "../../model/index.ts";

export interface UrlTarget {
  readonly kind: "url";
  readonly transport: "http" | "websocket";
  readonly url: string;
  /** The URL without the parts that may be secret. */
  readonly label: string;
}

export interface CommandTarget {
  readonly kind: "command";
  readonly command: string;
  readonly args: readonly string[];
  readonly label: string;
}

export type Target = UrlTarget | CommandTarget;

/** The state of a command's program. */
export type CommandState = "found" | "missing" | "directory" | "not-executable";

export interface TargetContext {
  readonly windows: boolean;
  readonly probe: (command: string) => CommandState;
}

const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;
const HOST_AND_PORT =
  /^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|[a-z0-9-]+(?:\.[a-z0-9-]+)+)(?::\d+)?(?:\/\S*)?$/i;
const INTERPRETERS: Readonly<Record<string, string>> = {
  js: "node",
  mjs: "node",
  cjs: "node",
  ts: "node",
  mts: "node",
  py: "python3",
  rb: "ruby",
  sh: "sh",
  jar: "java -jar",
};

/** Download pages of programs that often run servers. */
const HOMES: Readonly<Record<string, string>> = {
  uv: "https://docs.astral.sh/uv",
  uvx: "https://docs.astral.sh/uv",
  pipx: "https://pipx.pypa.io",
  bun: "https://bun.sh",
  bunx: "https://bun.sh",
  deno: "https://deno.com",
  docker: "https://docs.docker.com/engine/install",
  podman: "https://podman.io",
};

/** Programs that run others. Alone they are not a server, but the start of a command without quotes. */
const RUNNERS: ReadonlySet<string> = new Set(
  "node npx bun bunx deno python python3 uv uvx pipx ruby java docker podman sh bash".split(" "),
);

/** True for a word that begins like a URL. */
export function hasScheme(word: string): boolean {
  return SCHEME.test(word.trim());
}

/** Parses one word of the command line as a target. */
export function parseTarget(text: string, context: TargetContext): Target {
  const scheme = SCHEME.exec(text.trim())?.[1]?.toLowerCase();
  if (scheme !== undefined) return parseUrl(text.trim(), scheme);
  const words = splitWords(text, context.windows);
  if (words.length === 0) throw new PortolanError("TARGET_INVALID", "The target is empty.");
  if (words.length === 1 && RUNNERS.has(words[0] as string)) {
    throw new PortolanError("TARGET_INVALID", `"${words[0]}" alone is not a server.`, {
      hint: `Put quotes around the whole command, such as "${words[0]} some-server", or write it after --.`,
    });
  }
  return toCommand(words, context, words.length > 1);
}

/** A command given word by word after `--`, which is not split again. */
export function commandTarget(words: readonly string[], context: TargetContext): CommandTarget {
  const [command] = words;
  if (command === undefined || command === "") {
    throw new PortolanError("TARGET_INVALID", "There is no command after --.", {
      hint: "Write the server's command after --: portolan list -- node server.js",
    });
  }
  return toCommand(words, context, true);
}

/** `isMeant`: true when the words can only be a command. */
function toCommand(words: readonly string[], context: TargetContext, isMeant: boolean): CommandTarget {
  const [command = "", ...args] = words;
  const state = context.probe(command);
  // Portolan installs a package itself, so bunx or pnpm need not be on this machine.
  const isInstalled =
    args.length > 0 && state === "missing" && parseProgram({ command, args }).kind === "npm";
  if (state !== "found" && !isInstalled) throw notACommand(command, args, state, isMeant);
  return { kind: "command", command, args, label: [command, ...args].join(" ") };
}

function parseUrl(text: string, scheme: string): UrlTarget {
  const transport =
    scheme === "http" || scheme === "https"
      ? "http"
      : scheme === "ws" || scheme === "wss"
        ? "websocket"
        : undefined;
  if (transport === undefined) {
    throw new PortolanError("TARGET_INVALID", `Portolan does not support ${scheme}:// URLs.`, {
      hint: "The URL of a server begins with http://, https://, ws:// or wss://.",
    });
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch (cause) {
    throw new PortolanError("TARGET_INVALID", `${JSON.stringify(text)} is not a URL.`, { cause });
  }
  if (url.username !== "" || url.password !== "") {
    throw new PortolanError("TARGET_INVALID", `The URL of ${url.host} contains a user name or password.`, {
      hint: 'Send credentials as a header instead: --header "Authorization: Basic …"',
    });
  }
  return { kind: "url", transport, url: url.href, label: `${url.protocol}//${url.host}${url.pathname}` };
}

function notACommand(
  command: string,
  args: readonly string[],
  state: CommandState,
  isMeant: boolean,
): PortolanError {
  const shown = JSON.stringify(command);
  if (state === "directory")
    return new PortolanError("TARGET_INVALID", `${shown} is a directory.`, {
      hint: 'Name the program to start, for example "node ./server.js".',
    });
  if (state === "not-executable") {
    const interpreter = INTERPRETERS[/\.([a-z]+)$/i.exec(command)?.[1]?.toLowerCase() ?? ""];
    const hint =
      interpreter === undefined
        ? "Make the file executable, or name the program that runs it."
        : `Try "${[interpreter, command, ...args].join(" ")}".`;
    return new PortolanError("TARGET_INVALID", `${shown} is not executable.`, { hint });
  }
  const isPath = /[/\\]/.test(command);
  if (isMeant && !isPath) {
    const home = Object.hasOwn(HOMES, command) ? HOMES[command] : undefined;
    const install = home === undefined ? "Install it" : `Install it (${home})`;
    return new PortolanError("TARGET_INVALID", `There is no program ${shown} on the PATH.`, {
      hint: `${install}, correct its name, or write its full path.`,
    });
  }
  if (args.length === 0 && HOST_AND_PORT.test(command)) {
    const local = /^(?:localhost|127\.)/i.test(command);
    return new PortolanError("TARGET_INVALID", `${shown} is neither a URL nor a command.`, {
      data: UNKNOWN_TARGET,
      hint: `A URL needs its scheme: ${local ? "http" : "https"}://${command}`,
    });
  }
  if (isPath) return new PortolanError("TARGET_INVALID", `There is no file ${shown}.`);
  return new PortolanError("TARGET_INVALID", `${shown} is neither a URL nor a command on PATH.`, {
    data: UNKNOWN_TARGET,
  });
}

/** In the `data` of the error for a word that is neither a URL nor a command. */
const UNKNOWN_TARGET = { reason: "unknown-target" } as const;

/** True for the error of a word that is neither a URL nor a command. */
export function isUnknownTarget(thrown: unknown): thrown is PortolanError {
  return isPortolanError(thrown) && thrown.data.reason === UNKNOWN_TARGET.reason;
}

/** Splits a command that a person typed into words. No shell runs it, so text that only a shell understands is refused. */
export function splitWords(text: string, windows = false): readonly string[] {
  const words = splitCommandLine(text, { typed: true, windows });
  if (!("problem" in words)) return words;
  const shown = JSON.stringify(text.slice(0, 200));
  throw new PortolanError(
    "TARGET_INVALID",
    `The command ${shown} cannot be split into words: ${words.problem}.`,
    {
      hint: "Put quotes around the part that is meant literally, or start a shell yourself: -- sh -c '…'",
    },
  );
}
