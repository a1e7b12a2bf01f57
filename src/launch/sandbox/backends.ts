// Which backend holds a server's box. Each is loaded by the first server that needs it.

import type { SandboxBackendName, SandboxMode } from "../../model/index.ts";
import type { FoundProgram } from "../program.ts";
import type { SandboxBackend } from "../types.ts";

const loaded = new Map<SandboxBackendName, Promise<SandboxBackend>>();

const LOADERS: Readonly<Record<Exclude<SandboxBackendName, "docker">, () => Promise<SandboxBackend>>> = {
  bubblewrap: async () => (await import("./bubblewrap.ts")).createBubblewrap(),
  srt: async () => (await import("./srt.ts")).createSrt(),
  none: async () => none,
};

export async function backendFor(
  mode: SandboxMode,
  { docker, port, cwd }: Pick<FoundProgram, "docker" | "cwd"> & { readonly port?: number | undefined },
  wanted: SandboxBackendName | undefined,
): Promise<SandboxBackend> {
  if (mode === "off")
    return docker === undefined || port === undefined
      ? none
      : (await import("./docker.ts")).openDocker(docker, port);
  // The engine is the box of what it runs; another one around its command line would hold nothing.
  if (docker !== undefined) return (await import("./docker.ts")).createDocker(docker, { port, cwd });
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
