// `portolan update`: shows what a newer version of a package changes, asks, starts it once, and writes both files.

import { isDeepStrictEqual } from "node:util";
import { shellWord } from "../../base/text/command-line.ts";
import { changedError, isPortolanError, PortolanError, unknownServer } from "../../errors/index.ts";
import { sandboxFromPermissions } from "../../formats/package/index.ts";
import { definedOnly, filled, toSandboxFields } from "../../formats/manifest/index.ts";
import { changeServer, parseWorkspace, type ServerFields } from "../../formats/workspace/index.ts";
import { parsePackageReference, type SandboxConfig, type ServerConfig } from "../../model/index.ts";
import {
  addAgain,
  restoreHint,
  compareWithRemembered,
  keepDocument,
  type Lock,
  lockFileOf,
  type LockedPackage,
  type LockedServer,
  lockProblem,
  readInstalledDependencies,
  readLock,
} from "../../packages/index.ts";
import type { SecretStore } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { applyToGateways } from "../control/apply.ts";
import { editWorkspaceFile } from "../edit/workspace-file.ts";
import { exitCodeOf } from "../output/output.ts";
import { withSpinner } from "../output/progress.ts";
import { openSecrets, type PackageSettings, readPackageSettings } from "../registry/settings.ts";
import { registriesOf } from "../registry/options.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { loadSource } from "../workspace/source.ts";
import { approve, configure, noteTools, type RawPackageOptions, refusedOf, toLocked } from "./add.ts";
import { type Approval } from "./approval.ts";
import { type Candidate, findCandidate } from "./candidate.ts";
import { decideTools } from "./changed-tools.ts";
import type { SettingValue } from "./configuration.ts";
import { refuseByPolicy, requireConsent } from "./consent.ts";
import { comparePackages, type PackageDifference, refuseUpdate, renderDifference } from "./difference.ts";
import type { PackageFacts } from "./facts.ts";
import { compareTools, keepDefinitions } from "./live-tools.ts";
import { lockedFacts } from "./locked-facts.ts";
import {
  describeExcluded,
  describeNpmUpdate,
  exactVersionOf,
  findNpmUpdates,
  npmProgramOf,
  type NpmUpdate,
} from "../install/npm-updates.ts";
import { orUnchanged, saveDecision } from "./save.ts";
import { tryServer } from "./trial.ts";
import { compareVersionTexts } from "./version-order.ts";

export interface RawUpdateOptions extends RawPackageOptions {
  check?: boolean;
  acceptTools?: boolean;
  allowDowngrade?: boolean;
}

interface Target {
  readonly server: ServerConfig;
  readonly written: string;
  readonly env: Readonly<Record<string, string>>;
  readonly entry: LockedServer;
  readonly locked: LockedPackage;
}

interface Outcome {
  readonly server: string;
  readonly state: "current" | "available" | "updated";
  /** The locked version. */
  readonly from: string;
  /** The newer version; absent if there is none. */
  readonly to?: string;
  /** A newer version that the range in portolan.yaml excludes. */
  readonly newer?: string;
  readonly difference?: PackageDifference;
  readonly approval?: Approval;
  readonly tools?: {
    readonly changed: readonly string[];
    readonly approved: boolean;
    /** Tools with critical findings, which are withheld. */
    readonly refused: readonly object[];
  };
}

export async function update(cli: Cli, names: readonly string[], raw: RawUpdateOptions): Promise<number> {
  const { output } = cli;
  const settings = await readPackageSettings(cli);
  const { targets, ofNpm } = await findTargets(cli, settings, names);
  const isNpmOnly = targets.length === 0 && ofNpm.length > 0;
  const reportsNpm = raw.check === true || raw.dryRun === true;
  if (isNpmOnly && !reportsNpm) return updateNpm(cli, ofNpm);
  const outcomes: Outcome[] = [];
  for (const target of targets) {
    const what = `Nothing about ${plainLine(target.server.alias, 60)}`;
    try {
      outcomes.push(await orUnchanged(cli, what, () => updateOne(cli, target, settings, raw)));
    } catch (error) {
      await reportUpdated(cli, outcomes);
      throw aboutOne(error, what);
    }
  }
  const checked = reportsNpm ? await findNpmUpdates(cli, ofNpm) : [];
  const isUpdated = outcomes.some(({ state }) => state === "updated");
  const applied = isUpdated ? await applyToGateways(cli) : undefined;
  if (output.form === "json")
    output.json({ servers: [...outcomes, ...checked.map(toJson)], ...applied?.fields });
  else if (outcomes.length + checked.length === 0)
    output.print("No server in portolan.yaml comes from a package, so there is nothing to update.");
  else for (const line of [...outcomes.map(describe), ...checked.map(describeNpmUpdate)]) output.print(line);
  if (ofNpm.length > 0 && !reportsNpm) {
    const list = ofNpm.map(({ alias }) => plainLine(alias, 60));
    output.note(
      `The npm packages of these servers were not updated: ${list.join(", ")}. To update them within their version ranges: portolan update ${list.join(" ")}`,
    );
  }
  if (output.form !== "json") applied?.print();
  if (applied !== undefined && applied.code !== 0) return applied.code;
  const failed = checked.find(({ error }) => error !== undefined)?.error;
  if (failed !== undefined) return exitCodeOf(failed);
  return raw.check === true && [...outcomes, ...checked].some(({ state }) => state === "available") ? 1 : 0;
}

/** A package that cannot be updated ends the command. The packages before it stay updated. */
async function reportUpdated(cli: Cli, outcomes: readonly Outcome[]): Promise<void> {
  const updated = outcomes.filter(({ state }) => state === "updated");
  if (updated.length === 0) return;
  for (const outcome of updated) cli.output.note(describe(outcome));
  if (!cli.interrupt.signal.aborted) await applyToGateways(cli);
}

/** The same error, whose message says only about this server that nothing was changed: others may be updated already. */
export function aboutOne(error: unknown, what: string): unknown {
  if (!isPortolanError(error)) return error;
  return changedError(error, {
    message: error.message.replace(/\bNothing was changed\b/, () => `${what} was changed`),
  });
}

function toJson({ error, ...update }: NpmUpdate): object {
  return error === undefined ? update : { ...update, error: error.toJSON() };
}

function describe({ server, state, newer, from, to = "", tools }: Outcome): string {
  const name = plainLine(server, 60);
  if (state === "current")
    return newer === undefined
      ? `${name} is up to date.`
      : `${name} is up to date. ${describeExcluded(newer)}, and run this command again.`;
  if (state === "available") return `${name}: ${from} → ${to} is available.`;
  const updated = `Updated ${name} from ${from} to ${to}.`;
  if (tools === undefined || tools.approved) return updated;
  const withheld = plainLine(tools.changed.join(", "), 300);
  return `${updated}\nPortolan withholds (does not offer) these tools until you approve their changed definitions: ${withheld}. To approve them: portolan pins approve ${name}`;
}

interface Found {
  readonly targets: readonly Target[];
  /** Servers that run packages of npm, which `portolan install --update` updates. */
  readonly ofNpm: readonly ServerConfig[];
}

/** If all servers run packages of npm: the same as `portolan install --update`. */
async function updateNpm(cli: Cli, servers: readonly ServerConfig[]): Promise<number> {
  const words = servers.map(({ alias }) => alias);
  const { installServers } = await import("../install/install.ts");
  const code = await installServers(cli, { words, server: undefined }, { update: true });
  for (const server of servers) {
    const exact = exactVersionOf(server);
    const name = plainLine(server.alias, 60);
    if (exact !== undefined)
      cli.output.note(
        `portolan.yaml:${exact.line} names exactly ${plainLine(exact.package, 200)}, so that portolan update keeps the version of ${name}. To see whether there is a newer one: portolan update --check ${name}`,
      );
  }
  return code;
}

/** The servers that come from packages. A named one that comes neither from a package nor from npm is an error. */
async function findTargets(cli: Cli, { folder }: PackageSettings, names: readonly string[]): Promise<Found> {
  const { text = "", file } = await editWorkspaceFile(cli, true, (own) => own.text ?? "");
  const { servers } = parseWorkspace(text, file);
  const lock = await readLock(lockFileOf(folder));
  const unknown = names.find((name) => !servers.some(({ alias }) => alias === name));
  if (unknown !== undefined) {
    await refuseOtherFile(cli, unknown);
    throw unknownServer(
      unknown,
      servers.map(({ alias }) => alias),
    );
  }
  const chosen = servers.filter(({ alias }) => names.length === 0 || names.includes(alias));
  const ofNpm = chosen.filter((server) => npmProgramOf(server) !== undefined);
  const mustBePackage = (server: ServerConfig): boolean => names.length > 0 && !ofNpm.includes(server);
  return { targets: chosen.flatMap((server) => toTarget(server, lock, mustBePackage(server))), ofNpm };
}

/** Throws if another config file has the server. Errors in other files are not reported here. */
async function refuseOtherFile(cli: Cli, name: string): Promise<void> {
  const source = await loadSource(cli).catch(() => undefined);
  const found = source?.config.servers.find(({ alias }) => alias === name);
  if (found === undefined) return;
  const { file, line } = found.origin;
  throw new PortolanError(
    "USAGE",
    `The config of the server ${name} is in ${pathLabeller(cli.io)(file)}:${line}, and portolan update only updates servers in portolan.yaml.`,
    { hint: otherUpdateHint(found) },
  );
}

function otherUpdateHint(server: ServerConfig): string {
  return npmProgramOf(server) === undefined
    ? "If its config names a version, change the version there."
    : `Update its npm package within its version range: portolan install --update ${server.alias}`;
}

function toTarget(server: ServerConfig, lock: Lock, isNamed: boolean): Target[] {
  const { alias, endpoint } = server;
  if (endpoint.transport !== "stdio" || endpoint.kind !== "package") {
    if (!isNamed) return [];
    throw new PortolanError(
      "USAGE",
      `The config of the server ${alias} has no field package, so portolan update cannot update the server.`,
      { hint: otherUpdateHint(server) },
    );
  }
  const entry = Object.hasOwn(lock.servers, alias) ? lock.servers[alias] : undefined;
  if (entry?.package === undefined)
    throw new PortolanError("VERSION_MISMATCH", `portolan.lock has no entry for ${alias}.`, {
      hint: restoreHint(alias, endpoint.package),
    });
  return [{ server, entry, locked: entry.package, written: endpoint.package, env: endpoint.env ?? {} }];
}

async function updateOne(
  cli: Cli,
  target: Target,
  settings: PackageSettings,
  raw: RawUpdateOptions,
): Promise<Outcome> {
  const { output } = cli;
  const { locked, written, server } = target;
  const { alias } = server;
  const reference = parsePackageReference(written);
  if (typeof reference === "string") throw new PortolanError("FILE_INVALID", `${alias}: ${reference}.`);
  const candidate = await withSpinner(cli, async (spinner) => {
    spinner.start(`looking for updates of ${plainLine(alias, 60)}`);
    const [from] = locked.source.split(":", 1);
    return findCandidate(reference, { cli, settings, raw, from });
  });
  const { facts, origin } = candidate;
  if (facts.version === locked.version) {
    // Another package or bundle may have the same version.
    const other = lockProblem(reference, locked, alias);
    if (other !== undefined)
      throw new PortolanError("VERSION_MISMATCH", other.message, { server: alias, hint: other.hint });
    const { metadata, integrity } = candidate.locked;
    if (metadata === locked.metadata && integrity === locked.integrity) {
      refuseOtherOrigin(candidate, locked, alias);
      const { newest } = candidate;
      const isNewer = newest !== undefined && compareVersionTexts(newest, facts.version) > 0;
      return { server: alias, state: "current", from: locked.version, newer: isNewer ? newest : undefined };
    }
    throw new PortolanError(
      "FORBIDDEN",
      reference.kind === "mcpb"
        ? `${reference.location} differs from the file of ${locked.name}@${locked.version} that portolan.lock records.`
        : `The metadata of ${locked.name}@${locked.version} in the registry no longer matches portolan.lock.`,
      {
        server: alias,
        hint:
          reference.kind === "mcpb"
            ? `Ask the author of the bundle. If you trust the new file, add it again: ${addAgain(alias, written)}`
            : "A published version must not change. Do not install it. Ask its author or the operator of the registry.",
        data: { reason: "HASH_MISMATCH", locked: locked.metadata, found: candidate.locked.metadata },
      },
    );
  }
  const versions = { from: locked.version, to: facts.version };
  const before = await lockedFacts(locked);
  const difference = comparePackages({
    ...{ locked, before, after: facts, origin, source: candidate.locked.source },
  });
  const approval = approve(candidate, settings, raw);
  const { advisories } = approval;
  const view = { colors: output.noteColors, width: cli.io.stderr.columns, advisories };
  if (raw.check !== true && (output.form === "text" || cli.io.stderr.isTTY === true))
    output.note(`${renderDifference(difference, facts, view)}\n`, true);
  if (raw.check === true) return { server: alias, state: "available", ...versions, difference };
  refuseByPolicy(approval, [...refuseUpdate(difference, raw), ...approval.refusals]);
  if (raw.dryRun === true) return { server: alias, state: "available", ...versions, difference, approval };
  const { added } = difference.permissions;
  await requireConsent(cli, {
    ...{ approval, wanted: added, options: raw, needsAllow: added.length > 0 },
    question: `Update ${alias} to ${facts.version}?`,
    command: commandOf(cli, alias, raw),
  });
  return accept(cli, { target, candidate, difference, settings, raw, before });
}

/** The command line that accepts what was shown, for the hint. */
function commandOf(
  { options: { workspace } }: Pick<Cli, "options">,
  alias: string,
  { registry = [], configFile, config = [], acceptTools, allowDowngrade }: RawUpdateOptions,
): string {
  return [
    `portolan update ${alias}`,
    ...(workspace === undefined ? [] : [`-w ${shellWord(workspace)}`]),
    ...registry.map((url) => `--registry ${shellWord(url)}`),
    ...(configFile === undefined ? [] : [`--config-file ${shellWord(configFile)}`]),
    ...config.map((pair) => `--config ${shellWord(pair)}`),
    ...(acceptTools === true ? ["--accept-tools"] : []),
    ...(allowDowngrade === true ? ["--allow-downgrade"] : []),
  ].join(" ");
}

/** A signature that vanished from a version that is installed: the registry changed, and the next version cannot be trusted. */
function refuseOtherOrigin({ origin }: Candidate, locked: LockedPackage, server: string): void {
  const compared = compareWithRemembered(origin, locked.provenance);
  if (compared.state !== "invalid" || origin.state === "unchecked") return;
  throw new PortolanError(
    "FORBIDDEN",
    `${locked.name}@${locked.version} has a different origin (provenance or signature) than portolan.lock records: ${plainLine(compared.reason, 1_000)}.`,
    {
      server,
      hint: "This package was not changed. Check packages.trust in portolan.yaml, and ask the author of the package or the operator of the registry.",
      data: { reason: "ORIGIN_CHANGED" },
    },
  );
}

interface Acceptance {
  readonly target: Target;
  readonly candidate: Candidate;
  readonly difference: PackageDifference;
  readonly settings: PackageSettings;
  readonly raw: RawUpdateOptions;
  readonly before: PackageFacts | undefined;
}

async function accept(cli: Cli, acceptance: Acceptance): Promise<Outcome> {
  const { target, candidate, difference, settings, raw, before } = acceptance;
  const { alias } = target.server;
  let opened: SecretStore | undefined;
  const secrets = (): SecretStore => (opened ??= openSecrets(cli, settings));
  const values = await configure(cli, candidate, raw, secrets, target.env);
  const fields = changedFields(target, candidate, values, before);
  const change = ({ text = "" }: { text: string | undefined }): string => changeServer(text, alias, fields);
  const planned = await editWorkspaceFile(cli, true, change);
  const locked = toLocked(candidate, candidate.facts.permissions ?? []);
  await keepDocument(candidate.document);
  const live = await tryServer(cli, {
    ...{ alias, locked, values, text: planned.after, file: planned.file },
    ...{ folder: settings.folder, envFile: settings.envFile },
    registries: registriesOf(cli, raw, settings),
  });
  const approvedBefore = target.entry.tools ?? {};
  const compared = compareTools(live, candidate.facts, approvedBefore);
  noteTools(cli, alias, compared);
  const { changed, pins } = await decideTools(
    cli,
    { alias, approved: approvedBefore },
    live,
    compared.pins,
    raw,
  );
  cli.interrupt.signal.throwIfAborted();
  const entry = { ...locked, dependencies: await readInstalledDependencies(locked) };
  await saveDecision(cli, {
    ...{ values, secrets, change },
    entries: new Map([[alias, { package: entry, tools: pins }]]),
  });
  await keepDefinitions(live, pins);
  await candidate.registry
    ?.countDownload(candidate.facts.name, candidate.facts.version)
    .catch(() => undefined);
  const approved = changed.every((name) => pins[name] === compared.pins[name]);
  const versions = { from: target.locked.version, to: candidate.facts.version };
  const refused = refusedOf(compared);
  return { server: alias, state: "updated", ...versions, difference, tools: { changed, approved, refused } };
}

/** The fields of portolan.yaml that the new version changes: new settings, and the sandbox if permissions changed. */
function changedFields(
  { server, env }: Target,
  { facts }: Candidate,
  values: readonly SettingValue[],
  before: PackageFacts | undefined,
): ServerFields {
  const written = Object.fromEntries(values.map(({ setting, text }) => [setting.variable, text]));
  const own = server.launch?.sandbox ?? {};
  const sandbox = nextSandbox(own, before, facts);
  return {
    env: filled({ ...env, ...written }),
    ...(isDeepStrictEqual(sandbox, own) ? {} : { sandbox: toSandboxFields(definedOnly(sandbox)) }),
  };
}

/** Rules that a person wrote stay. Rules that the old permissions gave are replaced by those of the new ones. */
export function nextSandbox(
  own: SandboxConfig,
  before: Pick<PackageFacts, "permissions" | "sandbox"> | undefined,
  after: Pick<PackageFacts, "permissions" | "sandbox">,
): SandboxConfig {
  const old = before === undefined ? undefined : sandboxFromPermissions(before);
  const next = sandboxFromPermissions(after);
  if (!next.ok) return own;
  const given = old?.ok === true ? (old.sandbox.network ?? []) : [];
  const personal = (own.network ?? []).filter((host) => !given.includes(host));
  const network = [...new Set([...personal, ...(next.sandbox.network ?? [])])];
  const [spawns, spawned] = [
    next.sandbox.exec?.spawn === true,
    old?.ok === true && old.sandbox.exec?.spawn === true,
  ];
  return {
    ...own,
    network,
    exec: { ...own.exec, spawn: spawns || (own.exec?.spawn === true && !spawned) },
    ...(next.sandbox.backend === undefined ? {} : { backend: next.sandbox.backend }),
  };
}
