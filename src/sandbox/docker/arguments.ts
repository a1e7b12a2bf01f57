// Arguments of `docker run`: the options of the server config, and those that close the container.

import type { DockerOption, ResourceLimits } from "../../model/index.ts";
import { pinnedFolders } from "../paths/paths.ts";
import type { SandboxPolicy, Mount } from "../types.ts";
import { isClientVariable } from "./engine.ts";
import type { DockerRequest } from "./unenforceable.ts";

export interface DockerCommand {
  readonly args: readonly string[];
  /** Values for the container that must not be on the command line. */
  readonly env: Readonly<Record<string, string>>;
}

export interface DockerNames {
  readonly container: string;
  /** Options that label the container with its owner. */
  readonly owner: readonly string[];
  /** The hidden paths that are files. */
  readonly hiddenFiles?: ReadonlySet<string>;
  /** The owner of the mounted files; not needed for root. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/**
 * Options that Portolan sets itself, or that contradict them: a container runs in the foreground, uses pipes, and
 * is removed when it ends.
 */
const OURS = new Set([
  "interactive",
  "tty",
  "detach",
  "rm",
  "init",
  "name",
  "restart",
  "read-only",
  "env",
  "replace",
]);

export function dockerArgs(
  { run, port }: DockerRequest,
  policy: SandboxPolicy,
  names: DockerNames,
): DockerCommand {
  const { options, engine } = run;
  const has = (name: string): boolean => options.some((option) => option.name === name);
  // Engines mount inner paths over outer ones, in any order.
  const mounts = pinnedFolders(mountsOf(policy), mountsOf(policy));
  const limits = limitWords(policy, options);
  const env = environment(options);
  const kept = options.filter(
    ({ name, value = "" }) =>
      !OURS.has(name) && !limits.replaced.has(name) && !limits.replaced.has(`${name} ${value.split("=")[0]}`),
  );
  const words = [
    ...["--interactive", "--rm", "--init", "--name", names.container, ...names.owner],
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only"],
    ...(hasTmp(options) ? [] : ["--tmpfs", "/tmp:rw,nosuid,nodev"]),
    ...(has("network") ? [] : ["--network", networkOf(policy, port)]),
    ...(port === undefined ? [] : ["--publish", `127.0.0.1::${port}`]),
    ...limits.words,
    ...(mounts.length === 0 || has("user") || has("userns") ? [] : userWords(engine, names)),
    ...mounts.flatMap((mount) => ["--mount", mountWord(mount, names)]),
    ...(mounts.some(({ reason }) => reason === "kept home") ? ["--env", `HOME=${policy.home}`] : []),
    ...env.words,
    ...kept.flatMap(({ name, value }) => (value === undefined ? [`--${name}`] : [`--${name}`, value])),
  ];
  return { args: ["run", ...words, run.image, ...run.args], env: env.values };
}

/** An image has its own system, so that paths of the machine need not be hidden unless a mount shows them. */
export function mountsOf({ mounts }: SandboxPolicy): Mount[] {
  const reasons = new Set(["declared", "root", "kept home", "config file"]);
  const shown = mounts.filter(({ reason, access }) => access !== "hidden" && reasons.has(reason));
  const covers = (outer: string, inner: string): boolean =>
    inner.startsWith(outer.endsWith("/") ? outer : `${outer}/`);
  return mounts.filter(
    (mount) =>
      shown.includes(mount) ||
      (mount.access === "hidden" &&
        shown.some(({ path }) => covers(path, mount.path) || path === mount.path)),
  );
}

/** A published port needs a network, even if the container can then reach others through it. */
function networkOf({ network }: SandboxPolicy, port: number | undefined): string {
  return network.length === 0 && port === undefined ? "none" : "bridge";
}

function hasTmp(options: readonly DockerOption[]): boolean {
  return options.some(({ name, value = "" }) => name === "tmpfs" && /^\/tmp(?::|$)/.test(value));
}

/** Without root's capabilities, the container's user must own the mounted files. */
function userWords(engine: string, { user }: DockerNames): string[] {
  if (user === undefined || user.uid === 0) return [];
  return engine === "podman" ? ["--userns", "keep-id"] : ["--user", `${user.uid}:${user.gid}`];
}

function mountWord({ path, access }: Mount, { hiddenFiles }: DockerNames): string {
  const field = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  if (access !== "hidden") {
    const fields = ["type=bind", field(`source=${path}`), field(`target=${path}`)];
    return [...fields, ...(access === "read" ? ["readonly"] : [])].join(",");
  }
  return hiddenFiles?.has(path) === true
    ? ["type=bind", "source=/dev/null", field(`target=${path}`), "readonly"].join(",")
    : ["type=tmpfs", field(`target=${path}`)].join(",");
}

/**
 * Passes variables by name, because every user can read command lines. Variables for the engine's own command keep
 * their values there.
 */
function environment(options: readonly DockerOption[]): { words: string[]; values: Record<string, string> } {
  const values: Record<string, string> = {};
  const words: string[] = [];
  for (const { name, value } of options) {
    if (name !== "env" || value === undefined) continue;
    const equals = value.indexOf("=");
    const variable = equals === -1 ? value : value.slice(0, equals);
    if (equals === -1 || isClientVariable(variable)) words.push("--env", value);
    else {
      words.push("--env", variable);
      values[variable] = value.slice(equals + 1);
    }
  }
  return { words, values };
}

/** The option, or the kind of `--ulimit`, that sets each limit. */
const FLAGS: Readonly<Record<keyof ResourceLimits, string>> = {
  memoryBytes: "memory",
  processes: "pids-limit",
  niceness: "cpu-shares",
  openFiles: "ulimit nofile",
  cpuSeconds: "ulimit cpu",
  fileBytes: "ulimit fsize",
};

/** A limit of the sandbox config wins over the options; a default limit does not. */
export function limitsOf(
  { limits, configuredLimits }: SandboxPolicy,
  options: readonly DockerOption[],
): ResourceLimits {
  const given = new Set(
    options.map(({ name, value = "" }) => (name === "ulimit" ? `ulimit ${value.split("=")[0]}` : name)),
  );
  const names = Object.keys(limits) as (keyof ResourceLimits)[];
  const kept = names.filter((name) => configuredLimits.has(name) || !given.has(FLAGS[name]));
  return Object.fromEntries(kept.map((name) => [name, limits[name]]));
}

function limitWords(
  policy: SandboxPolicy,
  options: readonly DockerOption[],
): { words: string[]; replaced: ReadonlySet<string> } {
  const limits = limitsOf(policy, options);
  const words: string[] = [];
  // The engine uses the last of two equal options.
  const replaced = new Set<string>();
  const add = (limit: keyof ResourceLimits, ...more: string[]): void => {
    if (limits[limit] === undefined) return;
    words.push(...more);
    replaced.add(FLAGS[limit]);
  };
  const { memoryBytes: memory, niceness = 0 } = limits;
  add("memoryBytes", "--memory", `${memory}b`, "--memory-swap", `${memory}b`);
  if (memory !== undefined) replaced.add("memory-swap");
  add("processes", "--pids-limit", `${limits.processes}`);
  // One step of niceness changes the CPU share by a quarter.
  if (niceness > 0) add("niceness", "--cpu-shares", `${Math.max(2, Math.round(1_024 / 1.25 ** niceness))}`);
  for (const limit of ["openFiles", "cpuSeconds", "fileBytes"] as const) {
    const kind = FLAGS[limit].replace("ulimit ", "");
    add(limit, "--ulimit", `${kind}=${limits[limit]}:${limits[limit]}`);
  }
  return { words, replaced };
}
