// Translates the file system of a sandbox into a part of a shell script: `mkdir` and `ln` create mount points and
// links, `mount --all` mounts a table of paths at once, because each program that is started costs milliseconds.

import type { Step } from "../linux/layout.ts";
import { isInside } from "../paths/paths.ts";
import { type MachineMounts, tableLine } from "./mount-table.ts";
import { command, quote, writeText } from "./shell-words.ts";

const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];
const DEVICE_LINKS: readonly (readonly [path: string, target: string])[] = [
  ["/dev/fd", "/proc/self/fd"],
  ["/dev/stdin", "/proc/self/fd/0"],
  ["/dev/stdout", "/proc/self/fd/1"],
  ["/dev/stderr", "/proc/self/fd/2"],
  ["/dev/ptmx", "pts/ptmx"],
];
const SAFE = ["nosuid", "nodev"];

export interface FileSystemRequest {
  readonly steps: readonly Step[];
  readonly machine: MachineMounts;
  /** A folder of the machine that the script covers with a tmpfs, in which it works. No source is inside of it. */
  readonly stage: string;
  /** Another such folder, for a sandbox that shows all of the machine. */
  readonly second: string;
  /** Whether the path is a folder, a file, or not there. */
  readonly kindOf: (path: string) => "folder" | "file" | undefined;
  readonly tools: Readonly<Record<"mount" | "mkdir" | "ln", string>>;
}

export interface FileSystemScript {
  /** The folder that becomes the root of the sandbox. */
  readonly root: string;
  /** Each line fails if it does not succeed. The working folder is the stage. */
  readonly lines: readonly string[];
}

export function fileSystemScript(request: FileSystemRequest): FileSystemScript {
  const { steps, machine, stage, second, kindOf, tools } = request;
  const showsAll = steps.some(({ kind, path }) => kind === "bind" && path === "/");
  const root = showsAll ? second : `${stage}/root`;
  const inside = (path: string): string => (path === "/" ? root : root + path);
  const lines: string[] = [];
  const folders = new Set<string>();
  const links: (readonly [path: string, target: string])[] = [];
  const texts: string[] = [];
  let table: string[] = [];
  let count = 0;
  /** The mounts, in order. `batch` says in which call of `mount`. */
  const mounted: { path: string; isMachine: boolean; batch: number }[] = [];
  let batch = 1;

  // Covers the stage after the machine's own root is copied, because a later copy would contain the stage.
  if (showsAll) lines.push(command(tools.mount, "-n", "--rbind", "/", root));
  lines.push(command(tools.mount, "-n", "-t", "tmpfs", "-o", "mode=755,nosuid,nodev", "tmpfs", stage));
  lines.push(command("cd", stage));
  if (!showsAll) {
    folders.add(root);
    add(root, root, "none", ["bind"]);
    mounted.push({ path: "/", isMachine: false, batch: 0 });
  }
  for (const [index, step] of steps.entries()) translate(step, index);
  flush();
  return { root, lines };

  function translate(step: Step, index: number): void {
    const { kind, path } = step;
    switch (kind) {
      case "bind": {
        if (path === "/") mounted.push({ path, isMachine: true, batch: 0 });
        else mountAt(step.source, path, kindOf(step.source) ?? "file", step.optional === true);
        restrict(step, steps.slice(index + 1));
        return;
      }
      case "tmpfs": {
        const size = step.bytes === undefined ? [] : [`size=${step.bytes}`];
        const options = [...makeMountPoint(path), ...SAFE, `mode=${step.mode ?? "0755"}`, ...size];
        add("tmpfs", inside(path), "tmpfs", options);
        mounted.push({ path, isMachine: false, batch });
        return;
      }
      case "folder":
        if (makeParent(path)) folders.add(inside(path));
        return;
      case "link":
        if (makeParent(path)) links.push([path, step.target]);
        return;
      case "file":
        makeFile(path, step.content);
        return;
      case "read-only":
        if (mounted.some((one) => one.path === path && !one.isMachine))
          add("none", inside(path), "none", ["remount", "bind", "ro", ...SAFE]);
        return;
      case "proc":
        add("proc", inside(path), "proc", [...makeMountPoint(path), ...SAFE, "noexec"]);
        mounted.push({ path, isMachine: true, batch });
        return;
      case "kernel settings":
        add(inside(path), inside(path), "none", ["bind"]);
        add("none", inside(path), "none", ["remount", "bind", "ro", "noexec", ...SAFE]);
        return;
      case "devices":
        makeDevices(path);
    }
  }

  function add(source: string, target: string, type: string, options: readonly string[]): void {
    table.push(tableLine(source, target, type, options));
  }

  function mountAt(source: string, path: string, kind: "folder" | "file", isOptional: boolean): void {
    const creates = kind === "folder" ? makeMountPoint(path) : [];
    if (kind === "file") makeEmptyFile(path);
    add(source, inside(path), "none", ["rbind", ...creates, ...(isOptional ? ["nofail"] : [])]);
    mounted.push({ path, isMachine: true, batch });
  }

  /** A mount inside of the folder keeps its own options, so that each is made read-only by itself. */
  function restrict(step: Step & { kind: "bind" }, later: readonly Step[]): void {
    const { source, path, access, optional } = step;
    const restriction = access === "write" ? SAFE : ["ro", ...SAFE];
    const change = ["remount", "bind", ...restriction, ...(optional === true ? ["nofail"] : [])];
    add("none", inside(path), "none", [...change, ...machine.optionsOf(source)]);
    for (const [at, options] of machine.below(source)) {
      const rest = at.slice(source === "/" ? 0 : source.length);
      const place = path === "/" ? rest : path + rest;
      const isCovered = later.some(
        (other) => ["proc", "devices", "tmpfs"].includes(other.kind) && isInside(place, other.path),
      );
      // The server cannot reach a mount either that Portolan cannot reach.
      if (!isCovered && kindOf(at) !== undefined) add("none", inside(place), "none", [...change, ...options]);
    }
  }

  /** The mount that contains the path. Undefined if the path exists, because it is in a folder of the machine. */
  function created(path: string): { readonly batch: number } | undefined {
    const outer = mounted.findLast((one) => isInside(path, one.path));
    return outer === undefined || outer.isMachine || outer.path === path ? undefined : outer;
  }

  /** Creates the folder of a path. A path in a mount of the same table cannot exist before that is mounted. */
  function makeParent(path: string): boolean {
    const outer = created(path);
    if (outer === undefined) return false;
    if (outer.batch === batch) flush();
    folders.add(inside(path.slice(0, path.lastIndexOf("/")) || "/"));
    return true;
  }

  /** Returns the option by which `mount` creates the folder itself. */
  function makeMountPoint(path: string): readonly string[] {
    const outer = created(path);
    if (outer === undefined) return [];
    if (outer.batch === batch) return ["X-mount.mkdir=0755"];
    folders.add(inside(path));
    return [];
  }

  function makeEmptyFile(path: string): void {
    if (makeParent(path)) texts.push(`: > ${quote(inside(path))}`);
  }

  function makeFile(path: string, content: string | Uint8Array): void {
    const text = Buffer.from(content).toString("utf8");
    if (makeParent(path)) {
      texts.push(writeText(text, inside(path)));
      return;
    }
    const file = `${stage}/file-${(count += 1)}`;
    texts.push(writeText(text, file));
    add(file, inside(path), "none", ["bind"]);
    add("none", inside(path), "none", ["remount", "bind", "ro", ...SAFE]);
  }

  /** Device files are mounted one by one. In a tmpfs of the sandbox, /dev needs none of its own. */
  function makeDevices(path: string): void {
    if (created(path) === undefined) {
      add("tmpfs", inside(path), "tmpfs", ["nosuid", "mode=0755"]);
      mounted.push({ path, isMachine: false, batch });
      flush();
    }
    const files = DEVICES.map((name) => `${path}/${name}`).filter((file) => kindOf(file) !== undefined);
    for (const file of files) {
      makeEmptyFile(file);
      add(file, inside(file), "none", ["bind"]);
    }
    const terminals = `${path}/pts`;
    const options = ["newinstance", "ptmxmode=0666", "mode=620", "nosuid", "noexec"];
    add("devpts", inside(terminals), "devpts", [...makeMountPoint(terminals), ...options]);
    links.push(...DEVICE_LINKS);
  }

  function flush(): void {
    if (folders.size > 0) lines.push(command(tools.mkdir, "-p", "--", ...folders));
    for (const words of linkWords(links)) lines.push(command(tools.ln, "-s", "--", ...words));
    lines.push(...texts);
    const file = `${stage}/table-${batch}`;
    lines.push(`printf '%s\\n' ${table.map(quote).join(" ")} > ${quote(file)}`);
    lines.push(command(tools.mount, "-n", "-a", "-T", file));
    folders.clear();
    links.length = 0;
    texts.length = 0;
    table = [];
    batch += 1;
  }

  /** Links that are named like their target and stand in the same folder need only one command. */
  function linkWords(all: readonly (readonly [path: string, target: string])[]): string[][] {
    const single: string[][] = [];
    const byFolder = new Map<string, string[]>();
    for (const [path, target] of all) {
      const at = path.lastIndexOf("/");
      const folder = inside(path.slice(0, at) || "/");
      const isAlike = target.slice(target.lastIndexOf("/") + 1) === path.slice(at + 1);
      if (isAlike) byFolder.set(folder, [...(byFolder.get(folder) ?? []), target]);
      else single.push([target, inside(path)]);
    }
    return [...single, ...[...byFolder].map(([folder, targets]) => [...targets, folder])];
  }
}
