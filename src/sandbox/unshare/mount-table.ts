// The mounts of this machine (/proc/self/mountinfo), and lines of a mount table in the format of fstab(5).

/** Options that a user namespace may not take away from a mount, so that a remount must repeat them. */
const KEPT = ["ro", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime"];

export interface MachineMounts {
  /** Options of the mount that contains the path. */
  optionsOf(path: string): readonly string[];
  /** Visible mounts strictly inside of the folder, with their options. */
  below(folder: string): readonly (readonly [path: string, options: readonly string[]])[];
}

export function parseMountInfo(text: string): MachineMounts {
  const mounts = new Map<string, readonly string[]>();
  for (const line of text.split("\n")) {
    const [, , , , at, options = ""] = line.split(" ");
    if (at === undefined) continue;
    const path = decodeField(at);
    // A later mount covers the earlier ones at and below its path.
    for (const other of mounts.keys()) if (isBelow(other, path)) mounts.delete(other);
    mounts.set(
      path,
      options.split(",").filter((option) => KEPT.includes(option)),
    );
  }
  return {
    optionsOf: (path) => {
      let best: string | undefined;
      for (const at of mounts.keys())
        if ((at === path || isBelow(path, at)) && at.length >= (best?.length ?? 0)) best = at;
      return best === undefined ? [] : (mounts.get(best) ?? []);
    },
    below: (folder) => [...mounts].filter(([path]) => isBelow(path, folder)),
  };
}

/** One line of a mount table. Paths are absolute, so that none can be taken for a tag such as LABEL=. */
export function tableLine(source: string, path: string, type: string, options: readonly string[]): string {
  return [encodeField(source), encodeField(path), type, [...new Set(options)].join(","), "0 0"].join(" ");
}

/** White space and backslashes are octal numbers in both formats. */
function encodeField(text: string): string {
  return text.replaceAll(/[\s\\#]/g, (character) =>
    [...Buffer.from(character)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
  );
}

function decodeField(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

function isBelow(path: string, folder: string): boolean {
  return path !== folder && path.startsWith(folder === "/" ? "/" : `${folder}/`);
}
