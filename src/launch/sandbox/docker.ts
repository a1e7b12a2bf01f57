// The box of a server that is an image: the engine holds it, and the command that starts it is closed as far as it goes.

import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { ownerTag } from "../process/orphans.ts";
import type { BackendReport, Box, Clause, SandboxBackend, Spawnable } from "../types.ts";
import { dockerArgs } from "./docker-args.ts";
import { type DockerWish, missingClauses } from "./docker-clauses.ts";
import { clientEnvironment, type Engine, killContainer, probeEngine } from "./docker-engine.ts";
import type { DockerRun } from "./docker-run.ts";

export interface DockerSpawnable extends Spawnable {
  /** What the engine calls it. */
  readonly container: string;
}

export interface DockerBackend extends SandboxBackend {
  wrap(...args: Parameters<SandboxBackend["wrap"]>): Promise<DockerSpawnable>;
}

/** Containers whose command may still run, by name. */
const live = new Map<string, string>();
const probes = new Map<Engine, Promise<BackendReport>>();
const warned = new Set<string>();
let watchingExit = false;

export function createDocker(run: DockerRun, more: Omit<DockerWish, "run"> = {}): DockerBackend {
  const wish: DockerWish = { ...more, run };
  return {
    name: "docker",
    probe: () => probeOnce(run.engine),
    async missing(box) {
      const { available, findings } = await probeOnce(run.engine);
      const clauses = missingClauses(wish, box);
      return available ? clauses : [...findings.filter(({ ok }) => !ok).map(toClause), ...clauses];
    },
    async wrap(program, box, { server, report }) {
      if (!isPinned(run.image) && !warned.has(run.image)) {
        warned.add(run.image);
        report({
          code: "INSTALL_FAILED",
          severity: "warning",
          server,
          message: `The image ${run.image} has no digest: tomorrow it may be another program.`,
          hint: `Write ${run.image.replace(/:[^/:]*$/, "")}@sha256:…, as ${run.engine} images --digests shows it.`,
        });
      }
      const container = nameContainer();
      const hiddenFiles = await filesAmong(box);
      const user =
        process.getuid === undefined ? undefined : { uid: process.getuid(), gid: process.getgid?.() ?? 0 };
      const { args, env } = dockerArgs(wish, box, { container, owner: ownerTag(), hiddenFiles, user });
      return {
        container,
        file: program.file,
        args,
        // What a declaration says about the engine holds; HOME and PATH are the command's own, not the server's.
        env: { ...clientEnvironment(), ...withoutOwn(program.env), ...env },
        cwd: program.cwd,
        ...lifeOf(container, program.file),
      };
    },
  };
}

/** No box beside the image itself: the command as it was declared, with a name by which its port is found. */
export function openDocker(run: DockerRun, port: number): DockerBackend {
  return {
    ...createDocker(run, { port }),
    name: "none",
    missing: async () => [],
    async wrap({ file, args, env, cwd }) {
      const container = nameContainer();
      const at = args.indexOf("run") + 1;
      const added = ["--name", container, "--publish", `127.0.0.1::${port}`];
      return {
        ...{ container, file, cwd, env: { ...clientEnvironment(), ...env } },
        args: [...args.slice(0, at), ...added, ...args.slice(at)],
        ...lifeOf(container, file),
      };
    },
  };
}

const nameContainer = (): string => `portolan-${randomBytes(8).toString("hex")}`;

function lifeOf(container: string, file: string): Pick<Spawnable, "fds" | "spawned" | "ended"> {
  return {
    fds: [],
    spawned: () => watch(container, file),
    ended: () => {
      live.delete(container);
      // Its command may have been killed before it could pass that on.
      killContainer(file, container);
    },
  };
}

/** Whether the name always means the same image. */
export function isPinned(image: string): boolean {
  return /@sha256:[0-9a-f]{64}$/.test(image) || /^(?:sha256:)?[0-9a-f]{64}$/.test(image);
}

function probeOnce(engine: Engine): Promise<BackendReport> {
  let probe = probes.get(engine);
  if (probe === undefined) {
    probes.set(engine, (probe = probeEngine(engine)));
    // An engine that does not run now may run later.
    void probe.then(({ available }) => available || probes.delete(engine));
  }
  return probe;
}

function toClause({ what, detail, remedy }: BackendReport["findings"][number]): Clause {
  return { clause: what, problem: detail ?? "it does not answer", remedy: remedy ?? "Start it." };
}

async function filesAmong({ mounts }: Box): Promise<ReadonlySet<string>> {
  const hidden = mounts.filter(({ access }) => access === "hidden").map(({ path }) => path);
  const files = await Promise.all(
    hidden.map((path) =>
      stat(path).then(
        (found) => (found.isDirectory() ? [] : [path]),
        () => [],
      ),
    ),
  );
  return new Set(files.flat());
}

function withoutOwn(env: Readonly<Record<string, string>>): Record<string, string> {
  const { HOME: _home, PATH: _path, TMPDIR: _temporary, ...rest } = env;
  return rest;
}

function watch(container: string, file: string): void {
  live.set(container, file);
  if (watchingExit) return;
  watchingExit = true;
  process.on("exit", () => {
    for (const [name, engine] of live) killContainer(engine, name);
  });
}
