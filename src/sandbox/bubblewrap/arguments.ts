// Translates the file system of a sandbox into arguments of bubblewrap.

import type { Step } from "../linux/layout.ts";
import { SANDBOX_HOSTNAME } from "../linux/stub-files.ts";

const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];

export interface ArgumentsRequest {
  readonly steps: readonly Step[];
  readonly cwd: string;
  readonly namespaces: readonly string[];
  /** Capabilities that the program in the sandbox keeps. */
  readonly caps: readonly string[];
  /** User and group id inside of the sandbox. Outside of it they do not change. */
  readonly uid?: number;
  /** Whether this bubblewrap supports `--size` and `--perms`. */
  readonly canSize: boolean;
  /** Makes content available to the child as a descriptor, and returns its number. */
  readonly data: (content: string | Uint8Array) => number;
}

export function bubblewrapArguments(request: ArgumentsRequest): string[] {
  const { steps, cwd, namespaces, uid, caps } = request;
  const words = [...namespaces, "--die-with-parent", "--new-session", "--cap-drop", "ALL"];
  if (uid !== undefined) words.push("--unshare-user", "--uid", String(uid), "--gid", String(uid));
  for (const cap of caps) words.push("--cap-add", cap);
  words.push("--hostname", SANDBOX_HOSTNAME);
  for (const step of steps) words.push(...stepWords(step, request));
  words.push("--chdir", cwd);
  return words;
}

function stepWords(step: Step, { canSize, caps, data }: ArgumentsRequest): string[] {
  const { kind, path } = step;
  switch (kind) {
    case "bind": {
      const option = step.access === "write" ? "--bind" : "--ro-bind";
      return [step.optional === true ? `${option}-try` : option, step.source, path];
    }
    case "tmpfs": {
      const perms = canSize && step.mode !== undefined ? ["--perms", step.mode] : [];
      const size = canSize && step.bytes !== undefined ? ["--size", String(step.bytes)] : [];
      return [...perms, ...size, "--tmpfs", path];
    }
    case "folder":
      return ["--dir", path];
    case "link":
      return ["--symlink", step.target, path];
    case "file":
      return ["--ro-bind-data", String(data(step.content)), path];
    case "read-only":
      return ["--remount-ro", path];
    case "proc":
      return ["--proc", path];
    case "kernel settings":
      return ["--ro-bind", path, path];
    case "devices":
      return devices(caps.length > 0);
  }
}

/**
 * With capabilities, the device nodes are mounted one by one: for a whole /dev an unprivileged user needs a second
 * user namespace, which drops them.
 */
function devices(keepsCapabilities: boolean): string[] {
  if (!keepsCapabilities) return ["--dev", "/dev"];
  const nodes = DEVICES.flatMap((name) => ["--dev-bind-try", `/dev/${name}`, `/dev/${name}`]);
  const links = [
    ["/proc/self/fd", "/dev/fd"],
    ["/proc/self/fd/0", "/dev/stdin"],
    ["/proc/self/fd/1", "/dev/stdout"],
    ["/proc/self/fd/2", "/dev/stderr"],
  ].flatMap((link) => ["--symlink", ...link]);
  return ["--tmpfs", "/dev", ...nodes, ...links, "--dir", "/dev/shm"];
}
