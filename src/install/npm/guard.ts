// What holds npm itself: it may start no program, and write into the given folders only. A package that comes from a git
// repository would otherwise be built by its own scripts, which older versions of npm do in spite of `--ignore-scripts`.

import { mkdir, realpath } from "node:fs/promises";
import { PortolanError } from "../../errors/index.ts";

/** Ends it with whoever started it, however that ended: its stdin is open for as long. */
const LEASH = 'process.stdin.on("end",()=>process.exit(1)).on("error",()=>process.exit(1)).resume().unref()';

/** Switches of Node; the folders are made when they are not there. */
export async function guardWords(writable: readonly string[]): Promise<string[]> {
  const flag = ["--permission", "--experimental-permission"].find(knows);
  if (flag === undefined)
    throw new PortolanError("INSTALL_FAILED", "npm cannot be kept from running programs of strangers here.", {
      hint: "Run portolan with Node.js 20.19 or later.",
    });
  const folders = await Promise.all(writable.map(realFolder));
  // A star would mean more than this one folder, and the same folder twice makes Node 20 crash.
  const writes = folders.some((path) => path.includes("*")) ? ["*"] : [...new Set(folders)];
  return [
    // One of them says that this very protection is experimental.
    "--no-warnings",
    flag,
    "--allow-fs-read=*",
    ...writes.map((path) => `--allow-fs-write=${path}`),
    ...(knows("--allow-net") ? ["--allow-net"] : []),
    `--import=data:text/javascript,${encodeURIComponent(LEASH)}`,
  ];
}

function knows(flag: string): boolean {
  return process.allowedNodeEnvironmentFlags.has(flag);
}

/** Node compares paths as they are written, and npm writes them without links. */
async function realFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o755 });
  return realpath(path);
}
