// `portolan secrets`: stores the values that config files refer to by name. No command prints a value.

import { type Diagnostic, didYouMean, PortolanError } from "../../errors/index.ts";
import { isReferenceName } from "../../model/index.ts";
import {
  createSecretStore,
  type SecretStore,
  type SecretStoreOptions,
  type WritableSource,
} from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { createPassphrasePrompt, readSecretValue } from "../input/secret-input.ts";
import { applyToGateways } from "../control/apply.ts";
import { noteOutdated } from "../control/outdated.ts";
import { notAllowed } from "../options/usage-error.ts";
import { diagnosticLine } from "../output/diagnostic.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { computerOf, findWorkspace, type WorkspaceOptions } from "../workspace/folder.ts";
import { findNeeds, isWithheld, type NeedingConfig } from "./needs.ts";
import { adviceFor, describeCheck, describeNames, type SecretsCheck } from "./view.ts";

export interface SecretsOptions extends WorkspaceOptions {
  to?: string;
}

export type OpenStore = (options: SecretStoreOptions) => SecretStore;

const TARGETS: readonly WritableSource[] = ["keyring", "vault"];
const OPTIONS = ["--to", "--workspace", "--json", "--text", "--quiet", "--verbose", "--no-color", "--help"];
const NAME_RULE =
  "A name begins with a letter or _, and continues with letters, digits, _, . and -. It has at most 256 characters.";

export async function setSecret(
  cli: Cli,
  words: readonly string[],
  options: SecretsOptions,
  openStore: OpenStore = createSecretStore,
): Promise<number> {
  const to = parseTarget(options.to);
  const name = takeName(words, "set");
  const { store, diagnostics, config } = await open(cli, options, openStore);
  const value = await readSecretValue(cli, name);
  const source = await store.set(name, value, { to });
  noteAll(diagnostics, cli);
  const isUsed = (await findUsers(config, name)).length > 0;
  const applied = isUsed ? await applyToGateways(inWorkspace(cli, options)) : undefined;
  if (cli.output.form === "json") cli.output.json({ name, source, ...applied?.fields });
  else {
    cli.output.print(`${name} was stored in the ${source}.`);
    applied?.print();
  }
  return applied?.code ?? 0;
}

/** The servers and settings whose secrets a gateway reads when it starts them. It reads the tokens of registries with each use. */
async function findUsers(config: NeedingConfig, name: string): Promise<readonly string[]> {
  const needs = await findNeeds(config, { get: async () => undefined });
  const users = needs.find((need) => need.kind === "name" && need.name === name)?.neededBy ?? [];
  const drivers = config.servers.flatMap(({ endpoint }) =>
    endpoint.transport === "contracts" ? endpoint.drivers.map(({ driver }) => driver.id) : [],
  );
  const known = new Set([...config.servers.map(({ alias }) => alias), ...drivers]);
  const names = users.flatMap(({ server, where }) =>
    server === "gateway" ? [where] : known.has(server) ? [server] : [],
  );
  return [...new Set(names)];
}

function inWorkspace(cli: Cli, { workspace }: SecretsOptions): Cli {
  return { ...cli, options: { ...cli.options, workspace } };
}

/** A reload does not help: a gateway whose secret is missing keeps the earlier value. */
async function noteRemoved(
  cli: Cli,
  options: SecretsOptions,
  { config, name }: { config: NeedingConfig; name: string },
): Promise<void> {
  const users = await findUsers(config, name);
  if (users.length === 0) return;
  const shown = users.map((one) => plainLine(one, 80)).join(", ");
  const what = `may still use the removed value (affected: ${shown}). To replace the value, run portolan secrets set ${name}. If no server needs the secret any more, remove \${${name}} from the config. To end the use of the removed value immediately, stop the gateway`;
  await noteOutdated(inWorkspace(cli, options), what, "stop");
}

export async function removeSecret(
  cli: Cli,
  words: readonly string[],
  options: SecretsOptions,
  openStore: OpenStore = createSecretStore,
): Promise<number> {
  const names = takeNames(words);
  const { store, diagnostics, config } = await open(cli, options, openStore);
  const done: { readonly name: string; readonly removed: readonly string[] }[] = [];
  for (const name of names) done.push({ name, removed: await store.remove(name) });
  const gone = done.filter(({ removed }) => removed.length > 0);
  const missing = done.filter((one) => !gone.includes(one)).map(({ name }) => name);
  const [first = ""] = missing;
  const known =
    missing.length === 1
      ? (await store.list()).filter(({ source }) => TARGETS.includes(source as WritableSource))
      : [];
  noteAll(diagnostics, cli);
  if (cli.output.form === "json") {
    if (gone.length > 0) cli.output.json(names.length === 1 ? gone[0] : { secrets: done });
  } else
    for (const { name, removed } of gone)
      cli.output.print(`${name} was removed from the ${removed.join(" and the ")}.`);
  for (const { name } of gone) await noteRemoved(cli, options, { config, name });
  if (missing.length === 0) return 0;
  const what = missing.length === 1 ? `no secret ${first}` : `none of the secrets ${missing.join(", ")}`;
  throw new PortolanError("SECRET_MISSING", `Portolan found ${what} to remove in the keyring or the vault.`, {
    hint:
      didYouMean(
        first,
        known.map((one) => one.name),
      ) ?? "List the secrets: portolan secrets list",
  });
}

export async function listSecrets(
  cli: Cli,
  words: readonly string[],
  options: SecretsOptions,
  openStore: OpenStore = createSecretStore,
): Promise<number> {
  refuseWords(words, "list");
  const { store, diagnostics, throwIfCancelled } = await open(cli, options, openStore);
  const secrets = await store.list();
  throwIfCancelled();
  const { output } = cli;
  if (output.form === "json")
    output.json({ secrets, diagnostics: diagnostics.filter(({ severity }) => severity !== "info") });
  else {
    const whole = diagnostics.every(({ severity }) => severity === "info");
    if (secrets.length > 0 || whole) output.print(describeNames(secrets, output.colors, output.width));
    noteAll(diagnostics, cli);
  }
  return 0;
}

export async function checkSecrets(
  cli: Cli,
  words: readonly string[],
  options: SecretsOptions,
  openStore: OpenStore = createSecretStore,
): Promise<number> {
  refuseWords(words, "check");
  const { store, diagnostics, config, throwIfCancelled } = await open(cli, options, openStore);
  const sources = (await store.check()).map((status) => ({ ...status, ...adviceFor(status) }));
  throwIfCancelled();
  const needs = await findNeeds(config, store);
  const broken = sources.some(({ ok, source }) => !ok && source !== "keyring");
  const lacking = needs.some(
    (need) => need.state === "missing" || need.state === "unknown" || isWithheld(need),
  );
  const check: SecretsCheck = { ok: !broken && !lacking, sources, needs };
  const { output } = cli;
  // The list of sources shows these messages already.
  const shown = new Set(sources.map(({ note }) => note));
  const rest = diagnostics.filter(({ message, severity }) => severity !== "info" && !shown.has(message));
  if (output.form === "json") output.json({ ...check, diagnostics: rest });
  else {
    output.print(describeCheck(check, output.colors, output.width));
    noteAll(rest, cli);
  }
  return check.ok ? 0 : 1;
}

interface Opened {
  readonly store: SecretStore;
  /** Diagnostics of the sources, shown when no prompt is on the screen. */
  readonly diagnostics: Diagnostic[];
  readonly throwIfCancelled: () => void;
  readonly config: NeedingConfig;
}

async function open(cli: Cli, options: SecretsOptions, openStore: OpenStore): Promise<Opened> {
  const { io } = cli;
  const { path, folder } = await findWorkspace(io, options);
  const { settings, servers } = await io.loadCatalog(path, { home: computerOf(io, folder).home });
  const diagnostics: Diagnostic[] = [];
  const passphrase = createPassphrasePrompt(cli);
  const store = openStore({
    env: io.env,
    envFile: settings.envFile,
    promptPassphrase: passphrase.prompt,
    report: (diagnostic) => void diagnostics.push(diagnostic),
  });
  const config = { servers, folder, gateway: settings.gateway, registries: settings.registries };
  return { store, diagnostics, config, throwIfCancelled: () => passphrase.throwIfCancelled() };
}

/** Each name once. */
function takeNames(words: readonly string[]): readonly string[] {
  if (words.length === 0) takeName(words, "rm");
  return [...new Set(words.map((word) => takeName([word], "rm")))];
}

/** Errors never repeat a word of the command line, since it may be a secret value in the wrong place. */
function takeName(words: readonly string[], command: "set" | "rm"): string {
  const [name, ...more] = words;
  const option = words.find((word) => /^-{1,2}[a-z-]{1,20}$/.test(word));
  const near = option === undefined ? undefined : didYouMean(option, OPTIONS);
  if (near !== undefined)
    throw new PortolanError("USAGE", "portolan secrets does not have one of the given options.", {
      hint: near,
    });
  if (name === undefined)
    throw new PortolanError("USAGE", "No name was given.", { hint: `portolan secrets ${command} <NAME>` });
  if (more.length > 0 || name.includes("=")) {
    if (command === "rm")
      throw new PortolanError("USAGE", "portolan secrets rm takes only names of secrets, without values.");
    throw new PortolanError(
      "USAGE",
      "Nothing was stored: the value of a secret must not be on the command line.",
      {
        hint: "Run portolan secrets set <NAME>, which asks for the value, or pipe the value in. If you typed the value here, it is now in the history of your shell, and other users could see it in the process list: remove it from the history, and change the secret if others use this computer.",
      },
    );
  }
  if (!isReferenceName(name))
    throw new PortolanError("USAGE", "The given name is not a valid name for a secret.", { hint: NAME_RULE });
  return name;
}

function refuseWords(words: readonly string[], command: string): void {
  if (words.length > 0)
    throw new PortolanError("USAGE", `portolan secrets ${command} takes no arguments.`, {
      hint: `portolan secrets ${command} --help`,
    });
}

function parseTarget(to: string | undefined): WritableSource | undefined {
  if (to === undefined || (TARGETS as readonly string[]).includes(to))
    return to as WritableSource | undefined;
  throw new PortolanError("USAGE", notAllowed("--to", to, TARGETS), {
    hint:
      didYouMean(to, TARGETS) ?? "Without --to, Portolan uses the keyring if it works, otherwise the vault.",
  });
}

function noteAll(diagnostics: readonly Diagnostic[], { output, options }: Cli): void {
  for (const diagnostic of diagnostics) {
    if (diagnostic.severity === "info" && !options.verbose) continue;
    const advice = diagnostic.hint === undefined ? "" : ` ${plainLine(diagnostic.hint, 300)}`;
    output.note(`${diagnosticLine(diagnostic, output.noteColors.yellow)}${advice}`);
  }
}
