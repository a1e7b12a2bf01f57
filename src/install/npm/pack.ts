// Makes the archive of an npm package without installing it, and without running its scripts.

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";
import { registryHint } from "../../model/index.ts";
import { isNetworkFailure } from "./network.ts";
import { isMissingPackage, runNpm } from "./cli.ts";

const MAX_BYTES = 256 * 1024 * 1024;

export interface NpmArchive {
  /** The name that npm gives the file, such as `example-server-1.2.0.tgz`. */
  readonly name: string;
  readonly bytes: Buffer;
}

export interface PackOptions {
  /** The registry, in place of npm's setting. */
  readonly registry?: string;
  readonly signal?: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
}

/** `what` is `name@version`, or the absolute path of a folder with a package.json. */
export async function packNpmPackage(
  what: string,
  { registry, signal, env = process.env }: PackOptions = {},
): Promise<NpmArchive> {
  const folder = await mkdtemp(join(tmpdir(), "portolan-pack-"));
  try {
    const [, named] = Object.entries(env).find(([variable]) => /^npm_config_cache$/i.test(variable)) ?? [];
    const cache = named !== undefined && isAbsolute(named) ? named : join(env.HOME ?? homedir(), ".npm");
    const end = await runNpm({
      args: [
        ...["pack", what, "--pack-destination", folder, "--ignore-scripts", "--no-workspaces"],
        ...["--cache", cache, "--no-update-notifier", "--loglevel=error"],
        ...(registry === undefined ? [] : [`--registry=${registry}`]),
      ],
      ...{ cwd: folder, writable: [folder, cache], signal, env },
    });
    const [name] = (await readdir(folder)).filter((file) => file.endsWith(".tgz"));
    if (end.code !== 0 || name === undefined)
      throw new PortolanError(
        isMissingPackage(end.kind) ? "PACKAGE_NOT_FOUND" : "INSTALL_FAILED",
        `npm could not pack ${what}: ${end.reason || "it gave no reason"}`,
        {
          data: { reason: end.kind },
          hint: isNetworkFailure(end.kind)
            ? `Check the network. ${registryHint({ name: what })}`
            : "Check the name and the version, or the package.json of the folder.",
        },
      );
    return { name, bytes: await readLimited(join(folder, name), MAX_BYTES) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
