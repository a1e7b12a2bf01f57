// Runs the command of the container engine: probes it, pulls images, finds published ports, kills containers, and
// removes containers that outlived the Portolan process that started them.

import { setTimeout as sleep } from "node:timers/promises";
import { lastWords } from "../../base/text/truncate.ts";
import { isPortolanError, PortolanError } from "../../errors/index.ts";
import type { DockerRun } from "../../model/index.ts";
import {
  childEnvironment,
  lookUpProgram,
  runProgram,
  isOwnerAnywhereGone,
  ownerTagAnywhere,
  type RunResult,
  startDetached,
} from "../../process/index.ts";
import type { BackendReport } from "../types.ts";

export type Engine = DockerRun["engine"];

const PROBE_MS = 10_000;
const PORT_MS = 10_000;
const PULL_MS = 30 * 60_000;
const PORT_PAUSE_MS = 50;
/** Variables that say where the engine is and who the user is. */
const CLIENT =
  /^(?:HOME|PATH|USERPROFILE|DOCKER_\w+|CONTAINERS?_\w+|XDG_RUNTIME_DIR|XDG_CONFIG_HOME|SSH_AUTH_SOCK)$/;

/** Whether a variable configures the engine's own command, so that it cannot carry a value for the container. */
export function isClientVariable(name: string): boolean {
  return (
    CLIENT.test(name) || /^(?:LD_\w+|DYLD_\w+|GO\w+|TMPDIR|SSL_CERT_\w+|https?_proxy|no_proxy)$/i.test(name)
  );
}

/** The variables of Portolan's environment that the engine's command needs. */
export function clientEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter((entry): entry is [string, string] =>
    CLIENT.test(entry[0]),
  );
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/**
 * All commands for one server reach the same engine, which the server's variables may choose. HOME and PATH stay
 * Portolan's own.
 */
export function engineEnvironment(declared: Readonly<Record<string, string>>): Record<string, string> {
  const { HOME: _home, PATH: _path, TMPDIR: _temporary, ...rest } = declared;
  return { ...clientEnvironment(), ...steeringOf(rest) };
}

/** The variables that configure the engine's command. */
export function steeringOf(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => isClientVariable(name)));
}

/** The engine's command. */
export interface EngineCommand {
  /** An absolute path. */
  readonly file: string;
  /** Default: the variables of Portolan's own environment that the command needs. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function probeEngine(engine: Engine, env?: EngineCommand["env"]): Promise<BackendReport> {
  const what = `${engine} engine`;
  const file = await lookUpProgram(engine).catch(() => undefined);
  if (file === undefined) {
    const remedy = `Install ${engine === "docker" ? "Docker" : "Podman"}.`;
    return {
      available: false,
      findings: [{ what, ok: false, detail: `the program "${engine}" is not installed`, remedy }],
    };
  }
  const format = engine === "docker" ? "{{.Server.Version}}" : "{{.Client.Version}}";
  const { stdout, stderr, code } = await runEngine({ file, env }, ["version", "--format", format], PROBE_MS);
  const version = stdout.trim();
  if (code === 0 && version !== "")
    return { available: true, version, findings: [{ what, ok: true, detail: version }] };
  const detail = lastWords(stderr.trim().split("\n").at(-1) ?? "", 300) || "it does not respond";
  const remedy =
    engine === "docker"
      ? /permission denied/i.test(stderr)
        ? 'Let your user use Docker: sudo usermod -aG docker "$USER", then log in again.'
        : "Start Docker: sudo systemctl start docker, or Docker Desktop."
      : process.platform === "linux"
        ? "See the error of Podman: podman info"
        : "podman machine start";
  return { available: false, findings: [{ what, ok: false, detail, remedy }] };
}

export interface ContainerPort extends EngineCommand {
  readonly container: string;
  /** Inside of the container. */
  readonly port: number;
  /** Ends the wait: the container may never start. */
  readonly signal: AbortSignal;
}

/** Waits for the port on 127.0.0.1 that leads to a container port. */
export async function publishedPort(wanted: ContainerPort): Promise<number> {
  const { container, port, signal } = wanted;
  for (let pause = PORT_PAUSE_MS; ; pause = Math.min(pause * 2, 1_000)) {
    signal.throwIfAborted();
    const { stdout, code } = await runEngine(wanted, ["port", container, `${port}/tcp`], PORT_MS, signal);
    const found = code === 0 ? /^(?:127\.0\.0\.1|\[::1\]):(\d{1,5})\s*$/m.exec(stdout)?.[1] : undefined;
    if (found !== undefined) return Number(found);
    await sleep(pause, undefined, { signal }).catch(() => {});
  }
}

export interface ImageRequest extends EngineCommand {
  readonly image: string;
  readonly server?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly server?: string; readonly what: string }) => void;
}

/** Pulls a missing image before the start, so that the pull does not count towards the start timeout. */
export async function ensureImage(request: ImageRequest): Promise<void> {
  const { image, server, signal } = request;
  try {
    await pullMissing(request);
  } catch (error) {
    if (isPortolanError(error) || signal?.aborted !== true) throw error;
    throw new PortolanError("CANCELLED", `pulling ${image} was cancelled`, { server, cause: error });
  }
}

async function pullMissing(request: ImageRequest): Promise<void> {
  const { image, server, signal, onProgress } = request;
  const found = await runEngine(
    request,
    ["image", "inspect", "--format", "{{.Id}}", image],
    PROBE_MS,
    signal,
  );
  if (found.code === 0) return;
  onProgress?.({ server, what: `pulling ${image}` });
  const { code, stderr } = await runEngine(request, ["pull", "--quiet", image], PULL_MS, signal);
  if (code === 0) return onProgress?.({ server, what: `pulled ${image}` });
  const reason = lastWords(stderr.trim().split("\n").slice(-3).join("\n"), 500) || "it gave no reason";
  throw new PortolanError("INSTALL_FAILED", `The image ${image} could not be pulled: ${reason}`, {
    server,
    hint: "Check the image's name, the network, and whether you are logged in to its registry.",
    data: { image },
  });
}

/** Kills a container that may have outlived its command. Never fails, and does not wait. */
export function killContainer({ file, env = clientEnvironment() }: EngineCommand, container: string): void {
  void startDetached({ file, args: ["kill", container], env: childEnvironment(env) });
}

/** Runs one command of the engine. Rejects if it cannot be started or is aborted. */
export async function runEngine(
  { file, env = clientEnvironment() }: EngineCommand,
  args: readonly string[],
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<RunResult> {
  return runProgram({ file, args, env: childEnvironment(env), cwd: undefined }, { timeoutMs, signal });
}

/** The label of a container that names its owner. */
const LABEL = "portolan.owner";
const ENGINE_MS = 10_000;
/**
 * Docker prints labels as `a=b,c=d`, Podman as `map[a:b c:d]`; older versions of Podman cannot print a single
 * label.
 */
const LINE =
  /^([0-9a-f]{12,64})\tportolan-[0-9a-f]{16}\t(?:.*[,[ ])?portolan\.owner[=:]([\d.]+\.[0-9a-f]{32})(?:[,\] ]|$)/;

/** The options that label a container with its owner. */
export function ownerWords(): string[] {
  return ["--label", `${LABEL}=${ownerTagAnywhere()}`];
}

/**
 * Removes the containers of owners that have ended. Keeps those of running owners, of owners that cannot be looked
 * up, and containers that merely inherited the label from their image. Never fails.
 */
export async function reapContainers(engine: EngineCommand, signal?: AbortSignal): Promise<void> {
  const format = "{{.ID}}\t{{.Names}}\t{{.Labels}}";
  const words = ["ps", "--all", "--no-trunc", "--filter", `label=${LABEL}`, "--format", format];
  try {
    const { stdout } = await runEngine(engine, words, ENGINE_MS, signal);
    const gone = orphansAmong(stdout);
    if (gone.length > 0) await runEngine(engine, ["rm", "--force", ...gone], ENGINE_MS, signal);
  } catch {
    // The next start tries again.
  }
}

/** The ids of orphaned containers in an engine's list. */
export function orphansAmong(list: string): string[] {
  return list.split("\n").flatMap((line) => {
    const [, id, owner] = LINE.exec(line.trimEnd()) ?? [];
    return id !== undefined && owner !== undefined && isOwnerAnywhereGone(owner) ? [id] : [];
  });
}
