// `portolan connect`: puts the gateway of the workspace into the config files of MCP clients, in place of the servers it offers.

import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError } from "../../errors/index.ts";
import { CLIENTS, type Computer, type ImportedFile, writeClientFile } from "../../formats/clients/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { parseClient } from "../arguments/client-names.ts";
import type { Cli } from "../context.ts";
import { ownFile } from "../grants/declared.ts";
import { type CompletedFields, withNoticedFields } from "../grants/noticed-fields.ts";
import { openGrants } from "../grants/open-grants.ts";
import { applyToGateways } from "../control/apply.ts";
import { type CopyPlan, planCopy, writeCopy } from "../import/copy.ts";
import { isSameServer } from "../import/same-server.ts";
import { type RawSecretsOptions, secretPlacer } from "../import/secrets.ts";
import { answersRequests } from "../input/handlers.ts";
import { orCancelled } from "../packages/configuration-prompt.ts";
import { count } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { needsUnlockedVault } from "../secrets/vault-of-gateway.ts";
import { checkScope, usualFile } from "../workspace/client-file.ts";
import type { WorkspaceOptions } from "../workspace/folder.ts";
import { requireAgreement } from "./agreement.ts";
import { foundClients, overview } from "./overview.ts";
import { oldRules } from "./permission-rules.ts";
import { type FilePlan, gatewayOf, planFile, type PlanContext, type Target } from "./plan.ts";
import { type ConnectPlace, declaredBy, openPlace } from "./place.ts";
import { hashOf } from "./records.ts";
import { describeDone, describePlans, type Shown, toJson } from "./view.ts";

export interface ConnectOptions extends WorkspaceOptions, RawSecretsOptions {
  all?: boolean;
  import?: boolean;
  http?: boolean;
  scope?: string;
  file?: string;
  yes?: boolean;
  dryRun?: boolean;
  strict?: boolean;
}

export async function connect(cli: Cli, words: readonly string[], options: ConnectOptions): Promise<number> {
  const { io, output } = cli;
  if (words.length === 0 && options.all !== true) {
    refuseAlone(options);
    return overview(cli, await openPlace(cli, options));
  }
  const place = await openPlace(cli, options);
  const targets = await chooseTargets(cli, words, options, place.computer);
  const first = await planAll(targets, place, declaredBy(place.source));
  const openHosts = new Map<string, CompletedFields["openHosts"]>();
  const copy = await chooseImport(cli, first, { place, options, openHosts });
  const declared = copy === undefined ? declaredBy(place.source) : await declaredAfter(place, copy);
  const plans = copy === undefined ? first : await planAll(targets, place, declared);
  if (declared.length === 0) throw nothingToServe(first, copy);
  const changed = plans.filter(({ text, after }) => text !== after);
  const shown: Shown = { plans, copy, place, declared };
  const isDry = options.dryRun === true;
  if (output.form === "text") output.print(describePlans(shown, cli));
  const adds = copy !== undefined && copy.added.length > 0;
  if (isDry || (changed.length === 0 && !adds)) {
    if (output.form === "json") output.json(toJson(shown, { written: false }));
    return 0;
  }
  await confirm(cli, { words, options, plans: changed, adds });
  const { stored, change, backup } = adds ? await writeCopy(copy) : {};
  for (const plan of changed) await write(cli, plan, place);
  if (change !== undefined) cli.changes.push(change);
  const applied = change === undefined ? undefined : await applyToGateways(cli);
  const grants = await openGrants(cli, declared, place.folder, openHosts);
  if (output.form === "json")
    output.json({ ...toJson(shown, { written: true, grants }), ...applied?.fields });
  else {
    const { gateways } = await io.findGateways(place.place.workspace);
    const isRunning = gateways.some(({ kind }) => kind === "http");
    const rules = await oldRules(changed, place.computer);
    const config = { ...place.source.config, servers: declared };
    const isLocked = stored?.isInVault === true || (await needsUnlockedVault(config, io.env));
    const view = { ...cli, isRunning, grants, rules, isLocked };
    output.print(describeDone({ ...shown, stored, backup }, view));
    applied?.print();
  }
  return applied?.code ?? 0;
}

function refuseAlone({ file, scope, dryRun, yes, import: wantsImport }: ConnectOptions): void {
  const given = {
    "--file": file,
    "--scope": scope,
    "--dry-run": dryRun,
    "--yes": yes,
    "--import": wantsImport,
  };
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (flag !== undefined)
    throw new PortolanError("USAGE", `${flag} needs a client.`, {
      hint: "To see the clients of this computer: portolan connect. To connect all of them: portolan connect --all",
    });
}

async function chooseTargets(
  { io }: Cli,
  words: readonly string[],
  options: ConnectOptions,
  computer: Computer,
): Promise<readonly Target[]> {
  const scope = checkScope(options.scope);
  if (options.all === true) {
    if (words.length > 0 || options.file !== undefined || scope !== undefined)
      throw new PortolanError(
        "USAGE",
        "--all already connects every client that is found in your home folder. Leave out the client names, --file and --scope.",
      );
    const found = await foundClients(computer);
    if (found.length === 0)
      throw new PortolanError(
        "USAGE",
        "--all found no config file of an MCP client in your home folder, and no client that is installed there.",
        {
          hint: `--all does not look for config files of projects. To connect one client: portolan connect <client>. For its config file in this project, add --scope project. Supported clients: ${Object.keys(CLIENTS).join(", ")}.`,
        },
      );
    return found;
  }
  const clients = [...new Set(words.map((word) => parseClient(word, adviseFile)))];
  const [only = "cursor", second] = clients;
  if (options.file === undefined)
    return Promise.all(
      clients.map(async (client) => ({
        client,
        file: await usualFile(client, scope, computer, "--file <file>"),
      })),
    );
  if (second !== undefined || scope !== undefined)
    throw new PortolanError("USAGE", "--file needs exactly one client, and cannot be used with --scope.");
  return [{ client: only, file: resolve(io.cwd, options.file) }];
}

function adviseFile(file: string): string {
  return `To change a certain file: portolan connect <client> --file ${shellWord(file)}.`;
}

async function planAll(
  targets: readonly Target[],
  place: ConnectPlace,
  declared: PlanContext["declared"],
): Promise<readonly FilePlan[]> {
  const plans: FilePlan[] = [];
  for (const target of targets) plans.push(await planFile(target, { ...place, declared }));
  return plans;
}

interface ImportContext {
  readonly place: ConnectPlace;
  readonly options: ConnectOptions;
  /** Gets the hosts that imported servers are started with, and that nobody granted. */
  readonly openHosts: Map<string, CompletedFields["openHosts"]>;
}

/** The import of servers that the workspace does not have yet: with --import, or if the person agrees. */
async function chooseImport(
  cli: Cli,
  plans: readonly FilePlan[],
  { place, options, openHosts }: ImportContext,
): Promise<CopyPlan | undefined> {
  const missing = plans.flatMap((plan) => plan.missing);
  if (missing.length === 0) return undefined;
  const asks = options.import === undefined && options.yes !== true && answersRequests(cli, false);
  // A dry run asks nothing, and shows the suggested answer.
  const isImported = options.import === true || (asks && options.dryRun === true);
  if (!isImported && !asks) return undefined;
  const different = missing.filter(
    (server, index) => !missing.slice(0, index).some((before) => isSameServer(before, server)),
  );
  if (!isImported && !(await askImport(cli, different, place))) return undefined;
  const files = plans.map(({ client, file, missing: servers, diagnostics }): ImportedFile => ({
    ...{ client, file, servers, scope: "user", diagnostics },
  }));
  const copy = await planCopy(place.folder, { servers: declaredBy(place.source) }, files, {
    home: place.computer.home,
    rename: true,
    placeSecrets: secretPlacer(cli, options, { asks: options.yes !== true, isDry: options.dryRun === true }),
    // The questions about files of the servers are those of `import --write`.
    complete: async (alias, fields, plain) => {
      if (options.dryRun === true) return { fields };
      const completed = await withNoticedFields(cli, {
        ...{ alias, fields, plain, folder: place.folder, strict: options.strict === true },
        asks: options.yes !== true,
        // The last lines of the command report what is still not granted.
        notes: false,
      });
      openHosts.set(alias, completed.openHosts);
      return completed;
    },
    refuse: (server) =>
      gatewayOf(server, place.place) === undefined ? undefined : "it is a gateway of Portolan itself",
  });
  return copy;
}

async function askImport(
  cli: Cli,
  missing: readonly ServerConfig[],
  { folder }: ConnectPlace,
): Promise<boolean> {
  const prompter = await cli.io.createPrompter(cli.output.noteColors.enabled);
  const answer = orCancelled(
    await prompter.select({
      message: `${count(missing.length, "server")} of these clients ${missing.length === 1 ? "is" : "are"} not in this workspace yet: ${plainLine(missing.map(({ alias }) => alias).join(", "), 300)}.`,
      options: [
        { value: "import", label: `Copy into ${await ownFile(folder)}, and remove from the clients` },
        { value: "keep", label: "Leave in the clients" },
      ],
      initial: "import",
      signal: cli.interrupt.signal,
    }),
  );
  return answer === "import";
}

/** The servers that the workspace declares once the import is written. */
async function declaredAfter(place: ConnectPlace, copy: CopyPlan): Promise<PlanContext["declared"]> {
  const { parseWorkspace } = await import("../../formats/workspace/index.ts");
  const added = new Set(copy.added.map(({ alias }) => alias));
  const { servers } = parseWorkspace(copy.text ?? "", copy.file);
  return [...declaredBy(place.source), ...servers.filter(({ alias }) => added.has(alias))];
}

function nothingToServe(plans: readonly FilePlan[], copy: CopyPlan | undefined): PortolanError {
  const clients = plans.map(({ client }) => client).join(" ");
  const withSecrets = copy?.skipped.filter(({ reason }) => reason === "secret") ?? [];
  if (withSecrets.length > 0)
    return new PortolanError(
      "USAGE",
      `No server was imported: ${withSecrets.map(({ alias, message }) => `${alias}: ${message}`).join(". ")}.`,
      { hint: `Choose where to store the secrets: portolan connect ${clients} --import --secrets vault` },
    );
  const left = copy?.skipped ?? [];
  const reasons = left.map(({ alias, message }) => `${alias}: ${message.replace(/\.$/, "")}`);
  if (left.length > 0)
    return new PortolanError(
      "SERVER_UNKNOWN",
      `This workspace has no servers, and none was imported: ${reasons.join("; ")}.`,
      { hint: "Add a server: portolan add <name> -- <command...>" },
    );
  const hasServers = plans.some(({ missing }) => missing.length > 0);
  return new PortolanError(
    "SERVER_UNKNOWN",
    "This workspace has no servers, so its gateway would be empty.",
    {
      hint: hasServers
        ? `Import the servers of the client: portolan connect ${clients} --import`
        : "Add a server: portolan add <name> -- <command...>",
    },
  );
}

interface Confirmation {
  readonly words: readonly string[];
  readonly options: ConnectOptions;
  readonly plans: readonly FilePlan[];
  /** True if servers are added to the workspace. */
  readonly adds: boolean;
}

async function confirm(cli: Cli, { words, options, plans, adds }: Confirmation): Promise<void> {
  if (options.yes === true) return;
  if (!answersRequests(cli, false)) {
    const given = [
      options.all === true ? "--all" : words.join(" "),
      ...(options.scope === undefined ? [] : [`--scope ${options.scope}`]),
      ...(options.file === undefined ? [] : [`--file ${shellWord(options.file)}`]),
      ...(options.workspace === undefined ? [] : [`-w ${shellWord(options.workspace)}`]),
      ...(options.import === true ? ["--import"] : []),
      ...(options.secrets === undefined ? [] : [`--secrets ${options.secrets}`]),
      ...(options.strict === true ? ["--strict"] : []),
      ...(options.http === true ? ["--http"] : []),
    ].join(" ");
    throw new PortolanError(
      "USAGE",
      "Nothing was changed: Portolan changes the config files of other programs only if you agree.",
      {
        hint: `To see the changes: portolan connect ${given} --dry-run. If you agree: portolan connect ${given} --yes`,
      },
    );
  }
  const files = plans.length + (adds ? 1 : 0);
  await requireAgreement(cli, `Write ${count(files, "file")}?`);
}

/** The folders of a file that do not exist yet, the innermost first. */
function missingFolders(file: string): string[] {
  const folder = dirname(file);
  return existsSync(folder) ? [] : [folder, ...missingFolders(folder)];
}

/** Keeps the record first. The file must still be as it was planned. */
async function write({ interrupt }: Cli, plan: FilePlan, { records, place }: ConnectPlace): Promise<void> {
  const { client, realFile, text, base, merged, after, replacement, record: previous } = plan;
  const record = {
    ...{ client, file: realFile, workspace: place.workspace, connectedAt: new Date().toISOString() },
    before: base === undefined ? undefined : hashOf(base),
    after: hashOf(after),
    merged,
    folders: previous?.folders ?? missingFolders(realFile),
    ...replacement,
  };
  await records.locked(
    realFile,
    () =>
      records.save({ record, before: base, previous }, async () => {
        await writeClientFile(realFile, after, { basis: text ?? "", backup: false });
      }),
    interrupt.signal,
  );
}
