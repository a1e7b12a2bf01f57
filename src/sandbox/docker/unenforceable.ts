// Rules of a sandbox policy that a container engine cannot enforce: options and mounts that open the container,
// and rules that it has no means for. Mounts are parsed as the engines do, and a mount that is not fully
// understood is refused.

import { isLoopbackHost } from "../../base/net/addresses.ts";
import type { DockerOption, DockerRun } from "../../model/index.ts";
import type { SandboxPolicy, RuleProblem } from "../types.ts";
import { realpathSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";

/** Options that change how the program runs, not what it can reach. */
const HARMLESS = new Set(
  `add-host attach blkio-weight cap-drop cpu-count cpu-percent cpu-period cpu-quota cpu-shares cpus cpuset-cpus
   cpuset-mems detach detach-keys disable-content-trust dns dns-opt dns-search domainname entrypoint env expose
   health-cmd health-interval health-retries health-start-interval health-start-period health-timeout hostname http-proxy
   init interactive ip ip6 mac-address memory memory-reservation memory-swap
   memory-swappiness name network-alias no-healthcheck no-hosts no-hostname pids-limit platform pull quiet read-only
   read-only-tmpfs replace restart rm rmi shm-size sig-proxy stop-signal stop-timeout timeout tls-verify tmpfs tty tz
   ulimit umask unsetenv unsetenv-all user workdir passwd`.split(/\s+/),
);
/** Other log drivers send or write the program's output elsewhere. */
const LOG_DRIVER = /^(?:none|local|json-file)$/;
const LOG_OPTION = /^(?:max-size|max-file|compress|mode|max-buffer-size)=/;
/** A plain network name; other values may mean the network of this machine. */
const NETWORK_NAME = /^[A-Za-z0-9][\w.-]*$/;

export interface DockerRequest {
  readonly run: DockerRun;
  /** A container port that must be reachable from this machine. */
  readonly port?: number;
  /** The folder that relative paths of options start from. */
  readonly cwd?: string;
  /** The variables of the server config, some of which choose the engine. */
  readonly env?: Readonly<Record<string, string>>;
  /** The setting by which a user accepts unenforced rules, for hints. */
  readonly accept?: string;
}

export function unenforceableRules(
  { run, port, cwd, accept: mode }: DockerRequest,
  policy: SandboxPolicy,
): RuleProblem[] {
  const { network, exec } = policy;
  const problems = run.options.flatMap(
    (option) => wideningProblem(option, policy, cwd ?? process.cwd()) ?? [],
  );
  const named = run.options.filter(({ name }) => name === "network");
  const accept = `accept the wider network access with ${mode ?? "sandbox: warn"}`;
  // No engine separates public addresses from those of this machine and its network.
  if (network.length > 0 && !(named.length > 0 && named.every(({ value }) => value === "none")))
    problems.push({
      rule: `network: ${network.join(", ")}`,
      problem: `${run.engine} cannot allow single hosts: a container has either no network, or the whole network, including this machine and the local network`,
      remedy: `Grant no network, or ${accept}.`,
    });
  else if (network.length === 0 && port !== undefined && named.length === 0)
    problems.push({
      rule: "network: none",
      problem: "a container with a published port also has outgoing network access",
      remedy: `Use the stdio transport, or ${accept}.`,
    });
  if (exec.allow !== undefined)
    problems.push({
      rule: "exec.allow",
      problem: "the image decides which programs the container has",
      remedy: "Remove exec.allow. To limit the programs, use an image that contains only these.",
    });
  if (!exec.spawn)
    problems.push({
      rule: "exec.spawn: false",
      problem: `${run.engine} counts threads as processes, so it cannot forbid processes alone`,
      remedy: "Remove exec.spawn. To limit the number of processes instead, set limits.processes.",
    });
  return problems;
}

function wideningProblem(option: DockerOption, policy: SandboxPolicy, cwd: string): RuleProblem | undefined {
  const problem = problemOf(option, policy, cwd);
  if (problem === undefined) return undefined;
  const text = option.name === "env" ? `--env ${option.value?.split("=", 1)[0]}` : option.text;
  return {
    rule: `args: ${text}`,
    problem: problem.why,
    remedy: problem.remedy ?? `Remove ${text} from args.`,
  };
}

function problemOf(
  { name, value = "" }: DockerOption,
  policy: SandboxPolicy,
  cwd: string,
): ProblemFound | undefined {
  switch (name) {
    case "network":
      return networkProblem(value, policy);
    case "volume":
      return volumeProblem(value, policy, cwd);
    case "mount":
      return mountProblem(value, policy, cwd);
    case "env-file":
    case "label-file":
      return fileProblem(value, policy, cwd);
    case "log-driver":
    case "log-opt":
      return (name === "log-driver" ? LOG_DRIVER : LOG_OPTION).test(value)
        ? undefined
        : { why: "it may send the program's output out of the container" };
    case "label":
      return value.startsWith("portolan.")
        ? { why: "Portolan finds its containers by this label" }
        : undefined;
    case "publish":
      return isLoopbackHost(/^(\[[^\]]*\]|[^:]*):/.exec(value)?.[1] ?? "")
        ? undefined
        : { why: "it opens a port to the whole network", remedy: `Write it as ${onLoopback(value)}.` };
    case "security-opt":
      return /^no-new-privileges(?:[:=]true)?$/.test(value)
        ? undefined
        : { why: "it may remove a protection of the container" };
    case "ipc":
    case "pid":
    case "uts":
    case "cgroupns":
    case "userns":
      return /^(?:private|none|shareable|auto|keep-id|nomap)?$/.test(value)
        ? undefined
        : { why: "it shares a part of this machine with the container" };
    case "runtime":
      return /^(?:runc|crun|runsc|kata[\w-]*)$/.test(value)
        ? undefined
        : { why: "Portolan does not know this runtime" };
    case "privileged":
      return { why: "it gives the container every right on this machine" };
    case "cap-add":
      return { why: "it gives the container more rights" };
    default:
      return HARMLESS.has(name)
        ? undefined
        : { why: "it may give the container more than the sandbox grants" };
  }
}

/** `8080:80` as `127.0.0.1:8080:80`; a port of the container alone as `127.0.0.1::80`. */
function onLoopback(published: string): string {
  const ports = published
    .replace(/^\[[^\]]*\]:/, "")
    .split(":")
    .slice(-2);
  return `127.0.0.1:${ports.length === 1 ? ":" : ""}${ports.join(":")}`;
}

function networkProblem(value: string, { network }: SandboxPolicy): ProblemFound | undefined {
  if (value === "none") return undefined;
  if (value === "host" || !NETWORK_NAME.test(value))
    return { why: "it may be the network of this machine or of another container" };
  // The problem is reported for the whole allow-list instead.
  if (network.length > 0) return undefined;
  return { why: "the sandbox does not grant the network" };
}

interface ProblemFound {
  readonly why: string;
  readonly remedy?: string;
}

const ENGINE_SOCKET = /(?:docker|podman|containerd|crio|buildkitd)\.sock$/;
/** A named volume of the engine; everything else may be a path. */
const VOLUME_NAME = /^[A-Za-z0-9][\w.-]*$/;
const VOLUME_OPTIONS =
  /^(?:ro|rw|z|nocopy|consistent|cached|delegated|private|rprivate|nosuid|nodev|noexec)$/i;
/** Synonyms of field names. */
const SAME: Readonly<Record<string, string>> = {
  src: "source",
  dst: "target",
  destination: "target",
  ro: "readonly",
};
/** The known fields of each mount type. */
const MOUNT_FIELDS: Readonly<Record<string, readonly string[]>> = {
  tmpfs: ["type", "target", "readonly", "tmpfs-size", "tmpfs-mode"],
  volume: ["type", "source", "target", "readonly", "volume-nocopy", "volume-label", "volume-subpath"],
  bind: ["type", "source", "target", "readonly", "consistency"],
};
const UNCLEAR: ProblemFound = { why: "it may show parts of this machine" };

/** `name:/inside` is a volume of the engine; a path belongs to this machine. */
function volumeProblem(value: string, policy: SandboxPolicy, cwd: string): ProblemFound | undefined {
  const [, source, rest = ""] = /^([A-Za-z]:[\\/][^:]*|[^:]*):(.*)$/.exec(value) ?? [];
  if (source === undefined) return undefined;
  const [, written = "", ...more] = rest.split(":");
  const options = written === "" ? [] : written.split(",");
  if (more.length > 0 || !options.every((option) => VOLUME_OPTIONS.test(option))) return UNCLEAR;
  if (VOLUME_NAME.test(source)) return undefined;
  return bindProblem(source, options.includes("ro") && !options.includes("rw"), policy, cwd);
}

/** Docker reads the fields as CSV, with quotes and in any case, and the last field of a name wins. */
function mountProblem(value: string, policy: SandboxPolicy, cwd: string): ProblemFound | undefined {
  if (/["\r\n]/.test(value)) return { why: "its quotes are ambiguous" };
  const fields = new Map<string, string | undefined>();
  for (const field of value.split(",")) {
    const equals = field.indexOf("=");
    const written = (equals === -1 ? field : field.slice(0, equals)).toLowerCase();
    const name = Object.hasOwn(SAME, written) ? (SAME[written] as string) : written;
    if (fields.has(name)) return { why: `it contains "${name}" twice` };
    fields.set(name, equals === -1 ? undefined : field.slice(equals + 1));
  }
  const type = (fields.get("type") ?? "volume").toLowerCase();
  const known = Object.hasOwn(MOUNT_FIELDS, type) ? MOUNT_FIELDS[type] : undefined;
  if (known === undefined || ![...fields.keys()].every((name) => known.includes(name))) return UNCLEAR;
  const source = fields.get("source");
  if (type === "tmpfs") return undefined;
  if (type === "volume")
    return source === undefined || source === "" || VOLUME_NAME.test(source) ? undefined : UNCLEAR;
  if (source === undefined) return UNCLEAR;
  const flag = fields.has("readonly") ? (fields.get("readonly") ?? "true") : "false";
  return bindProblem(source, /^(?:true|1)$/i.test(flag), policy, cwd);
}

/** A file of this machine that the engine's command reads and passes on. */
function fileProblem(path: string, policy: SandboxPolicy, cwd: string): ProblemFound | undefined {
  return bindProblem(path, true, policy, cwd);
}

function bindProblem(
  source: string,
  readOnly: boolean,
  { mounts }: SandboxPolicy,
  cwd: string,
): ProblemFound | undefined {
  const path = real(resolve(cwd, source));
  if (ENGINE_SOCKET.test(path) || ENGINE_SOCKET.test(source))
    return { why: "the engine's socket gives full access to this machine" };
  const granted = mounts.filter(({ access, reason }) => access !== "hidden" && reason !== "system");
  const isGranted = granted.some(
    (mount) => (readOnly || mount.access === "write") && contains(real(mount.path), path),
  );
  const hidden = mounts.find(
    ({ path: place, access }) =>
      access === "hidden" && (contains(real(place), path) || contains(path, real(place))),
  );
  if (hidden !== undefined) return { why: `the sandbox hides ${hidden.path}` };
  // Inside of the container the file has another path, where the policy does not cover it.
  const fixed = readOnly
    ? undefined
    : mounts.find((mount) => mount.access === "read" && contains(path, real(mount.path)));
  if (isGranted && fixed !== undefined)
    return { why: `the sandbox grants ${fixed.path}, which is inside, for reading only` };
  if (isGranted) return undefined;
  return {
    why: "the sandbox does not grant this path",
    remedy: `Add ${path} to ${readOnly ? "fs.read" : "fs.write"} of the sandbox.`,
  };
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Whether the path is the folder or inside of it, also on Windows. */
function contains(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
