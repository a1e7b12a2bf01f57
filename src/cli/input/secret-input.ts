// Input of secrets: typed without being shown, or piped in. Never taken from the command line.

import { PortolanError } from "../../errors/index.ts";
import type { PassphraseRequest, PromptPassphrase } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import type { Prompter } from "../terminal/prompter.ts";
import type { Spinner } from "../terminal/spinner.ts";
import { isInteractive } from "./handlers.ts";
import { keepUnlockedAndSay } from "./keep-unlocked.ts";

const MAX_BYTES = 1024 * 1024;
const MAX_ROUNDS = 3;
/** A shorter passphrase gets a warning. */
const SHORT_PASSPHRASE = 8;

/** The value of a secret: typed at the terminal, otherwise all of stdin without its last line break. */
export async function readSecretValue(cli: Cli, name: string): Promise<string> {
  if (isInteractive(cli)) {
    const value = await (
      await prompter(cli)
    ).password({
      message: `Value of ${name}`,
      check: (text) => (text === "" ? "A value is needed; Ctrl-C cancels." : undefined),
      signal: cli.interrupt.signal,
    });
    if (value === undefined) throw cancelled();
    return value;
  }
  if (cli.io.stdin.isTTY === true)
    throw new PortolanError("USAGE", "The value cannot be typed here: stderr is not a terminal.", {
      hint: `Pipe the value in: printf %s "$VALUE" | portolan secrets set ${name}`,
    });
  const text = await readPipe(cli);
  const value = text.replace(/\r?\n$/, "");
  if (value === "")
    throw new PortolanError("USAGE", `No value for ${name} came from stdin.`, {
      hint: `Pipe it in: printf %s "$VALUE" | portolan secrets set ${name}. At a terminal, the command asks for it.`,
    });
  return value;
}

export interface PassphrasePrompt {
  /** Asks for a vault's passphrase, twice for a new one, also while stdin is a pipe. Undefined without a terminal. */
  readonly prompt: PromptPassphrase | undefined;
  /** Throws when the user cancelled the prompt: some commands continue without a vault, but not after Ctrl-C. */
  throwIfCancelled(): void;
}

/** The spinner draws nothing while the prompt is on the terminal. The vault stays unlocked for `leastMs`, whatever the user's setting. */
export function createPassphrasePrompt(
  cli: Cli,
  spinner?: Pick<Spinner, "pausedFor">,
  leastMs = 0,
): PassphrasePrompt {
  let failure: unknown;
  const prompt: PromptPassphrase = async (request) => {
    const ask = (): Promise<string | undefined> => askPassphrase(cli, request);
    try {
      const passphrase = await (spinner === undefined ? ask() : spinner.pausedFor(ask));
      if (passphrase === undefined) return undefined;
      return {
        passphrase,
        opened: async (vault, key) => void (await keepUnlockedAndSay(cli, vault, key, leastMs)),
      };
    } catch (thrown) {
      failure = thrown;
      throw thrown;
    }
  };
  return {
    prompt: isInteractive(cli) || (cli.io.stderr.isTTY === true && cli.io.hasTerminal()) ? prompt : undefined,
    throwIfCancelled() {
      if (failure !== undefined) throw failure as Error;
    },
  };
}

export async function askPassphrase(
  cli: Cli,
  { vault, reason }: PassphraseRequest,
): Promise<string | undefined> {
  if (reason === "create") return choosePassphrase(cli, "a passphrase for the new vault", vault);
  const again = reason === "wrong" ? "The passphrase is wrong. " : "";
  const locked = `The vault ${vault} is locked, because no passphrase was entered.`;
  return typePassphrase(cli, `${again}Passphrase of the vault ${vault}`, locked);
}

/** Asks for a new passphrase twice. `what` follows the word "Choose". */
export async function choosePassphrase(cli: Cli, what: string, vault: string): Promise<string> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const first = await typePassphrase(
      cli,
      round === 0
        ? `Choose ${what} ${vault}. Without it, nobody can read the vault`
        : `The two passphrases were different. Choose ${what}`,
    );
    if (first.length < SHORT_PASSPHRASE)
      cli.output.note(
        `${cli.output.noteColors.yellow("warning")} The passphrase has fewer than ${SHORT_PASSPHRASE} characters. A person with a copy of the vault file could guess it. To choose a longer one, press Ctrl-C and run the command again.`,
      );
    if (first === (await typePassphrase(cli, "The same passphrase again"))) return first;
  }
  throw new PortolanError("USAGE", "The passphrases were different, so nothing was changed or stored.", {
    hint: "Run the command again, and type the same passphrase twice.",
  });
}

async function typePassphrase(cli: Cli, message: string, ifCancelled?: string): Promise<string> {
  const typed = await (
    await prompter(cli)
  ).password({
    message,
    check: (text) => (text === "" ? "A passphrase is needed; Ctrl-C cancels." : undefined),
    signal: cli.interrupt.signal,
  });
  if (typed === undefined) throw cancelled(ifCancelled);
  return typed;
}

function cancelled(message = "Cancelled; nothing was changed."): PortolanError {
  return new PortolanError("CANCELLED", message, {
    hint: "Run the command again to answer.",
  });
}

async function prompter({ io, output }: Cli): Promise<Prompter> {
  return io.createPrompter(output.noteColors.enabled);
}

async function readPipe({ io }: Cli): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of io.stdin) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    size += bytes.length;
    if (size > MAX_BYTES)
      throw new PortolanError("USAGE", `The value is larger than ${MAX_BYTES} bytes.`, {
        hint: "Check the program or file that is connected to stdin.",
      });
    chunks.push(bytes);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    // The error has no cause, because the cause could reveal bytes of the secret.
    throw new PortolanError("USAGE", "The value is not UTF-8 text.", {
      hint: "Encode bytes first, for example with base64.",
    });
  }
}
