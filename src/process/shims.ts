// Resolves the shims of version managers (pyenv, rbenv, nodenv) to the program that they would run.

import { access, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Returns the real program, as the environment and the version files choose it, or the file itself if it is no
 * shim.
 */
export async function resolveShim(
  file: string,
  cwd: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string> {
  const root = dirname(dirname(file));
  const manager = /^\.?(py|rb|nod)env$/.exec(basename(root))?.[1];
  if (basename(dirname(file)) !== "shims" || manager === undefined) return file;
  const { variable, local } = NAMES[manager as keyof typeof NAMES];
  const chosen = environment[variable] ?? (await nearest(cwd, local)) ?? (await text(join(root, "version")));
  for (const version of chosen?.split(/[\s:]+/) ?? []) {
    const program = join(root, "versions", version, "bin", basename(file));
    const found = await access(program).then(
      () => true,
      () => false,
    );
    // The server may be able to write the version file, so that a version must not contain a path.
    if (/^[^/.][^/]*$/.test(version) && found) return program;
  }
  return file;
}

const NAMES = {
  py: { variable: "PYENV_VERSION", local: ".python-version" },
  rb: { variable: "RBENV_VERSION", local: ".ruby-version" },
  nod: { variable: "NODENV_VERSION", local: ".node-version" },
};

async function nearest(folder: string, name: string): Promise<string | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const found = await text(join(at, name));
    if (found !== undefined || at === dirname(at)) return found;
  }
}

async function text(file: string): Promise<string | undefined> {
  return (await readFile(file, "utf8").catch(() => undefined))?.trim();
}
