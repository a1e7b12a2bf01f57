// Sandbox backend for container images: the engine (docker or podman) enforces the policy.

import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import type { DockerRun } from "../../model/index.ts";
import { atExit, type Spawnable } from "../../process/index.ts";
import type { BackendReport, SandboxPolicy, RuleProblem, SandboxBackend } from "../types.ts";
import { dockerArgs, limitsOf, mountsOf } from "./arguments.ts";
import {
  clientEnvironment,
  engineEnvironment,
  killContainer,
  probeEngine,
  steeringOf,
  ownerWords,
  type Engine,
  type EngineCommand,
} from "./engine.ts";
import { type DockerRequest, unenforceableRules } from "./unenforceable.ts";

export interface DockerSpawnable extends Spawnable {
  /** The name of the container. */
  readonly container: string;
  /** The command that reaches the engine. */
  readonly engine: EngineCommand;
}

export interface DockerBackend extends SandboxBackend {
  wrap(...args: Parameters<SandboxBackend["wrap"]>): Promise<DockerSpawnable>;
}

/** Engines that answered, by their command and variables: an engine serves the whole machine. */
const probes = new Map<string, Promise<BackendReport>>();

export function createDocker(run: DockerRun, more: Omit<DockerRequest, "run"> = {}): DockerBackend {
  const request: DockerRequest = { ...more, run };
  const probe = (): Promise<BackendReport> => probeOnce(run.engine, engineEnvironment(more.env ?? {}));
  return {
    name: "docker",
    probe,
    async missing(policy) {
      const { available, findings } = await probe();
      const problems = unenforceableRules(request, policy);
      return available ? problems : [...findings.filter(({ ok }) => !ok).map(toRuleProblem), ...problems];
    },
    // An image has its own system; of the machine it sees only the mounts.
    enforced: async (policy) => ({
      policy: { ...policy, mounts: mountsOf(policy), limits: limitsOf(policy, run.options) },
      unenforcedDefaults: [],
    }),
    async wrap(program, policy, { server, report, warnedImages }) {
      if (!isPinned(run.image) && !warnedImages.has(run.image)) {
        warnedImages.add(run.image);
        report({
          code: "INSTALL_FAILED",
          severity: "warning",
          server,
          message: `The image ${run.image} is not pinned to a digest, so its content can change at any time.`,
          hint: `Write ${run.image.replace(/:[^/:]*$/, "")}@sha256:…, as ${run.engine} images --digests shows it.`,
        });
      }
      const container = nameContainer();
      const hiddenFiles = await filesAmong(policy);
      const user =
        process.getuid === undefined ? undefined : { uid: process.getuid(), gid: process.getgid?.() ?? 0 };
      const { args, env: own } = dockerArgs(request, policy, {
        container,
        owner: ownerWords(),
        hiddenFiles,
        user,
      });
      // Variables of the config choose the engine; HOME and PATH belong to the engine's command, not to the
      // server.
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

/** No sandbox: the command of the config with a container name, by which its port is found. */
export function openDocker(run: DockerRun, port: number): DockerBackend {
  return {
    ...createDocker(run, { port }),
    name: "none",
    missing: async () => [],
    enforced: async (policy) => ({ policy, unenforcedDefaults: [] }),
    async wrap({ file, args, env: declared, cwd }) {
      const env = { ...clientEnvironment(), ...declared };
      const container = nameContainer();
      const at = args.indexOf("run") + 1;
      // Without `--rm` the user wants to keep the container.
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
  let cancel: (() => void) | undefined;
  return {
    engine,
    fds: [],
    spawned: (isStarted = true) => {
      if (isStarted) cancel = atExit(() => killContainer(engine, container));
    },
    ended: () => {
      // A container that never ran needs no stop.
      if (cancel === undefined) return;
      cancel();
      cancel = undefined;
      // The command may have been killed before it stopped its container.
      killContainer(engine, container);
    },
  };
}

/** Whether the reference always means the same image. */
export function isPinned(image: string): boolean {
  return /@sha256:[0-9a-f]{64}$/.test(image) || /^(?:sha256:)?[0-9a-f]{64}$/.test(image);
}

function probeOnce(engine: Engine, env: Readonly<Record<string, string>>): Promise<BackendReport> {
  const key = JSON.stringify([engine, env]);
  let probe = probes.get(key);
  if (probe === undefined) {
    probes.set(key, (probe = probeEngine(engine, env)));
    // An engine that does not answer now may be started later.
    void probe.then(({ available }) => available || probes.delete(key));
  }
  return probe;
}

function toRuleProblem({ what, detail, remedy }: BackendReport["findings"][number]): RuleProblem {
  return {
    rule: what,
    problem: detail ?? "it does not respond",
    remedy: remedy ?? "Start the container engine.",
  };
}

async function filesAmong({ mounts }: SandboxPolicy): Promise<ReadonlySet<string>> {
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
