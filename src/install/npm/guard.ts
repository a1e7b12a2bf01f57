// Restricts npm with Node's permission model: it may start no program and write only the given folders. Older
// versions of npm run the build scripts of git dependencies even with `--ignore-scripts`.

import { mkdir, realpath } from "node:fs/promises";
import { PortolanError } from "../../errors/index.ts";

/** Ends npm when Portolan ends, because its stdin is then closed. */
const LEASH = 'process.stdin.on("end",()=>process.exit(1)).on("error",()=>process.exit(1)).resume().unref()';

/** Options of Node. Missing folders are created. */
export async function guardWords(writable: readonly string[]): Promise<string[]> {
  const flag = ["--permission", "--experimental-permission"].find(knows);
  if (flag === undefined)
    throw new PortolanError("INSTALL_FAILED", "npm cannot be kept from running programs of strangers here.", {
      hint: "Run portolan with Node.js 20.19 or later.",
    });
  const folders = await Promise.all(writable.map(realFolder));
  // A star would match other folders too, and a repeated folder makes Node 20 crash.
  const writes = folders.some((path) => path.includes("*")) ? ["*"] : [...new Set(folders)];
  return [
    // Node would warn that the permission model is experimental.
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

/** Node compares paths as text, and npm writes real paths. */
async function realFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o755 });
  return realpath(path);
}
