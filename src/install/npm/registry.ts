// The registry that npm asks for a package, and its token: as npm itself is configured.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";
import { PortolanError } from "../../errors/index.ts";
import { readUserSettings, runNpm } from "./cli.ts";

export interface NpmRegistryOptions {
  /** A registry that is known, in place of npm's setting. Its token is looked for. */
  readonly url?: string;
  readonly signal?: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
}

export interface FoundRegistry {
  readonly url: string;
  readonly token?: string;
}

/** The registry of a package: the one of its scope, or npm's `registry`. */
export async function findNpmRegistry(
  name: string,
  { url: known, signal, env = process.env }: NpmRegistryOptions = {},
): Promise<FoundRegistry> {
  const url = known ?? (await configuredRegistry(name, signal, env));
  return { url, token: tokenOf(url, await readUserSettings(env), env) };
}

async function configuredRegistry(
  name: string,
  signal: AbortSignal | undefined,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const [scope] = /^@[^/]+(?=\/)/.exec(name) ?? [];
  // A folder of its own: a .npmrc of the folder of the user does not apply to installations either.
  const folder = await mkdtemp(join(tmpdir(), "portolan-npm-"));
  try {
    // With one key npm prints its value only, so that there are always two.
    const keys = ["registry", `${scope ?? "@portolan-none"}:registry`];
    const { code, output, reason } = await runNpm({
      args: ["config", "get", ...keys, "--loglevel=error", "--no-update-notifier", "--logs-max=0"],
      ...{ cwd: folder, writable: [folder], signal, env },
    });
    const [usual, own] = keys.map((key) =>
      output
        .split("\n")
        .find((line) => line.startsWith(`${key}=`))
        ?.slice(key.length + 1)
        .trim(),
    );
    const found = [own, usual].find((text) => text !== undefined && isHttpUrl(text));
    if (code === 0 && found !== undefined) return found;
    throw new PortolanError(
      "INSTALL_FAILED",
      `The registry setting of npm cannot be read: ${reason || "npm printed nothing"}`,
      {
        hint: "Check the setting: npm config get registry.",
      },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** npm prints no tokens. A token belongs to a host and the beginning of a path, as `//host/path/:_authToken`. */
function tokenOf(url: string, npmrc: string, env: NodeJS.ProcessEnv): string | undefined {
  const parsed = parseUrl(url);
  if (parsed === undefined) return undefined;
  const settings = new Map<string, string>();
  for (const [, key = "", value = ""] of npmrc.matchAll(/^\s*(\/\/[^\s=]+:_authToken)\s*=\s*(.+?)\s*$/gm))
    settings.set(
      key,
      value.replace(/^"(.*)"$/, "$1").replace(/\$\{(\w+)\}/g, (_, name: string) => env[name] ?? ""),
    );
  for (const [name, value] of Object.entries(env))
    if (/^npm_config_\/\//i.test(name) && value !== undefined)
      settings.set(name.slice("npm_config_".length), value);
  let place = `//${parsed.host}${parsed.pathname.replace(/\/*$/, "/")}`;
  while (place.length > 3) {
    const token = settings.get(`${place}:_authToken`) ?? settings.get(`${place.slice(0, -1)}:_authToken`);
    if (token !== undefined && token !== "") return token;
    if (place === `//${parsed.host}/`) return undefined;
    place = place.replace(/[^/]+\/$/, "");
  }
  return undefined;
}
