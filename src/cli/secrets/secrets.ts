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
import { noteOutdated } from "../control/outdated.ts";
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
const NAME_RULE = "A name is a letter or _, then letters, digits, _, . or -; at most 256 of them.";

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
  if (cli.output.form === "json") cli.output.json({ name, source });
  else cli.output.print(`${name} was stored in the ${source}.`);
  await noteUsers(cli, options, { config, name });
  return 0;
}

/** A running gateway has read the value when it started its servers. It reads the tokens of registries with each use. */
async function noteUsers(
  cli: Cli,
  { workspace }: SecretsOptions,
  { config, name, isRemoved }: { config: NeedingConfig; name: string; isRemoved?: boolean },
): Promise<void> {
  const needs = await findNeeds(config, { get: async () => undefined });
  const users = needs.find((need) => need.kind === "name" && need.name === name)?.neededBy ?? [];
  const aliases = new Set(config.servers.map(({ alias }) => alias));
  const drivers = config.servers.flatMap(({ alias, endpoint }) =>
    endpoint.transport === "contracts"
      ? endpoint.drivers.map(({ driver }) => [driver.id, alias] as const)
      : [],
  );
  const contractsOf = new Map(drivers);
  const names = users.flatMap(({ server, where }) =>
    server === "gateway" ? [where] : aliases.has(server) || contractsOf.has(server) ? [server] : [],
  );
  if (names.length === 0) return;
  // A reload does not restart the servers of drivers.
  const contracts = users.map(({ server }) => contractsOf.get(server)).find((alias) => alias !== undefined);
  const command = contracts === undefined ? "reload" : `restart ${plainLine(contracts, 80)}`;
  const shown = [...new Set(names)].map((one) => plainLine(one, 80)).join(", ");
  const at = { ...cli, options: { ...cli.options, workspace } };
  if (isRemoved === true) await noteOutdated(at, `still uses the value (${shown}). To end that`, "stop");
  else
    await noteOutdated(at, `still uses the value from before (${shown}). Let it read the new one`, command);
}

export async function removeSecret(
  cli: Cli,
  words: readonly string[],
  options: SecretsOptions,
  openStore: OpenStore = createSecretStore,
): Promise<number> {
  const name = takeName(words, "rm");
  const { store, diagnostics, config } = await open(cli, options, openStore);
  const removed = await store.remove(name);
  if (removed.length === 0) {
    const known = (await store.list()).filter(({ source }) => TARGETS.includes(source as WritableSource));
    noteAll(diagnostics, cli);
    throw new PortolanError("SECRET_MISSING", `Neither the keyring nor the vault has a secret ${name}.`, {
      hint:
        didYouMean(
          name,
          known.map((one) => one.name),
        ) ?? "List the secrets: portolan secrets list",
    });
  }
  noteAll(diagnostics, cli);
  if (cli.output.form === "json") cli.output.json({ name, removed });
  else cli.output.print(`${name} was removed from the ${removed.join(" and the ")}.`);
  await noteUsers(cli, options, { config, name, isRemoved: true });
  return 0;
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

/** Errors never repeat a word of the command line, since it may be a secret value in the wrong place. */
function takeName(words: readonly string[], command: "set" | "rm"): string {
  const [name, ...more] = words;
  const option = words.find((word) => /^-{1,2}[a-z-]{1,20}$/.test(word));
  const near = option === undefined ? undefined : didYouMean(option, OPTIONS);
  if (near !== undefined) throw new PortolanError("USAGE", "There is no such option.", { hint: near });
  if (name === undefined)
    throw new PortolanError("USAGE", "No name is given.", { hint: `portolan secrets ${command} <NAME>` });
  if (more.length > 0 || name.includes("=")) {
    if (command === "rm") throw new PortolanError("USAGE", "rm takes one name.");
    throw new PortolanError("USAGE", "The value of a secret is not taken from the command line.", {
      hint: "It would stay in the shell's history, and other users could see it in the list of processes; take it out of the history, and change it if others use this computer. Run portolan secrets set <NAME> to be asked for it, or pipe it in.",
    });
  }
  if (!isReferenceName(name))
    throw new PortolanError("USAGE", "That is not a name for a secret.", { hint: NAME_RULE });
  return name;
}

function refuseWords(words: readonly string[], command: string): void {
  if (words.length > 0)
    throw new PortolanError("USAGE", `secrets ${command} takes no words.`, {
      hint: `portolan secrets ${command} --help`,
    });
}

function parseTarget(to: string | undefined): WritableSource | undefined {
  if (to === undefined || (TARGETS as readonly string[]).includes(to))
    return to as WritableSource | undefined;
  throw new PortolanError("USAGE", "--to must be keyring or vault.", {
    hint: didYouMean(to, TARGETS) ?? "Without it, the keyring is taken if it works, else the vault.",
  });
}

function noteAll(diagnostics: readonly Diagnostic[], { output, options }: Cli): void {
  for (const diagnostic of diagnostics) {
    if (diagnostic.severity === "info" && !options.verbose) continue;
    const advice = diagnostic.hint === undefined ? "" : ` ${plainLine(diagnostic.hint, 300)}`;
    output.note(`${diagnosticLine(diagnostic, output.noteColors.yellow)}${advice}`);
  }
}
