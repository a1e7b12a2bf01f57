// The box of a server that is an image: the engine holds it, and the command that starts it is closed as far as it goes.

import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import type { DockerRun } from "../../model/index.ts";
import type { Spawnable } from "../../process/index.ts";
import type { BackendReport, Box, Clause, SandboxBackend } from "../types.ts";
import { dockerArgs, limitsOf, mountsOf } from "./arguments.ts";
import { clientEnvironment, type Engine, type EngineCommand, engineEnvironment, killContainer, probeEngine, steeringOf } from "./engine.ts";
import { ownerWords } from "./orphans.ts";
import { type DockerWish, missingClauses } from "./rules.ts";

export interface DockerSpawnable extends Spawnable {
  /** What the engine calls it. */
  readonly container: string;
  /** By which the engine is asked about it. */
  readonly engine: EngineCommand;
}

export interface DockerBackend extends SandboxBackend {
  wrap(...args: Parameters<SandboxBackend["wrap"]>): Promise<DockerSpawnable>;
}

/** Containers whose command may still run, by name. */
const live = new Map<string, EngineCommand>();
const probes = new Map<string, Promise<BackendReport>>();
const warned = new Set<string>();
let watchingExit = false;

export function createDocker(run: DockerRun, more: Omit<DockerWish, "run"> = {}): DockerBackend {
  const wish: DockerWish = { ...more, run };
  const probe = (): Promise<BackendReport> => probeOnce(run.engine, engineEnvironment(more.env ?? {}));
  return {
    name: "docker",
    probe,
    async missing(box) {
      const { available, findings } = await probe();
      const clauses = missingClauses(wish, box);
      return available ? clauses : [...findings.filter(({ ok }) => !ok).map(toClause), ...clauses];
    },
    // An image brings its own system; of this machine there is only what is mounted.
    held: async (box) => ({
      box: { ...box, mounts: mountsOf(box), limits: limitsOf(box, run.options) },
      unheldDefaults: [],
    }),
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
      const { args, env: own } = dockerArgs(wish, box, { container, owner: ownerWords(), hiddenFiles, user });
      // What a declaration says about the engine holds; HOME and PATH are the command's own, not the server's.
      const env = { ...clientEnvironment(), ...withoutOwn(program.env), ...own };
      return {
        container,
        file: program.file,
        args,
        env,
        cwd: program.cwd,
        ...lifeOf(container, { file: program.file, env: steeringOf(env) }),
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
    held: async (box) => ({ box, unheldDefaults: [] }),
    async wrap({ file, args, env: declared, cwd }) {
      const env = { ...clientEnvironment(), ...declared };
      const container = nameContainer();
      const at = args.indexOf("run") + 1;
      // One that is to be kept when it ends is kept, whoever owned it.
      const owner = run.options.some(({ name }) => name === "rm") ? ownerWords() : [];
      const added = ["--name", container, ...owner, "--publish", `127.0.0.1::${port}`];
      return {
        ...{ container, file, cwd, env },
        args: [...args.slice(0, at), ...added, ...args.slice(at)],
        ...lifeOf(container, { file, env: steeringOf(env) }),
      };
    },
  };
}

const nameContainer = (): string => `portolan-${randomBytes(8).toString("hex")}`;

function lifeOf(
  container: string,
  engine: EngineCommand,
): Pick<DockerSpawnable, "engine" | "fds" | "spawned" | "ended"> {
  return {
    engine,
    fds: [],
    spawned: (isStarted = true) => {
      if (isStarted) watch(container, engine);
    },
    ended: () => {
      // Its command may have been killed before it could pass that on; one that never ran has nothing to end.
      if (live.delete(container)) killContainer(engine, container);
    },
  };
}

/** Whether the name always means the same image. */
export function isPinned(image: string): boolean {
  return /@sha256:[0-9a-f]{64}$/.test(image) || /^(?:sha256:)?[0-9a-f]{64}$/.test(image);
}

function probeOnce(engine: Engine, env: Readonly<Record<string, string>>): Promise<BackendReport> {
  const key = JSON.stringify([engine, env]);
  let probe = probes.get(key);
  if (probe === undefined) {
    probes.set(key, (probe = probeEngine(engine, env)));
    // An engine that does not run now may run later.
    void probe.then(({ available }) => available || probes.delete(key));
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

function watch(container: string, engine: EngineCommand): void {
  live.set(container, engine);
  if (watchingExit) return;
  watchingExit = true;
  process.on("exit", () => {
    for (const [name, engine] of live) killContainer(engine, name);
  });
}
