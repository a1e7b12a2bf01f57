// What the user wants to talk to: a URL, a quoted command, or the words after `--`.

import { PortolanError } from "../../errors/index.ts";

export interface UrlTarget {
  readonly kind: "url";
  readonly transport: "http" | "websocket";
  readonly url: string;
  /** The address without what may be secret in it. */
  readonly label: string;
}

export interface CommandTarget {
  readonly kind: "command";
  readonly command: string;
  readonly args: readonly string[];
  readonly label: string;
}

export type Target = UrlTarget | CommandTarget;

/** What stands behind a command's first word. */
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

/** Where those come from that servers are often run by. */
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

/** Programs that run others: alone they are no server, but the first word of a command that lost its quotes. */
const RUNNERS: ReadonlySet<string> = new Set(
  "node npx bun bunx deno python python3 uv uvx pipx ruby java docker podman sh bash".split(" "),
);

/** True for a word that begins as a URL does. */
export function hasScheme(word: string): boolean {
  return SCHEME.test(word.trim());
}

/** The target that one word of the command line names. */
export function parseTarget(text: string, context: TargetContext): Target {
  const scheme = SCHEME.exec(text.trim())?.[1]?.toLowerCase();
  if (scheme !== undefined) return parseUrl(text.trim(), scheme);
  const words = splitWords(text, context.windows);
  if (words.length === 0) throw new PortolanError("TARGET_INVALID", "The target is empty.");
  if (words.length === 1 && RUNNERS.has(words[0] as string)) {
    throw new PortolanError("TARGET_INVALID", `"${words[0]}" alone is no server.`, {
      hint: `Put quotes around the whole command, such as "${words[0]} some-server", or write it after --.`,
    });
  }
  return toCommand(words, context, words.length > 1);
}

/** A command given word by word, after `--`: nothing is split or unquoted again. */
export function commandTarget(words: readonly string[], context: TargetContext): CommandTarget {
  const [command] = words;
  if (command === undefined || command === "") {
    throw new PortolanError("TARGET_INVALID", "No command stands after --.", {
      hint: "Write the server's command after it: portolan list -- node server.js",
    });
  }
  return toCommand(words, context, true);
}

/** `isMeant`: it can be nothing but a command. */
function toCommand(words: readonly string[], context: TargetContext, isMeant: boolean): CommandTarget {
  const [command = "", ...args] = words;
  const state = context.probe(command);
  if (state !== "found") throw notACommand(command, args, state, isMeant);
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
    throw new PortolanError("TARGET_INVALID", `A server cannot be reached by ${scheme}://.`, {
      hint: "Use http://, https://, ws:// or wss://, or a quoted command.",
    });
  }
  let url: URL;
  try {
    url = new URL(text);
  } catch (cause) {
    throw new PortolanError("TARGET_INVALID", `${JSON.stringify(text)} is not a URL.`, { cause });
  }
  if (url.username !== "" || url.password !== "") {
    throw new PortolanError("TARGET_INVALID", `The URL of ${url.host} holds a user name or password.`, {
      hint: 'Give credentials as a header instead: --header "Authorization: Basic …"',
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
      hint: `${install}, correct its name, or give its full path.`,
    });
  }
  if (args.length === 0 && HOST_AND_PORT.test(command)) {
    const local = /^(?:localhost|127\.)/i.test(command);
    return new PortolanError("TARGET_INVALID", `${shown} is neither a URL nor a command.`, {
      hint: `A URL needs its scheme: ${local ? "http" : "https"}://${command}`,
    });
  }
  const message = isPath ? `There is no file ${shown}.` : `${shown} is neither a URL nor a command on PATH.`;
  return new PortolanError("TARGET_INVALID", message, {
    hint: 'A target is a URL (https://host/mcp), a quoted command ("npx -y some-server"), or the words after --.',
  });
}

const REFUSED = /[|&;<>`\n]/;

/**
 * Splits a command into words the way a POSIX shell does, quotes and backslashes included, and does nothing else that a shell does.
 * What only a shell could carry out is refused, so that it never silently becomes an argument.
 */
export function splitWords(text: string, windows = false): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index] as string;
    const next = text[index + 1];
    if (character === "'" || character === '"') {
      const quoted = readQuoted(text, index, windows);
      word = (word ?? "") + quoted.text;
      index = quoted.end;
    } else if (character === "\\" && (!windows || next === '"')) {
      if (next === undefined) throw unsplittable(text, "It ends in a backslash.");
      if (next !== "\n") word = (word ?? "") + next;
      index += 1;
    } else if (/[ \t\r]/.test(character) || (character === "\n" && text.slice(index).trim() === "")) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (REFUSED.test(character) || (character === "$" && next === "(")) {
      const shown = character === "$" ? "$(" : character === "\n" ? "a line break" : character;
      throw unsplittable(text, `${shown} has a meaning only in a shell, and no shell is used.`);
    } else word = (word ?? "") + character;
  }
  if (word !== undefined) words.push(word);
  return words;
}

function readQuoted(text: string, start: number, windows: boolean): { text: string; end: number } {
  const quote = text[start] as string;
  let content = "";
  for (let index = start + 1; index < text.length; index += 1) {
    const character = text[index] as string;
    if (character === quote) return { text: content, end: index };
    const next = text[index + 1];
    if (
      character === "\\" &&
      quote === '"' &&
      next !== undefined &&
      (windows ? next === '"' : '"\\$`\n'.includes(next))
    ) {
      if (next !== "\n") content += next;
      index += 1;
    } else content += character;
  }
  throw unsplittable(text, `A ${quote} is not closed.`);
}

function unsplittable(text: string, reason: string): PortolanError {
  return new PortolanError(
    "TARGET_INVALID",
    `The command ${JSON.stringify(text.slice(0, 200))} cannot be split into words. ${reason}`,
    {
      hint: "Put quotes around the part that is meant literally, or start a shell yourself: -- sh -c '…'",
    },
  );
}
