// Prepares the start of one server: finds its program, works out its sandbox policy, and wraps the program with a
// backend. If the backend cannot enforce a rule, the server does not start.

import { homedir } from "node:os";
import { isPortolanError, PortolanError, type Report } from "../errors/index.ts";
import {
  type DockerRun,
  type HttpProgram,
  type InstallableProgram,
  type LaunchSettings,
  modeWords,
  type LocalProgram,
  type ParsedProgram,
  parseProgram,
  programName,
  type SandboxConfig,
} from "../model/index.ts";
import {
  sandboxEnvironment,
  childEnvironment,
  runProgram,
  type RunProgram,
  type Spawnable,
  unclosable,
} from "../process/index.ts";
import {
  backendFor,
  type SandboxPolicy,
  type Certificates,
  type ConfigFiles,
  validateSandbox,
  chooseMode,
  MODE_SOURCES,
  type ChosenMode,
  type RuleProblem,
  createPathCheck,
  findCertificates,
  hiddenPaths,
  readOnlyPaths,
  type CreatedPolicy,
  createPolicy,
  type NamedPath,
  programFolders,
  scriptFolders,
  workspaceFolders,
  scriptWord,
  secretFilesOf,
  type SandboxBackend,
  writableByServers,
  writableFolders,
} from "../sandbox/index.ts";
import { createLaunchContext, type LaunchContext, type LaunchNews, type LaunchPlan } from "./types.ts";
import { keptHomeOf, makeHome } from "./kept-home.ts";
import { withNeededFolders } from "./needed-folders.ts";
import type { LaunchedPackage } from "./package.ts";
import { findServerProgram, type FoundProgram } from "./program.ts";

export interface LaunchRequest {
  readonly server: string;
  /** With the container port that must be reachable, because it is part of the plan. */
  readonly endpoint: LocalProgram & Partial<Pick<HttpProgram, "port">>;
  readonly settings?: LaunchSettings;
  /** Folders that the caller grants, as absolute paths. */
  readonly roots?: readonly string[];
  readonly report?: Report;
  readonly onLaunch?: (news: LaunchNews) => void;
  readonly signal?: AbortSignal;
  /** The context of the workspace that the server belongs to. Default: one of its own. */
  readonly context?: LaunchContext;
  /**
   * The arguments that do not come from the caller of a tool; Portolan infers the program's own folders only from
   * these. Default: all.
   */
  readonly ownArgs?: readonly string[];
  /** Further folders of the program itself, which its sandbox shows read-only. */
  readonly programFolders?: readonly string[];
  /** The package that the program comes from; `resolvePackage` sets it. */
  readonly package?: LaunchedPackage;
  /** Downloads nothing, and reports rules that cannot be enforced instead of throwing. */
  readonly dryRun?: boolean;
}

export interface Prepared {
  readonly plan: LaunchPlan;
  /** The policy before a backend restricts it to what it can enforce. */
  readonly policy: SandboxPolicy;
  readonly spawnable: Spawnable;
  /** The program belongs to the user, not to Portolan's store. */
  readonly isProject: boolean;
  readonly configFiles: ConfigFiles;
}

const noPolicy = (): SandboxPolicy => ({
  mounts: [],
  home: homedir(),
  network: [],
  exec: { allow: undefined, spawn: true },
  limits: {},
  configuredLimits: new Set(),
});

const NO_CERTIFICATES: Certificates = { env: {}, paths: [] };

export async function prepare({
  context = createLaunchContext(),
  ...rest
}: LaunchRequest): Promise<Prepared> {
  const { request, program } = await resolveProgram({ ...rest, context });
  validateSandbox(request.settings?.sandbox, request.server);
  const chosen = chooseMode(request.settings, process.env);
  return wrap(await prepareProgram(request, program, chosen), request, chosen);
}

/** The program of a request. A package is replaced by the program that the lock file names, and installed if it is missing. */
export async function resolveProgram(
  request: LaunchRequest,
): Promise<{ request: LaunchRequest; program: InstallableProgram }> {
  const program = parseProgramOf(request);
  if (program.kind !== "package") return { request, program };
  const { resolvePackage } = await import("./package.ts");
  const resolved = await resolvePackage(request, program);
  // The program of a package is never a package again.
  return { request: resolved, program: parseProgramOf(resolved) as InstallableProgram };
}

/** Parses the program of a server config. The error of a command that cannot be used names the server. */
export function parseProgramOf({ server, endpoint }: LaunchRequest): ParsedProgram {
  try {
    return parseProgram(endpoint);
  } catch (error) {
    throw isPortolanError(error) ? error.at({ server }) : error;
  }
}

/** Finds the program, installs it if it is missing, and checks its version. */
export function prepareProgram(
  request: LaunchRequest,
  program: InstallableProgram,
  chosen: ChosenMode = chooseMode(request.settings, process.env),
): Promise<FoundProgram> {
  return findServerProgram(request, program, versionRunner(request, chosen));
}

export function planned(
  { plan, policy, isProject, configFiles }: Prepared,
  fs?: SandboxConfig["fs"],
): LaunchNews {
  if (plan.sandbox.backend === "none") return { type: "planned", plan };
  const { cwd } = policy;
  // Paths in a container's command line are paths of the image.
  const script = plan.notGranted.find(({ isScript }) => isScript)?.path;
  const isImage = plan.sandbox.backend === "docker";
  const hiddenAmong = (words: readonly string[]): readonly NamedPath[] =>
    hiddenPaths({ args: words, cwd, env: {}, script }, policy, homedir()).named;
  const readOnlyAmong = (words: readonly string[]): readonly NamedPath[] =>
    readOnlyPaths(words, policy, isProject, configFiles.paths);
  const among = isImage ? {} : { hiddenAmong, readOnlyAmong };
  return { type: "planned", plan, checkPath: createPathCheck(policy), ...among, ...(fs && { fs }) };
}

/** Runs the version command in the server's own sandbox, without network, because the program is not trusted. */
function versionRunner(request: LaunchRequest, chosen: ChosenMode): RunProgram {
  return async ({ file, args, cwd }, options) => {
    const found = { kind: "binary", source: file, file, args, cwd, folders: [], docker: undefined } as const;
    const sandbox = { ...request.settings?.sandbox, network: [] };
    const settings = { ...request.settings, sandbox };
    const { spawnable } = await wrap(found, { ...request, settings, roots: [] }, chosen);
    return runProgram(spawnable, options);
  };
}

async function wrap(found: FoundProgram, request: LaunchRequest, chosen: ChosenMode): Promise<Prepared> {
  const { server, settings, dryRun = false, report = () => {}, onLaunch } = request;
  // An image contains its own certificates.
  const certificates =
    chosen.mode === "off" || found.docker !== undefined
      ? NO_CERTIFICATES
      : await findCertificates(configuredEnvironment(request), found.cwd);
  const made =
    chosen.mode === "off"
      ? { policy: noPolicy(), problems: [], notGranted: [] }
      : await policyFor(found, request, certificates);
  const { backend, missing } = await chooseBackend(chosen, found, request, made);
  if (chosen.mode === "enforce" && missing.length > 0 && !dryRun) throw notEnforced(request, missing);
  if (request.package?.sandboxRequired === true && backend.name === "none" && !dryRun)
    throw sandboxRequired(request, chosen);
  const { policy } = made;
  const own: Record<string, string> = settings?.homeFolder === undefined ? {} : { HOME: settings.homeFolder };
  const declared = { ...configuredEnvironment(request), ...own };
  const env =
    backend.name === "none"
      ? childEnvironment(declared)
      : sandboxEnvironment(policy.home, { ...certificates.env, ...quietUpdates(found.file), ...declared });
  const { kind, source, file, args, cwd } = found;
  const program = { file, args, cwd, env };
  const onDenied: Parameters<SandboxBackend["wrap"]>[2]["onDenied"] = (denied) =>
    onLaunch?.({ type: "denied", ...denied });
  const enforced = (await backend.enforced?.(policy)) ?? { policy, unenforcedDefaults: [] };
  const { warnedImages = new Set<string>() } = request.context ?? {};
  const spawnable = await backend.wrap(program, policy, { server, report, onDenied, warnedImages });
  if (backend.name !== "none" && !dryRun) await request.context?.writes.record(server, policy);
  const plan: LaunchPlan = {
    ...{ server, kind, source, program: file, args, cwd },
    env: (found.docker === undefined ? Object.keys(env) : containerVariables(found.docker)).toSorted(),
    sandbox: { ...chosen, backend: backend.name, ...enforced, missing },
    notGranted: backend.name === "none" ? [] : made.notGranted,
    spawn: [spawnable.file, ...spawnable.args],
  };
  const isProject = found.kind === "binary" && found.folders.length === 0;
  const { configFiles } = request.context ?? createLaunchContext();
  return { plan, policy, spawnable, isProject, configFiles };
}

/** The paths of a server config that its sandbox would not grant. */
export interface CheckedPaths {
  /** The paths that an argument or a variable names, and that the sandbox would hide. */
  readonly hidden: readonly NamedPath[];
  /** The rules whose path is a mistake. */
  readonly mistakes: readonly RuleProblem[];
  /** The folders and files of the program itself, which the sandbox shows without a grant. */
  readonly ownPaths: readonly string[];
}

const NO_PATHS: CheckedPaths = { hidden: [], mistakes: [], ownPaths: [] };

/**
 * Starts and downloads nothing; finds nothing if the program is not found. A package that is not installed yet names
 * the same paths.
 */
export async function checkPaths(named: LaunchRequest): Promise<CheckedPaths> {
  const chosen = chooseMode(named.settings, process.env);
  if (chosen.mode === "off") return NO_PATHS;
  const dry = { ...named, dryRun: true };
  const { kind } = parseProgramOf(dry);
  const resolved = await (kind === "package"
    ? resolveProgram(dry).catch(() => undefined)
    : resolveProgram(dry));
  if (resolved === undefined || resolved.program.kind === "docker") return NO_PATHS;
  const { request, program } = resolved;
  const found = await prepareProgram(request, program, chosen).catch(() => undefined);
  if (found === undefined) return NO_PATHS;
  const certificates = await findCertificates(configuredEnvironment(request), found.cwd);
  const { notGranted, problems, policy } = await policyFor(found, request, certificates);
  const own = policy.mounts.filter(({ reason }) => reason === "own");
  return {
    ...{ hidden: notGranted, mistakes: problems.filter(isMistake) },
    ownPaths: own.map(({ path }) => path),
  };
}

async function policyFor(
  found: FoundProgram,
  request: LaunchRequest,
  certificates: Certificates,
): Promise<CreatedPolicy> {
  const { server, endpoint, settings, roots = [], ownArgs, programFolders: more = [] } = request;
  const config = settings?.sandbox;
  const kept = config?.home === "kept" ? await keptHomeOf(server, endpoint.cwd ?? "") : undefined;
  const keptHome = settings?.homeFolder ?? kept;
  if (keptHome !== undefined) await makeHome(keptHome, server);
  const { file, args, cwd, folders, docker, interpreter, isAbsent = false } = found;
  // An image contains everything that its program needs.
  const given = { config, roots, keptHome, homedir: homedir() };
  const words = ownArgs ?? (isAbsent ? [] : args);
  const writable = await writableFolders(given);
  const ofProgram = docker === undefined ? await programFolders(file, words, cwd, { writable }) : [];
  // Paths in the arguments of a call grant nothing.
  const ofScript =
    interpreter === undefined || ownArgs !== undefined
      ? []
      : await scriptFolders(interpreter.name, interpreter.args, cwd, writable);
  const own = [...ofProgram, ...ofScript];
  const shared = await workspaceFolders(own, { writable });
  const { configFiles, servers } = request.context ?? createLaunchContext();
  const made = await createPolicy({
    program: { file, args, cwd, env: { ...configuredEnvironment(request), PATH: process.env.PATH ?? "" } },
    script: scriptWord(file, words),
    ...given,
    programFolders: [...folders, ...own, ...more],
    workspaceFolders: shared,
    inferredFolders: [...own, ...shared],
    secretFiles: [...configFiles.secrets, ...servers.flatMap(secretFilesOf)],
    certificates: certificates.paths,
    configFiles,
    writableByServers: await writableByServers(servers),
    cwdGranted: settings?.cwdImplied !== true,
    namesPaths: docker === undefined,
  });
  const notGranted = made.notGranted.map((named) => asWritten(named, args, endpoint.args ?? []));
  return { ...made, notGranted: withNeededFolders(notGranted, endpoint) };
}

/** Names an argument by its number in the config: the words of a package runner before it do not reach the program. */
function asWritten(named: NamedPath, args: readonly string[], written: readonly string[]): NamedPath {
  const [, digits] = /^args\[(\d+)\]$/.exec(named.where) ?? [];
  const index = Number(digits) + written.length - args.length;
  const isSame = digits !== undefined && written[index] === args[Number(digits)];
  return isSame ? { ...named, where: `args[${index}]` } : named;
}

/** Variables of the engine's own command stay outside of the container. */
function containerVariables({ options }: DockerRun): string[] {
  const given = options.filter(({ name }) => name === "env");
  return [...new Set(given.map(({ value = "" }) => value.split("=", 1)[0] ?? ""))];
}

/**
 * npm and pnpm ask the registry for their own new version, which the sandbox would report as a denied host of the
 * server.
 */
function quietUpdates(file: string): Record<string, string> {
  return /^p?npm$/.test(programName(file)) ? { npm_config_update_notifier: "false" } : {};
}

/** The variables that the server config sets or passes on. */
export function configuredEnvironment({ endpoint, settings }: LaunchRequest): Record<string, string> {
  const { pass = [], set = {} } = settings?.sandbox?.env ?? {};
  const passed = pass.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(passed), ...set, ...endpoint.env };
}

/** A planned server may contain secret references that have not been resolved. */
function withoutReferences(request: LaunchRequest): Record<string, string> {
  const entries = Object.entries(configuredEnvironment(request));
  return Object.fromEntries(entries.filter(([, value]) => !value.includes("${")));
}

/** Chooses the backend, and lists the rules that it cannot enforce. */
async function chooseBackend(
  { mode }: ChosenMode,
  found: FoundProgram,
  request: LaunchRequest,
  { policy, problems }: CreatedPolicy,
): Promise<{ backend: SandboxBackend; missing: readonly RuleProblem[] }> {
  const env = request.dryRun === true ? withoutReferences(request) : configuredEnvironment(request);
  const accept = modeWords(request.settings, "warn");
  const program = { ...found, port: request.endpoint.port, env, accept };
  const backend = await backendFor(mode, program, request.settings?.sandbox?.backend);
  if (mode === "off") return { backend, missing: [] };
  const missing = [...problems, ...openDescriptors(), ...(await backend.missing(policy))];
  const usable = (await backend.probe()).available;
  // In mode `warn`, and for a plan, the server runs with whatever the machine can enforce.
  return { backend: usable ? backend : await backendFor("off", program, undefined), missing };
}

/** An inherited descriptor of an open folder would be a way out of every sandbox. */
function openDescriptors(): RuleProblem[] {
  return unclosable().map((fd) => ({
    rule: "sandbox",
    problem: `Portolan was started with the open file descriptor ${fd}, which is above the limit of open files, so servers would inherit this descriptor`,
    remedy: "Start Portolan without this descriptor, or with a higher limit (ulimit -n).",
  }));
}

/** Marks a command in the hint, so that it can be copied without the sentence around it. */
export function asSentence(remedy: string): string {
  return /^[a-z]/.test(remedy) ? `Run \`${remedy}\`.` : remedy.replace(/\.?$/, ".");
}

/** Only the publisher of a package can say that it needs no sandbox. */
function sandboxRequired({ server, package: from }: LaunchRequest, { mode, by }: ChosenMode): PortolanError {
  const name = from?.source.split(" ", 1)[0] ?? "";
  return new PortolanError(
    "SANDBOX_UNAVAILABLE",
    mode === "off"
      ? `Server "${server}" was not started: its package ${name} requires a sandbox, but ${MODE_SOURCES[by]} sets the sandbox mode to off.`
      : `Server "${server}" was not started: its package ${name} requires a sandbox, but no sandbox backend works on this machine.`,
    {
      server,
      hint:
        mode === "off"
          ? "Remove this setting of the sandbox mode. The default mode is enforce."
          : "See what is missing on this machine: portolan doctor.",
    },
  );
}

/** A path of the config that is wrong on every machine, such as a granted folder that does not exist. */
function isMistake({ rule }: RuleProblem): boolean {
  return /^(?:fs\.(?:read|write)|cwd): /.test(rule);
}

function notEnforced({ server, settings }: LaunchRequest, missing: readonly RuleProblem[]): PortolanError {
  const problems = missing.map(({ rule, problem }) => `${rule}: ${problem}`).join("; ");
  const remedies = [...new Set(missing.map(({ remedy }) => asSentence(remedy)))].join(" ");
  const message = `Server "${server}" was not started: its sandbox cannot be enforced: ${problems}`;
  const agree = modeWords(settings, settings?.askedMode ?? "warn");
  const how = remedies.includes(agree) ? "" : `: ${agree}`;
  const asked =
    settings?.askedMode === undefined
      ? ""
      : `Its DRIVER.md requests the sandbox mode ${settings.askedMode}, which has no effect until you agree${how}. `;
  const off = `${modeWords(settings, "off")}${settings?.modeName === undefined ? " in its config" : ""}`;
  return new PortolanError("SANDBOX_UNAVAILABLE", message, {
    server,
    hint: missing.every(isMistake)
      ? `${asked}${remedies}`
      : `${asked}${remedies} To run the server without a sandbox: ${off}.`,
    data: { missing },
  });
}
