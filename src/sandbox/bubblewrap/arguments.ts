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
  /** The same for a file of the machine; undefined if it is not a file, or too large for a copy. */
  readonly copy: (path: string) => number | undefined;
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

function stepWords(step: Step, { canSize, caps, data, copy }: ArgumentsRequest): string[] {
  const { kind, path } = step;
  switch (kind) {
    case "bind": {
      const copied = step.mayBeCopied === true ? copy(step.source) : undefined;
      if (copied !== undefined) return newFile(copied, path, canSize);
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
      return step.isCover === true
        ? ["--ro-bind-data", String(data(step.content)), path]
        : newFile(data(step.content), path, canSize);
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

/** A file on the root of the sandbox, which becomes read-only with it. A mount for each file would take longer. */
function newFile(fd: number, path: string, canSize: boolean): string[] {
  return [...(canSize ? ["--perms", "0444"] : []), "--file", String(fd), path];
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
