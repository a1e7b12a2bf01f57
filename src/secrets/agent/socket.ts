// Socket of the vault agent: one path for each user and data folder, in a folder that only this user can enter.

import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { privacyHint, privacyProblem } from "../../base/files/privacy.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Environment } from "../sources/environment.ts";

/** The path of a Unix socket has at most 103 bytes on every system. */
const MAX_PATH_BYTES = 103;

/**
 * False on Windows: a pipe has no folder that keeps other users away, so another user could create a pipe of the same name first, and
 * collect the keys of vaults.
 */
export function isAgentSupported(platform: NodeJS.Platform = process.platform): boolean {
  return platform !== "win32";
}

/** The same for every process of the user with the same data folder. */
export async function agentSocket(env: Environment): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  const { data, log } = envPaths("portolan", { suffix: "" });
  const name = `agent-${createHash("sha256").update(data).digest("hex").slice(0, 12)}`;
  const runtime = env["XDG_RUNTIME_DIR"] ?? "";
  const folders = [
    ...(runtime.startsWith("/") ? [join(runtime, "portolan")] : []),
    join(log, "agent"),
    join(tmpdir(), `portolan-${process.getuid?.() ?? 0}`),
    `/tmp/portolan-${process.getuid?.() ?? 0}`,
  ];
  const fits = (path: string): boolean => Buffer.byteLength(path) <= MAX_PATH_BYTES;
  return folders.map((folder) => join(folder, name)).find(fits) ?? `/tmp/portolan/${name}`;
}

/** Whether the socket is in a folder of this user that no other user can enter. Only then it may be used. */
export async function isTrusted(socket: string): Promise<boolean> {
  return privacyProblem(dirname(socket)).then(
    (problem) => problem === undefined,
    () => false,
  );
}

/** Creates the folder of the socket. Throws if another user could use it. */
export async function createSocketFolder(socket: string): Promise<void> {
  const folder = dirname(socket);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new PortolanError(
      "SECRET_STORE_FAILED",
      `The folder ${folder} of the vault agent cannot be created: ${(error as Error).message}.`,
      { cause: error, hint: "Set XDG_RUNTIME_DIR to a folder that you can write to, or unset it." },
    );
  }
  const problem = await privacyProblem(folder);
  if (problem === undefined) return;
  throw new PortolanError(
    "SECRET_STORE_FAILED",
    `The folder ${folder} of the vault agent cannot be used: ${problem}.`,
    {
      hint: privacyHint(
        folder,
        problem,
        "set XDG_RUNTIME_DIR to a folder that belongs to you and that only you can access.",
      ),
    },
  );
}
