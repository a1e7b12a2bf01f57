// The words that an engine is started with: what was declared, and around it everything that closes the container.

import type { DockerOption, ResourceLimits } from "../../model/index.ts";
import { heldFolders } from "../paths/pinned-folders.ts";
import type { Box, Mount } from "../types.ts";
import { isClientVariable } from "./engine.ts";
import type { DockerWish } from "./rules.ts";

export interface DockerCommand {
  readonly args: readonly string[];
  /** Values for the container, which are nowhere on the command line. */
  readonly env: Readonly<Record<string, string>>;
}

export interface DockerNames {
  readonly container: string;
  /** Words that say whose it is. */
  readonly owner: readonly string[];
  /** Files among the hidden paths; the others are folders. */
  readonly hiddenFiles?: ReadonlySet<string> | undefined;
  /** Who the mounted files belong to; not needed for the superuser. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

/** Said anew below, or at odds with it: a container is in the foreground, speaks over pipes, and goes when it ends. */
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

export function dockerArgs({ run, port }: DockerWish, box: Box, names: DockerNames): DockerCommand {
  const { options, engine } = run;
  const has = (name: string): boolean => options.some((option) => option.name === name);
  // Engines lay inner ones over outer ones, in whichever order they are told.
  const mounts = heldFolders(mountsOf(box), mountsOf(box));
  const limits = limitWords(box, options);
  const env = environment(options);
  const kept = options.filter(
    ({ name, value = "" }) =>
      !OURS.has(name) && !limits.replaced.has(name) && !limits.replaced.has(`${name} ${value.split("=")[0]}`),
  );
  const words = [
    ...["--interactive", "--rm", "--init", "--name", names.container, ...names.owner],
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only"],
    ...(hasTmp(options) ? [] : ["--tmpfs", "/tmp:rw,nosuid,nodev"]),
    ...(has("network") ? [] : ["--network", networkOf(box, port)]),
    ...(port === undefined ? [] : ["--publish", `127.0.0.1::${port}`]),
    ...limits.words,
    ...(mounts.length === 0 || has("user") || has("userns") ? [] : userWords(engine, names)),
    ...mounts.flatMap((mount) => ["--mount", mountWord(mount, names)]),
    ...(mounts.some(({ reason }) => reason === "kept home") ? ["--env", `HOME=${box.home}`] : []),
    ...env.words,
    ...kept.flatMap(({ name, value }) => (value === undefined ? [`--${name}`] : [`--${name}`, value])),
  ];
  return { args: ["run", ...words, run.image, ...run.args], env: env.values };
}

/** The image brings its own system; what is not there need not be hidden. */
export function mountsOf({ mounts }: Box): Mount[] {
  const reasons = new Set(["declared", "root", "kept home", "declaration"]);
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

/** A published port needs a network, whatever else the container can reach through it. */
function networkOf({ network }: Box, port: number | undefined): string {
  return network.length === 0 && port === undefined ? "none" : "bridge";
}

function hasTmp(options: readonly DockerOption[]): boolean {
  return options.some(({ name, value = "" }) => name === "tmpfs" && /^\/tmp(?::|$)/.test(value));
}

/** Without the superuser's rights, files must belong to who uses them. */
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

/** By name only: everyone on this machine can read a command line. What steers the command itself stays where it is. */
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

/** The option, or the kind of a `--ulimit`, that sets each. */
const FLAGS: Readonly<Record<keyof ResourceLimits, string>> = {
  memoryBytes: "memory",
  processes: "pids-limit",
  niceness: "cpu-shares",
  openFiles: "ulimit nofile",
  cpuSeconds: "ulimit cpu",
  fileBytes: "ulimit fsize",
};

/** A declared limit holds; a default one gives way to what the options say. */
export function limitsOf({ limits, declaredLimits }: Box, options: readonly DockerOption[]): ResourceLimits {
  const given = new Set(
    options.map(({ name, value = "" }) => (name === "ulimit" ? `ulimit ${value.split("=")[0]}` : name)),
  );
  const names = Object.keys(limits) as (keyof ResourceLimits)[];
  const kept = names.filter((name) => declaredLimits.has(name) || !given.has(FLAGS[name]));
  return Object.fromEntries(kept.map((name) => [name, limits[name]]));
}

function limitWords(
  box: Box,
  options: readonly DockerOption[],
): { words: string[]; replaced: ReadonlySet<string> } {
  const limits = limitsOf(box, options);
  const words: string[] = [];
  // Of two the engine takes the last one.
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
  // One step of niceness is a quarter of the share.
  if (niceness > 0) add("niceness", "--cpu-shares", `${Math.max(2, Math.round(1_024 / 1.25 ** niceness))}`);
  for (const limit of ["openFiles", "cpuSeconds", "fileBytes"] as const) {
    const kind = FLAGS[limit].replace("ulimit ", "");
    add(limit, "--ulimit", `${kind}=${limits[limit]}:${limits[limit]}`);
  }
  return { words, replaced };
}
