// Which backend holds a server's box. Each is loaded by the first server that needs it.

import type { DockerRun, SandboxBackendName, SandboxMode } from "../model/index.ts";
import type { DockerWish } from "./docker/rules.ts";
import type { Clause, SandboxBackend } from "./types.ts";

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
  }: { readonly docker: DockerRun | undefined } & Pick<DockerWish, "cwd" | "port" | "env" | "accept">,
  wanted: SandboxBackendName | undefined,
): Promise<SandboxBackend> {
  if (mode === "off")
    return docker === undefined || port === undefined
      ? none
      : (await import("./docker/index.ts")).openDocker(docker, port);
  // The engine is the box of what it runs; another one around its command line would hold nothing.
  if (docker !== undefined) {
    const engine = (await import("./docker/index.ts")).createDocker(docker, { port, cwd, env, accept });
    return wanted === undefined || wanted === "docker" ? engine : notAsWanted(engine, wanted);
  }
  const name = wanted ?? (process.platform === "linux" ? "bubblewrap" : "srt");
  if (name === "docker") return needsImage;
  return backendNamed(name);
}

/** By itself, for whoever wants to know what it can do here. */
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

/** Nothing but its engine runs an image; that it is not what was asked for is said, and only a warning starts it. */
function notAsWanted(engine: SandboxBackend, wanted: SandboxBackendName): SandboxBackend {
  const clause: Clause = {
    clause: `backend: ${wanted}`,
    problem: "the server is an image, which only its engine can hold",
    remedy: "Leave the backend out, or declare the program itself: command or npm in place of docker.",
  };
  return { ...engine, missing: async (box) => [clause, ...(await engine.missing(box))] };
}

/** A program of this machine is not in any image. */
const needsImage: SandboxBackend = {
  ...none,
  name: "docker",
  probe: async () => ({ available: false, findings: [] }),
  missing: async () => [
    {
      clause: "backend: docker",
      problem: "the server is a program of this machine, not an image",
      remedy: "Declare the server as docker: <image>, or leave the backend out.",
    },
  ],
};
