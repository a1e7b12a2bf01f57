// Plain secrets of servers that are copied from other clients, or added: one question where they go. They are stored before a file is
// written, and never copied in clear without consent.

import { type Diagnostic, didYouMean, PortolanError } from "../../errors/index.ts";
import {
  type ClientServer,
  findPlainSecrets,
  type PlainSecret,
  withSecretReferences,
} from "../../formats/clients/index.ts";
import { formatReference } from "../../model/index.ts";
import type { SecretStore, WritableSource } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { answersRequests } from "../input/handlers.ts";
import { createPassphrasePrompt } from "../input/secret-input.ts";
import { notAllowed } from "../options/usage-error.ts";
import { diagnosticLine } from "../output/diagnostic.ts";
import { orCancelled } from "../packages/configuration-prompt.ts";
import { count } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

const PLACES = ["vault", "keyring", "keep"] as const;
type Place = (typeof PLACES)[number];
/** `store`: in the keyring if it works, else in the vault. `leave`: these servers are not copied. */
type Choice = Place | "store" | "leave";

export interface RawSecretsOptions {
  secrets?: string;
}

export interface AliasedServer {
  readonly alias: string;
  readonly server: ClientServer;
}

export interface SecretPlacement {
  /** The server with references in place of its secrets; a text with the reason if it is not copied. */
  readonly written: (server: AliasedServer) => ClientServer | string;
  /** True if secrets are copied in clear. */
  readonly inClear: boolean;
  /** Writes the values into the store. Undefined if there is nothing to store. */
  readonly store?: () => Promise<StoredSecrets>;
}

export interface StoredSecrets {
  readonly names: readonly string[];
  /** The place of the values that were stored; undefined if all of them were there. */
  readonly source?: WritableSource;
  /** True if a value is in the vault, which a client cannot unlock. */
  readonly isInVault: boolean;
}

/** Decides once for all servers that are copied. */
export type PlaceSecrets = (servers: readonly AliasedServer[]) => Promise<SecretPlacement>;

interface Found {
  readonly alias: string;
  readonly secret: PlainSecret;
}

export interface SecretPlacerOptions {
  readonly asks?: boolean;
  readonly isDry?: boolean;
  /** The secrets are in a command of the user, and not in the files of clients. */
  readonly isOfCommand?: boolean;
}

export function secretPlacer(
  cli: Cli,
  { secrets }: RawSecretsOptions,
  { asks = true, isDry = false, isOfCommand = false }: SecretPlacerOptions = {},
): PlaceSecrets {
  const given = parsePlace(secrets);
  return async (servers) => {
    const found = servers.flatMap(({ alias, server }) =>
      findPlainSecrets(server).map((secret): Found => ({ alias, secret })),
    );
    if (found.length === 0) return { written: ({ server }) => server, inClear: false };
    const canAsk = asks && !isDry && answersRequests(cli, false);
    const choice: Choice = given ?? (canAsk ? await ask(cli, found, isOfCommand) : "leave");
    switch (choice) {
      case "keep":
        return { written: ({ server }) => server, inClear: true };
      case "leave":
        return { written: ({ server }) => leftOut(server) ?? server, inClear: false };
      default:
        return stored(cli, found, choice === "store" ? undefined : choice, isDry);
    }
  };
}

function parsePlace(text: string | undefined): Place | undefined {
  if (text === undefined || (PLACES as readonly string[]).includes(text)) return text as Place | undefined;
  throw new PortolanError("USAGE", notAllowed("--secrets", text, PLACES), {
    hint:
      didYouMean(text, PLACES) ??
      "vault and keyring store the secrets encrypted; keep copies them in plain text.",
  });
}

async function ask(cli: Cli, found: readonly Found[], isOfCommand: boolean): Promise<Choice> {
  const prompter = await cli.io.createPrompter(cli.output.noteColors.enabled);
  const names = found.map(
    ({ alias, secret: { name } }) => `${plainLine(name, 60)} (${plainLine(alias, 40)})`,
  );
  const isOne = found.length === 1;
  const where = isOfCommand ? "this command" : "the clients' files";
  const next = isOfCommand ? "start the server" : "start the clients";
  const copy = isOfCommand ? "Write" : "Copy";
  const skip = isOfCommand ? "add" : "import";
  const answer = orCancelled(
    await prompter.select({
      message: `${count(found.length, "secret")} ${isOne ? "is" : "are"} in plain text in ${where}: ${names.join(", ")}.`,
      options: [
        {
          value: "store",
          label: `Store ${isOne ? "it" : "them"} encrypted, and write only ${isOne ? "its name" : "their names"} into portolan.yaml`,
          hint: `If this computer has no keyring, Portolan uses the vault. Then unlock the vault before you ${next}: portolan secrets unlock ${cli.io.platform === "win32" ? "--keep" : "--for 8h"}`,
        },
        { value: "keep", label: `${copy} ${isOne ? "it" : "them"} in plain text into portolan.yaml` },
        { value: "leave", label: `Do not ${skip} ${isOne || isOfCommand ? "this server" : "these servers"}` },
      ],
      initial: "store",
      signal: cli.interrupt.signal,
    }),
  );
  return answer as Choice;
}

/** The reason why a server with plain secrets is not copied; undefined if it has none. */
function leftOut(server: ClientServer): string | undefined {
  const names = [...new Set(findPlainSecrets(server).map(({ name }) => name))];
  if (names.length === 0) return undefined;
  const verb = names.length === 1 ? "is a secret" : "are secrets";
  return `${names.join(", ")} ${verb} in plain text: --secrets vault stores ${names.length === 1 ? "it" : "them"} encrypted, --secrets keep copies ${names.length === 1 ? "it" : "them"} in plain text`;
}

async function stored(
  cli: Cli,
  found: readonly Found[],
  to: WritableSource | undefined,
  isDry: boolean,
): Promise<SecretPlacement> {
  const { store, finish } = await openStore(cli);
  const chosen = new Map<string, string>();
  const names = new Map<PlainSecret["value"], string>();
  for (const { alias, secret } of found) {
    const known = names.get(secret.value);
    const name = known ?? (await freeName(alias, secret, chosen, isDry ? undefined : store));
    names.set(secret.value, name);
    chosen.set(name, secret.value);
  }
  finish();
  const reference = (secret: PlainSecret): string | undefined => {
    const name = names.get(secret.value);
    return name === undefined ? undefined : formatReference({ kind: "any", name });
  };
  return {
    inClear: false,
    written: ({ server }) => ({ ...server, endpoint: withSecretReferences(server.endpoint, reference) }),
    store: async () => {
      let source: WritableSource | undefined;
      let isInVault = false;
      for (const [name, value] of chosen) {
        const there = await store.get(name);
        const isThere = there?.secret.reveal() === value;
        if (!isThere) source = await store.set(name, value, { to });
        isInVault ||= (isThere ? there.source : source) === "vault";
      }
      finish();
      return { names: [...chosen.keys()], source, isInVault };
    },
  };
}

/** A name that is free, or that has this very value already: the variable's own, else one with the server's name. */
async function freeName(
  alias: string,
  { name, value }: PlainSecret,
  chosen: ReadonlyMap<string, string>,
  store: SecretStore | undefined,
): Promise<string> {
  const own = /^[A-Z][A-Z0-9_]*$/.test(name) ? [name] : [];
  const withAlias = secretName(alias, name);
  for (let number = 0; ; number += 1) {
    const candidate =
      own[number] ?? `${withAlias}${number - own.length > 0 ? `_${number - own.length + 1}` : ""}`;
    if (chosen.has(candidate) && chosen.get(candidate) !== value) continue;
    const there = await store?.get(candidate);
    if (there === undefined || there.secret.reveal() === value) return candidate;
  }
}

/** `LINEAR_TOKEN` for the header Authorization of linear. */
export function secretName(alias: string, name: string): string {
  const what = name.toLowerCase() === "authorization" ? "token" : name.replace(/^-+/, "");
  const text = `${alias}_${what}`.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
  return /^[A-Z_]/.test(text) ? text : `_${text}`;
}

async function openStore(cli: Cli): Promise<{ readonly store: SecretStore; readonly finish: () => void }> {
  const { createSecretStore } = await import("../../secrets/index.ts");
  const diagnostics: Diagnostic[] = [];
  const passphrase = createPassphrasePrompt(cli);
  const store = createSecretStore({
    env: cli.io.env,
    promptPassphrase: passphrase.prompt,
    report: (diagnostic) => void diagnostics.push(diagnostic),
  });
  return {
    store,
    finish: () => {
      passphrase.throwIfCancelled();
      for (const diagnostic of diagnostics.splice(0))
        if (diagnostic.severity !== "info")
          cli.output.note(diagnosticLine(diagnostic, cli.output.noteColors.yellow));
    },
  };
}
