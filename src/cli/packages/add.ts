// `portolan add <package>`: finds a package, shows it, asks, configures, starts it once, pins its tools, and writes both files.

import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError } from "../../errors/index.ts";
import { filled, toAlias } from "../../formats/manifest/index.ts";
import { addServer, parseWorkspace } from "../../formats/workspace/index.ts";
import type { PackageReference } from "../../model/index.ts";
import {
  keepDocument,
  type LockedPackage,
  readInstalledDependencies,
  toRemembered,
} from "../../packages/index.ts";
import type { SecretStore } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { type AppliedChange, applyToGateways } from "../control/apply.ts";
import { editWorkspaceFile } from "../edit/workspace-file.ts";
import { withSpinner } from "../output/progress.ts";
import { type RawRegistryOptions, registriesOf } from "../registry/options.ts";
import { openSecrets, type PackageSettings, readPackageSettings } from "../registry/settings.ts";
import { count } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { type Approval, createApproval } from "./approval.ts";
import { renderApproval } from "./approval-view.ts";
import { type Candidate, findCandidate, type FindContext } from "./candidate.ts";
import { resolveConfiguration, type SettingValue } from "./configuration.ts";
import {
  completeConfiguration,
  type RawConfigurationOptions,
  readConfigurationOptions,
} from "./configuration-prompt.ts";
import { consentWords, type RawConsentOptions, refuseByPolicy, requireConsent } from "./consent.ts";
import { compareTools, type ComparedTools, keepDefinitions } from "./live-tools.ts";
import { findOfficial, type ServerCandidate } from "./official/candidate.ts";
import { orUnchanged, saveDecision } from "./save.ts";
import { toFields, toTrialFields } from "./server-fields.ts";
import { tryServer } from "./trial.ts";

export interface RawPackageOptions extends RawRegistryOptions, RawConsentOptions, RawConfigurationOptions {
  name?: string;
  allowLookAlike?: boolean;
  /** Which part of a server of the official registry: npm, mcpb, pypi, oci or remote. */
  from?: string;
  dryRun?: boolean;
}

/** A server of the official registry may be no package of the lock file. */
async function find(reference: PackageReference, context: FindContext): Promise<Candidate | ServerCandidate> {
  if (reference.kind === "official") return findOfficial(reference, context);
  if (context.from === undefined) return findCandidate(reference, context);
  throw new PortolanError(
    "USAGE",
    "--from works only with servers of the official MCP registry, such as io.github.user/name.",
  );
}

export function addPackage(
  cli: Cli,
  reference: PackageReference,
  raw: RawPackageOptions,
  given?: string,
): Promise<number> {
  return orUnchanged(cli, "Nothing", () => addFound(cli, reference, raw, given));
}

async function addFound(
  cli: Cli,
  reference: PackageReference,
  raw: RawPackageOptions,
  given: string | undefined,
): Promise<number> {
  const { output } = cli;
  const settings = await readPackageSettings(cli);
  const alias = given ?? raw.name ?? aliasOf(reference);
  await refuseTaken(cli, alias, given !== undefined);
  const candidate = await withSpinner(cli, async (spinner) => {
    spinner.start(`finding ${plainLine(labelOf(reference), 80)}`);
    return find(reference, { cli, settings, raw, from: raw.from, alias });
  });
  const approval = approve(candidate, settings, raw);
  const view = { colors: output.noteColors, width: cli.io.stderr.columns, now: new Date() };
  if (output.form === "text" || cli.io.stderr.isTTY === true)
    output.note(`${renderApproval(approval, view)}\n`, true);
  refuseByPolicy(approval);
  const { facts } = candidate;
  const wanted = facts.permissions ?? [];
  const command = commandOf(cli, candidate, alias, raw);
  await requireConsent(cli, {
    ...{ approval, wanted, options: raw, question: `Add ${facts.name}@${facts.version} as ${alias}?` },
    command,
  });
  let opened: SecretStore | undefined;
  const secrets = (): SecretStore => (opened ??= openSecrets(cli, settings));
  const values = await configure(cli, candidate, raw, secrets);
  const fields = toFields(cli, candidate, approval, values);
  const planned = await editWorkspaceFile(cli, true, ({ text }) => addServer(text, alias, fields));
  if (raw.dryRun === true) {
    if (output.form === "json") output.json({ server: alias, written: false, text: planned.after, approval });
    else output.print(planned.after);
    return 0;
  }
  const locked = "locked" in candidate ? toLocked(candidate, wanted) : undefined;
  if ("document" in candidate) await keepDocument(candidate.document);
  const text =
    "locked" in candidate
      ? planned.after
      : addServer(planned.text, alias, toTrialFields(cli, candidate, approval, values));
  const live = await tryServer(cli, {
    ...{ alias, locked, values, text, file: planned.file },
    ...{ folder: settings.folder, envFile: settings.envFile },
    registries: registriesOf(cli, raw, settings),
    command: [command, ...consentWords(raw)].join(" "),
  });
  cli.interrupt.signal.throwIfAborted();
  const tools = compareTools(live, facts);
  const entry = locked && { ...locked, dependencies: await readInstalledDependencies(locked) };
  const saved = await saveDecision(cli, {
    ...{ values, secrets },
    change: (own) => addServer(own.text, alias, fields),
    entries: new Map([[alias, { package: entry, tools: tools.pins }]]),
  });
  await keepDefinitions(live, tools.pins);
  // A registry that cannot count must not fail an installation that is done.
  if ("registry" in candidate)
    await candidate.registry?.countDownload(facts.name, facts.version).catch(() => undefined);
  const applied = await applyToGateways(cli, alias);
  report(cli, {
    applied,
    alias,
    candidate,
    tools,
    values,
    file: saved.file,
    label: saved.label,
    lockFile: saved.lockFile,
  });
  return applied.code;
}

export function approve(
  candidate: Candidate | ServerCandidate,
  { policy }: Pick<PackageSettings, "policy">,
  { allowLookAlike }: Pick<RawPackageOptions, "allowLookAlike">,
): Approval {
  const { facts, advisories, origin } = candidate;
  const looksLike = "looksLike" in candidate ? candidate.looksLike : undefined;
  return createApproval({
    ...{ facts, advisories, origin, policy, now: new Date() },
    looksLike: allowLookAlike === true ? undefined : looksLike,
  });
}

export async function configure(
  cli: Cli,
  { facts }: Pick<Candidate, "facts">,
  raw: RawConfigurationOptions,
  secrets: () => SecretStore,
  kept: Readonly<Record<string, string>> = {},
): Promise<readonly SettingValue[]> {
  const { options, file } = await readConfigurationOptions(cli, raw);
  const hasSecrets = facts.settings.some(({ secret, variable }) => secret && kept[variable] === undefined);
  const stored = hasSecrets ? (await secrets().list()).map(({ name }) => name) : [];
  const resolved = await resolveConfiguration(facts.settings, {
    ...{ options, file, kept, env: cli.io.env, stored: new Set(stored), packageName: facts.name },
  });
  return completeConfiguration(cli, resolved, facts.name);
}

export function toLocked({ locked, origin }: Candidate, permissions: readonly string[]): LockedPackage {
  return {
    ...locked,
    provenance: filled(toRemembered(origin)),
    permissions: [...permissions],
    lockedAt: new Date().toISOString(),
  };
}

function labelOf(reference: PackageReference): string {
  return reference.kind === "mcpb" ? reference.location : reference.name;
}

/** `@alice/github-mcp` is `github`. */
export function aliasOf(reference: PackageReference): string {
  const last = labelOf(reference).replace(/\/+$/, "").split(/[/\\]/).at(-1) ?? "";
  const base = reference.kind === "mcpb" ? last.replace(/\.(mcpb|dxt)(\?.*)?$/i, "") : last;
  const short = base.replace(/^(mcp-server|server|mcp)-/, "").replace(/-(mcp-server|mcp|server)$/, "");
  return toAlias(short === "" ? base : short);
}

async function refuseTaken(cli: Cli, alias: string, isGiven: boolean): Promise<void> {
  const { text, label } = await editWorkspaceFile(cli, true, (own) => own.text ?? "");
  const found =
    text === undefined ? undefined : parseWorkspace(text, label).servers.find((one) => one.alias === alias);
  if (found === undefined) return;
  const { endpoint } = found;
  const isPackage = endpoint.transport === "stdio" && endpoint.kind === "package";
  throw new PortolanError("CONFIG_INVALID", `${label} already has a server ${alias}.`, {
    hint: `${isGiven ? "Write another name before the package" : "Choose another name with --name"}, or ${isPackage ? "update" : "remove"} that server: portolan ${isPackage ? "update" : "remove"} ${alias}`,
  });
}

/** The command line that adds exactly what was shown, for the hint. */
function commandOf(
  { options: { sandbox, workspace } }: Pick<Cli, "options">,
  { reference, facts }: Pick<Candidate, "reference" | "facts">,
  alias: string,
  raw: RawPackageOptions,
): string {
  const spec =
    reference.kind === "mcpb" ? `mcpb:${reference.location}` : `${reference.name}@${facts.version}`;
  return [
    `portolan add ${spec}`,
    ...(alias === aliasOf(reference) ? [] : [`--name ${alias}`]),
    ...(workspace === undefined ? [] : [`-w ${shellWord(workspace)}`]),
    ...(raw.registry ?? []).map((url) => `--registry ${url}`),
    ...(raw.from === undefined ? [] : [`--from ${raw.from}`]),
    ...(raw.configFile === undefined ? [] : [`--config-file ${shellWord(raw.configFile)}`]),
    ...(raw.config ?? []).map((pair) => `--config ${shellWord(pair)}`),
    ...(raw.allowLookAlike === true ? ["--allow-look-alike"] : []),
    ...(sandbox.mode === undefined ? [] : [`--sandbox ${sandbox.mode}`]),
    ...sandbox.network.map((host) => `--allow-net ${shellWord(host)}`),
    ...sandbox.read.map((path) => `--allow-read ${shellWord(path)}`),
    ...sandbox.write.map((path) => `--allow-write ${shellWord(path)}`),
  ].join(" ");
}

interface Added {
  readonly alias: string;
  readonly candidate: Pick<Candidate, "facts">;
  readonly tools: ComparedTools;
  readonly values: readonly SettingValue[];
  readonly file: string;
  readonly label: string;
  readonly lockFile: string;
  readonly applied: AppliedChange;
}

function report(
  { output }: Cli,
  { alias, candidate, tools, values, file, label, lockFile, applied }: Added,
): void {
  const { facts } = candidate;
  noteTools({ output }, alias, tools);
  const pinned = Object.keys(tools.pins).length;
  const contracts = (facts.contracts ?? []).map(({ id }) => plainLine(id, 80));
  if (output.form === "json")
    output.json({
      ...{ file, lockFile, server: alias, written: true },
      package: { name: facts.name, version: facts.version },
      tools: {
        ...{ pinned: Object.keys(tools.pins), undeclared: tools.undeclared, absent: tools.absent },
        refused: refusedOf(tools),
      },
      settings: values.map(({ setting, from }) => ({ key: setting.key, variable: setting.variable, from })),
      ...applied.fields,
    });
  else {
    output.print(
      [
        `Added ${facts.name}@${facts.version} as ${alias} to ${label}; ${count(pinned, "tool")} pinned in portolan.lock.`,
        ...(contracts.length === 0
          ? []
          : [`The package serves ${count(contracts.length, "contract")}: ${contracts.join(", ")}.`]),
        output.colors.dim(`To see the tools: portolan list ${contracts.length === 0 ? alias : ""}`.trim()),
      ].join("\n"),
    );
    applied.print();
  }
}

export function noteTools({ output }: Pick<Cli, "output">, alias: string, tools: ComparedTools): void {
  const warn = (text: string): void => output.note(`${output.noteColors.yellow("warning")} ${text}`);
  const names = (list: readonly string[]): string => plainLine(list.join(", "), 300);
  const undeclared = tools.undeclared.filter((name) => !tools.unpinnable.includes(name));
  if (undeclared.length > 0)
    warn(
      `Portolan withholds (does not offer) these tools of the server, because its package does not declare them: ${names(undeclared)}. To approve them: portolan pins approve ${alias}`,
    );
  if (tools.unpinnable.length > 0)
    warn(
      `Portolan withholds (does not offer) these tools of the server, because their definitions are malformed and cannot be pinned: ${names(tools.unpinnable)}. Only the author of the server can correct them.`,
    );
  if (tools.absent.length > 0)
    warn(`The package declares tools that the server does not have: ${names(tools.absent)}.`);
  if (tools.differing.length > 0)
    warn(
      `The descriptions of these tools in the server differ from those in its package: ${names(tools.differing)}. Clients get the descriptions of the server.`,
    );
  for (const { tool, path, message } of tools.findings.slice(0, 20))
    warn(`${plainLine(tool, 80)}, ${plainLine(path, 120)}: ${plainLine(message, 300)}.`);
  for (const { tool, path, message } of tools.refused.slice(0, 20))
    warn(
      `The definition of the tool ${plainLine(tool, 80)} is not approved, so Portolan withholds (does not offer) the tool: ${plainLine(path, 120)} ${plainLine(message, 300)}. To approve the tool nevertheless: portolan pins approve ${alias} ${plainLine(shellWord(tool), 120)} --allow-findings`,
    );
  if (tools.refused.length > 20)
    warn(
      `${count(tools.refused.length - 20, "other tool")} with critical findings ${tools.refused.length === 21 ? "is" : "are"} withheld too. To see all of them: portolan pins ${alias}`,
    );
}

/** Tools that are withheld because of a finding, for JSON output. */
export function refusedOf({ refused }: ComparedTools): readonly object[] {
  return refused.map(({ tool, path, message }) => ({ name: tool, reason: `${path} ${message}` }));
}
