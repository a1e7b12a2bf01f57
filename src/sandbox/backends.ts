// Chooses the backend that enforces a server's sandbox policy. The first server that needs a backend loads it.

import type { DockerRun, SandboxBackendName, SandboxMode } from "../model/index.ts";
import type { DockerRequest } from "./docker/rules.ts";
import type { RuleProblem, SandboxBackend } from "./types.ts";

const loaded = new Map<SandboxBackendName, Promise<SandboxBackend>>();

const LOADERS: Readonly<Record<Exclude<SandboxBackendName, "docker">, () => Promise<SandboxBackend>>> = {
  bubblewrap: async () => (await import("./bubblewrap/backend.ts")).createBubblewrap(),
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
      : (await import("./docker/index.ts")).openDocker(docker, port);
  // The engine already sandboxes the container; a second sandbox around its command line would enforce nothing.
  if (docker !== undefined) {
    const engine = (await import("./docker/index.ts")).createDocker(docker, { port, cwd, env, accept });
    return wanted === undefined || wanted === "docker" ? engine : notAsWanted(engine, wanted);
  }
  const name = wanted ?? (process.platform === "linux" ? "bubblewrap" : "srt");
  if (name === "docker") return needsImage;
  return backendNamed(name);
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
    problem: "the server is an image, which only its engine can sandbox",
    remedy: "Remove the backend, or name the program itself: command or npm instead of docker.",
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
      remedy: "Write docker: <image> in the server's config, or remove the backend.",
    },
  ],
};
