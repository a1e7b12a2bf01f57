// A program and its box, made ready to be spawned: everything that was declared is held, or nothing is started.

import { homedir } from "node:os";
import { PortolanError, type Report } from "../errors/index.ts";
import { type DockerRun, type HttpProgram, type LaunchSettings, modeWords, recognise, type StdioEndpoint } from "../model/index.ts";
import { boxEnvironment, childEnvironment, runPlain, type RunProgram, type Spawnable, unclosable } from "../process/index.ts";
import { backendFor, type Box, type Certificates, checkDeclaration, chooseMode, type ChosenMode, type Clause, createPathCheck, findCertificates, hiddenPaths, type MadeBox, makeBox, type NamedPath, noteWriter, ownFolders, type SandboxBackend, writableFolders } from "../sandbox/index.ts";
import { keptHomeOf, makeHome } from "./kept-home.ts";
import { findServerProgram, type FoundProgram } from "./program.ts";
import type { LaunchNews, LaunchPlan } from "./types.ts";

export interface LaunchRequest {
  readonly server: string;
  /** With the port of an image that must be reachable; a plan that did not know of it would be another one. */
  readonly endpoint: Omit<StdioEndpoint, "transport"> & Partial<Pick<HttpProgram, "port">>;
  readonly settings?: LaunchSettings | undefined;
  /** Folders that the caller grants, as absolute paths. */
  readonly roots?: readonly string[] | undefined;
  readonly report?: Report | undefined;
  readonly onLaunch?: ((news: LaunchNews) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The words of `args` that are not chosen by who calls; only from these it is inferred what the program needs of its own. Default: all. */
  readonly ownArgs?: readonly string[] | undefined;
  /** Nothing is downloaded, and what cannot be held is only said. */
  readonly dryRun?: boolean | undefined;
}

export interface Prepared {
  readonly plan: LaunchPlan;
  /** As it was worked out, whatever holds it. */
  readonly box: Box;
  readonly spawnable: Spawnable;
}

const NO_BOX: Box = {
  mounts: [],
  home: homedir(),
  network: [],
  exec: { allow: undefined, spawn: true },
  limits: {},
  declaredLimits: new Set(),
};

const NO_CERTIFICATES: Certificates = { env: {}, paths: [] };

export async function prepare(request: LaunchRequest): Promise<Prepared> {
  checkDeclaration(request.settings?.sandbox, request.server);
  const chosen = chooseMode(request.settings, process.env);
  return wrap(await prepareProgram(request, chosen), request, chosen);
}

/** The program alone: installed, and of the right version. */
export function prepareProgram(
  request: LaunchRequest,
  chosen: ChosenMode = chooseMode(request.settings, process.env),
): Promise<FoundProgram> {
  return findServerProgram(request, versionRunner(request, chosen));
}

export function planned({ plan, box }: Prepared): LaunchNews {
  if (plan.sandbox.backend === "none") return { type: "planned", plan };
  const { cwd } = box;
  // Paths of a container are the image's own.
  const hiddenAmong =
    plan.sandbox.backend === "docker"
      ? undefined
      : (words: readonly string[]) => hiddenPaths({ args: words, cwd, env: {} }, box, homedir()).named;
  return { type: "planned", plan, checkPath: createPathCheck(box), hiddenAmong };
}

/** A stranger's program is asked for its version in the box that it will run in, but without network. */
function versionRunner(request: LaunchRequest, chosen: ChosenMode): RunProgram {
  return async ({ file, args, cwd }, options) => {
    const found = { kind: "binary", source: file, file, args, cwd, folders: [], docker: undefined } as const;
    const sandbox = { ...request.settings?.sandbox, network: [] };
    const settings = { ...request.settings, sandbox };
    const { spawnable } = await wrap(found, { ...request, settings, roots: [] }, chosen);
    return runPlain(spawnable, options);
  };
}

async function wrap(found: FoundProgram, request: LaunchRequest, chosen: ChosenMode): Promise<Prepared> {
  const { server, settings, dryRun = false, report = () => {}, onLaunch } = request;
  // An image brings its own.
  const certificates =
    chosen.mode === "off" || found.docker !== undefined
      ? NO_CERTIFICATES
      : await findCertificates(declaredEnvironment(request), found.cwd);
  const made =
    chosen.mode === "off"
      ? { box: NO_BOX, problems: [], notGranted: [] }
      : await boxOf(found, request, certificates);
  const { backend, missing } = await heldBy(chosen, found, request, made);
  if (chosen.mode === "enforce" && missing.length > 0 && !dryRun) throw notHeld(request, missing);
  const { box } = made;
  const own = settings?.homeFolder === undefined ? {} : { HOME: settings.homeFolder };
  const declared = { ...declaredEnvironment(request), ...own };
  const env =
    backend.name === "none"
      ? childEnvironment(declared)
      : boxEnvironment(box.home, { ...certificates.env, ...declared });
  const { kind, source, file, args, cwd } = found;
  const program = { file, args, cwd, env };
  const onDenied: Parameters<SandboxBackend["wrap"]>[2]["onDenied"] = (denied) =>
    onLaunch?.({ type: "denied", ...denied });
  const held = (await backend.held?.(box)) ?? { box, unheldDefaults: [] };
  const spawnable = await backend.wrap(program, box, { server, report, onDenied });
  if (backend.name !== "none" && !dryRun) await noteWriter(server, box);
  const plan: LaunchPlan = {
    ...{ server, kind, source, program: file, args, cwd },
    env: (found.docker === undefined ? Object.keys(env) : containerVariables(found.docker)).toSorted(),
    sandbox: { ...chosen, backend: backend.name, ...held, missing },
    notGranted: backend.name === "none" ? [] : made.notGranted,
    spawn: [spawnable.file, ...spawnable.args],
  };
  return { plan, box, spawnable };
}

/** Paths that a config names and that its sandbox would hide. Nothing is started or fetched; a program that is missing has none. */
export async function namedButHidden(request: LaunchRequest): Promise<readonly NamedPath[]> {
  const chosen = chooseMode(request.settings, process.env);
  if (chosen.mode === "off" || recognise(request.endpoint).kind === "docker") return [];
  const found = await prepareProgram({ ...request, dryRun: true }, chosen).catch(() => undefined);
  if (found === undefined) return [];
  const certificates = await findCertificates(declaredEnvironment(request), found.cwd);
  return (await boxOf(found, request, certificates)).notGranted;
}

async function boxOf(
  found: FoundProgram,
  request: LaunchRequest,
  certificates: Certificates,
): Promise<MadeBox> {
  const { server, endpoint, settings, roots = [], ownArgs } = request;
  const declaration = settings?.sandbox;
  const kept = declaration?.home === "kept" ? await keptHomeOf(server, endpoint.cwd ?? "") : undefined;
  const keptHome = settings?.homeFolder ?? kept;
  if (keptHome !== undefined) await makeHome(keptHome, server);
  const { file, args, cwd, folders, docker } = found;
  // What is in an image brings all of its own.
  const given = { declaration, roots, keptHome, homedir: homedir() };
  const own =
    docker === undefined
      ? await ownFolders(file, ownArgs ?? args, cwd, { writable: await writableFolders(given) })
      : [];
  return makeBox({
    program: { file, args, cwd, env: { ...declaredEnvironment(request), PATH: process.env.PATH ?? "" } },
    ...given,
    ownFolders: [...folders, ...own],
    certificates: certificates.paths,
    cwdGranted: settings?.cwdImplied !== true,
    namesPaths: docker === undefined,
  });
}

/** Those of the engine's command stay outside of the container. */
function containerVariables({ options }: DockerRun): string[] {
  const given = options.filter(({ name }) => name === "env");
  return [...new Set(given.map(({ value = "" }) => value.split("=", 1)[0] ?? ""))];
}

/** What a declaration says about its server's variables. */
export function declaredEnvironment({ endpoint, settings }: LaunchRequest): Record<string, string> {
  const { pass = [], set = {} } = settings?.sandbox?.env ?? {};
  const passed = pass.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(passed), ...set, ...endpoint.env };
}

/** What is only planned may have references in it, whose values nobody has looked up. */
function withoutReferences(request: LaunchRequest): Record<string, string> {
  const entries = Object.entries(declaredEnvironment(request));
  return Object.fromEntries(entries.filter(([, value]) => !value.includes("${")));
}

/** The backend, and what of the box it does not hold. */
async function heldBy(
  { mode }: ChosenMode,
  found: FoundProgram,
  request: LaunchRequest,
  { box, problems }: MadeBox,
): Promise<{ backend: SandboxBackend; missing: readonly Clause[] }> {
  const env = request.dryRun === true ? withoutReferences(request) : declaredEnvironment(request);
  const accept = modeWords(request.settings, "warn");
  const program = { ...found, port: request.endpoint.port, env, accept };
  const backend = await backendFor(mode, program, request.settings?.sandbox?.backend);
  if (mode === "off") return { backend, missing: [] };
  const missing = [...problems, ...openDescriptors(), ...(await backend.missing(box))];
  const usable = (await backend.probe()).available;
  // Asked to start all the same, or only to say what would be: with as much of a box as there is.
  return { backend: usable ? backend : await backendFor("off", program, undefined), missing };
}

/** One open folder of ours would be a way out of any box. */
function openDescriptors(): Clause[] {
  return unclosable().map((fd) => ({
    clause: "sandbox",
    problem: `this program was started with the descriptor ${fd} open, which is above its limit and cannot be closed for others`,
    remedy: "Start it without that descriptor, or with a higher limit (ulimit -n).",
  }));
}

/** A command stays one that can be copied: nothing of the sentence around it becomes a part of it. */
function asSentence(remedy: string): string {
  return /^[a-z]/.test(remedy) ? `Run \`${remedy}\`.` : remedy.replace(/\.?$/, ".");
}

function notHeld({ server, settings }: LaunchRequest, missing: readonly Clause[]): PortolanError {
  const clauses = missing.map(({ clause, problem }) => `${clause}: ${problem}`).join("; ");
  const remedies = [...new Set(missing.map(({ remedy }) => asSentence(remedy)))].join(" ");
  const message = `${server} is not started, since its sandbox cannot be held: ${clauses}`;
  const agree = modeWords(settings, settings?.askedMode ?? "warn");
  const how = remedies.includes(agree) ? "" : `: ${agree}`;
  const asked =
    settings?.askedMode === undefined
      ? ""
      : `Its DRIVER.md asks for the sandbox mode ${settings.askedMode}, which has no effect until you agree${how}. `;
  const off =
    settings?.modeName === undefined
      ? "--sandbox off, or sandbox: off in its declaration"
      : modeWords(settings, "off");
  return new PortolanError("SANDBOX_UNAVAILABLE", message, {
    server,
    hint: `${asked}${remedies} To run it with all your rights instead: ${off}.`,
    data: { missing },
  });
}
