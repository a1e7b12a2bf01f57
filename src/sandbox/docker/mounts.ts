// Checks mounts among the options of `docker run` against the policy. It parses them as the engines do, and
// refuses every mount that it does not fully understand.

import { realpathSync } from "node:fs";
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { SandboxPolicy } from "../types.ts";

export interface ProblemFound {
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
export function volumeProblem(value: string, policy: SandboxPolicy, cwd: string): ProblemFound | undefined {
  const [, source, rest = ""] = /^([A-Za-z]:[\\/][^:]*|[^:]*):(.*)$/.exec(value) ?? [];
  if (source === undefined) return undefined;
  const [, written = "", ...more] = rest.split(":");
  const options = written === "" ? [] : written.split(",");
  if (more.length > 0 || !options.every((option) => VOLUME_OPTIONS.test(option))) return UNCLEAR;
  if (VOLUME_NAME.test(source)) return undefined;
  return bindProblem(source, options.includes("ro") && !options.includes("rw"), policy, cwd);
}

/** Docker reads the fields as CSV, with quotes and in any case, and the last field of a name wins. */
export function mountProblem(value: string, policy: SandboxPolicy, cwd: string): ProblemFound | undefined {
  if (/["\r\n]/.test(value)) return { why: "quotes in it can be read in more than one way" };
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
export function fileProblem(path: string, policy: SandboxPolicy, cwd: string): ProblemFound | undefined {
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
    (mount) => (readOnly || mount.access === "write") && isInside(real(mount.path), path),
  );
  const hidden = mounts.find(
    ({ path: place, access }) =>
      access === "hidden" && (isInside(real(place), path) || isInside(path, real(place))),
  );
  if (hidden !== undefined) return { why: `the sandbox hides ${hidden.path}` };
  // Inside of the container the file has another path, where the policy does not cover it.
  const fixed = readOnly
    ? undefined
    : mounts.find((mount) => mount.access === "read" && isInside(path, real(mount.path)));
  if (isGranted && fixed !== undefined)
    return { why: `the sandbox grants ${fixed.path} in it for reading only` };
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
