// Chooses the mode of a server's sandbox, and the backend that enforces it. The first server that needs a backend
// loads it.

import type { DockerRun, SandboxBackendName, SandboxMode, LaunchSettings } from "../model/index.ts";
import type { DockerRequest } from "./docker/unenforceable.ts";
import type { RuleProblem, SandboxBackend } from "./types.ts";
import { PortolanError } from "../errors/index.ts";

/** Loaded modules. A backend has no state of a workspace. */
const loaded = new Map<SandboxBackendName, Promise<SandboxBackend>>();

const LOADERS: Readonly<Record<Exclude<SandboxBackendName, "docker">, () => Promise<SandboxBackend>>> = {
  bubblewrap: async () => (await import("./bubblewrap/backend.ts")).createBubblewrap(),
  unshare: async () => (await import("./unshare/backend.ts")).createUnshare(),
  "sandbox-exec": async () => (await import("./sandbox-exec/backend.ts")).createSandboxExec(),
  srt: async () => (await import("./srt/backend.ts")).createSrt(),
  none: async () => none,
};

export async function backendFor(
  mode: SandboxMode,
  {
    docker,
    port,
    cwd,
    env,
    accept,
  }: { readonly docker: DockerRun | undefined } & Pick<DockerRequest, "cwd" | "port" | "env" | "accept">,
  wanted: SandboxBackendName | undefined,
): Promise<SandboxBackend> {
  if (mode === "off")
    return docker === undefined || port === undefined
      ? none
      : (await import("./docker/backend.ts")).openDocker(docker, port);
  // The engine already sandboxes the container; a second sandbox around its command line would enforce nothing.
  if (docker !== undefined) {
    const engine = (await import("./docker/backend.ts")).createDocker(docker, { port, cwd, env, accept });
    return wanted === undefined || wanted === "docker" ? engine : notAsWanted(engine, wanted);
  }
  if (wanted === "docker") return needsImage;
  return wanted === undefined ? usualBackend() : backendNamed(wanted);
}

/** Backends for local programs that need no config, in the order of preference. */
const USUAL: Readonly<Record<string, readonly UsualName[]>> = {
  linux: ["bubblewrap", "unshare"],
  darwin: ["sandbox-exec"],
};
type UsualName = Exclude<SandboxBackendName, "docker" | "none">;

export function usualBackends(platform: NodeJS.Platform = process.platform): readonly UsualName[] {
  return USUAL[platform] ?? ["srt"];
}

/** The first that works here. If none does, the one whose fix is the smallest step. */
async function usualBackend(): Promise<SandboxBackend> {
  let best: { readonly backend: SandboxBackend; readonly isInstalled: boolean } | undefined;
  for (const name of usualBackends()) {
    const backend = await backendNamed(name);
    const { available, version } = await backend.probe();
    if (available) return backend;
    const isInstalled = version !== undefined;
    if (best === undefined || (isInstalled && !best.isInstalled)) best = { backend, isInstalled };
  }
  return best?.backend ?? none;
}

/** A backend without a server, for `portolan doctor`. */
export function backendNamed(name: Exclude<SandboxBackendName, "docker">): Promise<SandboxBackend> {
  let backend = loaded.get(name);
  if (backend === undefined) loaded.set(name, (backend = LOADERS[name]()));
  return backend;
}

const none: SandboxBackend = {
  name: "none",
  probe: async () => ({ available: true, findings: [] }),
  missing: async () => [],
  wrap: async ({ file, args, env, cwd }) => ({
    ...{ file, args, env, cwd },
    fds: [],
    spawned: () => {},
    ended: () => {},
  }),
};

/** Only its engine can run an image. If the config names another backend, this is a rule that cannot be enforced. */
function notAsWanted(engine: SandboxBackend, wanted: SandboxBackendName): SandboxBackend {
  const rule: RuleProblem = {
    rule: `backend: ${wanted}`,
    problem: "the server is a container image, which only its container engine can sandbox",
    remedy:
      "Remove backend from its sandbox config, or run the program without an image: command or npm instead of docker.",
  };
  return { ...engine, missing: async (policy) => [rule, ...(await engine.missing(policy))] };
}

/** `backend: docker` for a local program, which only images can use. */
const needsImage: SandboxBackend = {
  ...none,
  name: "docker",
  probe: async () => ({ available: false, findings: [] }),
  missing: async () => [
    {
      rule: "backend: docker",
      problem: "the server is a program of this machine, not an image",
      remedy: "Write docker: <image> in the server's config, or remove backend from its sandbox config.",
    },
  ],
};

const VARIABLE = "PORTOLAN_SANDBOX";

export interface ChosenMode {
  readonly mode: SandboxMode;
  /** The source of the mode. */
  readonly by: "default" | "config" | "command line" | "PORTOLAN_SANDBOX";
}

/** The sources as parts of a sentence. */
export const MODE_SOURCES: Readonly<Record<ChosenMode["by"], string>> = {
  config: "the config of the server",
  "command line": "the option sandbox (on the command line: --sandbox)",
  PORTOLAN_SANDBOX: "the environment variable PORTOLAN_SANDBOX",
  default: "the default",
};

/** The mode from the command line, the server config or PORTOLAN_SANDBOX; otherwise `enforce`. */
export function chooseMode(settings: LaunchSettings | undefined, env: NodeJS.ProcessEnv): ChosenMode {
  if (settings?.sandboxOverride !== undefined) return { mode: settings.sandboxOverride, by: "command line" };
  if (settings?.sandbox?.mode !== undefined) return { mode: settings.sandbox.mode, by: "config" };
  const given = env[VARIABLE];
  if (given === undefined || given === "") return { mode: "enforce", by: "default" };
  if (given === "enforce" || given === "warn" || given === "off") return { mode: given, by: VARIABLE };
  // A misspelt value must not switch the sandbox off.
  throw new PortolanError(
    "CONFIG_INVALID",
    `${VARIABLE} is ${JSON.stringify(given)}, which is not a sandbox mode`,
    {
      hint: `Set ${VARIABLE} to enforce, warn or off, or unset it.`,
    },
  );
}
