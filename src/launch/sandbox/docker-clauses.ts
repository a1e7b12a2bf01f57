// What of a box an engine cannot hold: options that open the container again, and wishes that it has no means for.

import { realpathSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Box, Clause } from "../types.ts";
import type { DockerOption, DockerRun } from "./docker-run.ts";

/** They change how the program runs, not what it may reach. */
const HARMLESS = new Set(
  `add-host annotation attach blkio-weight cap-drop cpu-count cpu-percent cpu-period cpu-quota cpu-shares cpus cpuset-cpus
   cpuset-mems detach detach-keys disable-content-trust dns dns-opt dns-search domainname entrypoint env env-file expose
   health-cmd health-interval health-retries health-start-interval health-start-period health-timeout hostname http-proxy
   init interactive ip ip6 label label-file log-driver log-opt mac-address memory memory-reservation memory-swap
   memory-swappiness name network-alias no-healthcheck no-hosts no-hostname pids-limit platform pull quiet read-only
   read-only-tmpfs replace restart rm rmi shm-size sig-proxy stop-signal stop-timeout timeout tls-verify tmpfs tty tz
   ulimit umask unsetenv unsetenv-all user workdir passwd`.split(/\s+/),
);
const ENGINE_SOCKET = /(?:docker|podman|containerd|crio|buildkitd)\.sock$/;

export interface DockerWish {
  readonly run: DockerRun;
  /** A port that must be reachable from here. */
  readonly port?: number | undefined;
  /** What relative paths of its options begin at. */
  readonly cwd?: string | undefined;
}

export function missingClauses({ run, port, cwd }: DockerWish, box: Box): Clause[] {
  const { network, exec } = box;
  const clauses = run.options.flatMap((option) => wideningClause(option, box, cwd ?? process.cwd()) ?? []);
  const named = run.options.some(({ name }) => name === "network");
  if (network.length > 0 && !network.includes("*"))
    clauses.push({
      clause: `network: ${network.join(", ")}`,
      problem: `${run.engine} opens the whole network to a container, or none of it`,
      remedy: 'Grant all of it with network: ["*"], or none of it.',
    });
  else if (network.length === 0 && port !== undefined && !named)
    clauses.push({
      clause: "network: none",
      problem: "a container whose port is published can reach out as well",
      remedy: 'Grant the network with network: ["*"], or use the stdio transport.',
    });
  if (exec.allow !== undefined)
    clauses.push({
      clause: "exec.allow",
      problem: "which programs there are is up to the image",
      remedy: "Leave exec.allow out, or use an image that has only these.",
    });
  if (!exec.spawn)
    clauses.push({
      clause: "exec.spawn: false",
      problem: `${run.engine} counts threads as processes, and cannot forbid only the latter`,
      remedy: "Leave it out, or bound them with limits.processes.",
    });
  return clauses;
}

function wideningClause(option: DockerOption, box: Box, cwd: string): Clause | undefined {
  const problem = problemOf(option, box, cwd);
  if (problem === undefined) return undefined;
  return {
    clause: `args: ${option.name === "env" ? `--env ${option.value?.split("=", 1)[0]}` : option.text}`,
    problem: problem.why,
    remedy: problem.remedy ?? "Leave the option out.",
  };
}

interface ProblemFound {
  readonly why: string;
  readonly remedy?: string;
}

function problemOf({ name, value = "" }: DockerOption, box: Box, cwd: string): ProblemFound | undefined {
  switch (name) {
    case "network":
      return networkProblem(value, box);
    case "volume":
      return volumeProblem(value, box, cwd);
    case "mount":
      return mountProblem(value, box, cwd);
    case "publish":
      return /^(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):/.test(value)
        ? undefined
        : { why: "it opens a port to the whole network", remedy: `Write it as 127.0.0.1:${value}.` };
    case "security-opt":
      return /^no-new-privileges(?:[:=]true)?$/.test(value)
        ? undefined
        : { why: "it may take a protection away" };
    case "ipc":
    case "pid":
    case "uts":
    case "cgroupns":
    case "userns":
      return /^(?:private|none|shareable|auto|keep-id|nomap)?$/.test(value)
        ? undefined
        : { why: "it shares a part of this machine with the container" };
    case "runtime":
      return /^(?:runc|crun|runsc|kata[\w-]*)$/.test(value) ? undefined : { why: "it is another runtime" };
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

function networkProblem(value: string, { network }: Box): ProblemFound | undefined {
  if (value === "none") return undefined;
  if (value === "host" || value.startsWith("container:") || value.startsWith("ns:"))
    return { why: "it is the network of this machine or of another container" };
  if (network.includes("*")) return undefined;
  return { why: "the sandbox does not grant the network", remedy: 'Leave it out, or grant network: ["*"].' };
}

/** `name:/inside` is the engine's own storage; a path is this machine's. */
function volumeProblem(value: string, box: Box, cwd: string): ProblemFound | undefined {
  const [, source, rest = ""] = /^([A-Za-z]:[\\/][^:]*|[^:]*):(.*)$/.exec(value) ?? [];
  if (source === undefined || !/^(?:[./~\\]|[A-Za-z]:[\\/])/.test(source)) return undefined;
  const options = rest.split(":").at(1)?.split(",") ?? [];
  return bindProblem(source, options.includes("ro"), box, cwd);
}

function mountProblem(value: string, box: Box, cwd: string): ProblemFound | undefined {
  const fields = new Map(
    value.split(",").map((field) => field.split(/=(.*)/s, 2) as [string, string | undefined]),
  );
  const type = fields.get("type") ?? "volume";
  if (type === "tmpfs") return undefined;
  if (type === "volume" && !value.includes("volume-opt") && !value.includes("volume-driver"))
    return undefined;
  const source = fields.get("source") ?? fields.get("src");
  if (type !== "bind" || source === undefined) return { why: "it may show parts of this machine" };
  const flag = fields.has("readonly")
    ? fields.get("readonly")
    : (fields.get("ro") ?? (fields.has("ro") ? "" : "false"));
  return bindProblem(source, flag === undefined || flag === "" || /^(?:true|1)$/i.test(flag), box, cwd);
}

function bindProblem(
  source: string,
  readOnly: boolean,
  { mounts }: Box,
  cwd: string,
): ProblemFound | undefined {
  const path = real(resolve(cwd, source));
  if (ENGINE_SOCKET.test(path) || ENGINE_SOCKET.test(source))
    return { why: "who has the engine's socket has this machine" };
  const granted = mounts.filter(({ access, reason }) => access !== "hidden" && reason !== "system");
  const isGranted = granted.some(
    (mount) => (readOnly || mount.access === "write") && isInside(real(mount.path), path),
  );
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

function isInside(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}
