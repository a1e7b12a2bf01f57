// Options of the registry commands: the registries, the token, and a package with its version.

import { join, resolve } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import type { RegistrySetting } from "../../model/index.ts";
import {
  defaultStateFolder,
  noRegistryFor,
  openRegistries,
  openRegistry,
  isSameRegistry,
  type Registries,
  type RegistryClient,
  type RegistryOptions,
  scopeOf,
} from "../../registry/index.ts";
import type { Cli } from "../context.ts";
import type { RawOptions } from "../options/parse.ts";
import { type PackageSettings, readPackageSettings, tokenResolver } from "./settings.ts";

const SCHEME = /^[a-z][a-z0-9+.-]+:/i;

export interface RawRegistryOptions extends RawOptions {
  registry?: string[];
  token?: string;
  limit?: string;
  file?: string[];
  tag?: string;
  undo?: boolean;
  all?: boolean;
  publish?: string;
}

const ONLY_OFFICIAL =
  "All registries in portolan.yaml have api: official, and this command does not support that API.";

async function dataFolder(name: string): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  return join(envPaths("portolan", { suffix: "" }).data, name);
}

export async function registryFolder({ io }: Cli, written: string | undefined): Promise<string> {
  return written === undefined ? dataFolder("registry") : resolve(io.cwd, written);
}

/** The registries of the command line, else those of PORTOLAN_REGISTRY, else those of portolan.yaml. */
export async function openNamed(cli: Cli, raw: RawRegistryOptions): Promise<Registries> {
  const settings = await readPackageSettings(cli);
  const all = registriesOf(cli, raw, settings);
  const named = all.filter(({ api }) => api !== "official");
  if (named.length === 0)
    throw new PortolanError("USAGE", all.length === 0 ? "No registry was given." : ONLY_OFFICIAL, {
      hint: "Name a Portolan registry: with --registry https://registry.example.com, in the environment variable PORTOLAN_REGISTRY, or under registries in portolan.yaml.",
    });
  return openRegistries(named, await clientOptions(cli, settings));
}

export function registriesOf(
  { io: { env, cwd } }: Pick<Cli, "io">,
  raw: RawRegistryOptions,
  settings: PackageSettings,
): readonly RegistrySetting[] {
  const urls = raw.registry ?? (env["PORTOLAN_REGISTRY"] ?? "").split(/\s+/).filter((url) => url !== "");
  const isNamed = urls.length > 0;
  const named = isNamed
    ? urls.map((url) => namedRegistry(SCHEME.test(url) ? url : resolve(cwd, url), settings))
    : settings.registries;
  // A token of the environment is for the registries of the environment, not for those of a file that somebody else wrote.
  const token = raw.token ?? (isNamed ? env["PORTOLAN_REGISTRY_TOKEN"] : undefined);
  if (token === undefined || token === "") return named;
  // The token belongs to the first registry; the others must not see it.
  return named.map((one, index) => (index === 0 ? { ...one, token } : one));
}

/** A registry that the command line names. If portolan.yaml has it too, its key and token there apply; its scopes do not. */
function namedRegistry(url: string, { registries }: PackageSettings): RegistrySetting {
  const configured = registries.find((one) => isSameRegistry(one.url, url));
  if (configured === undefined) return { url };
  const { token, key, api } = configured;
  return { url, token, key, api };
}

export async function openUrl(cli: Cli, url: string): Promise<RegistryClient> {
  const settings = await readPackageSettings(cli);
  return openRegistry(
    { url: SCHEME.test(url) ? url : resolve(cli.io.cwd, url) },
    await clientOptions(cli, settings),
  );
}

export async function clientOptions(cli: Cli, settings: PackageSettings): Promise<RegistryOptions> {
  return {
    stateFolder: await defaultStateFolder(),
    signal: cli.interrupt.signal,
    resolveSecret: tokenResolver(cli, settings),
  };
}

/** The registry that a command writes to: the first one that may have the package. */
export async function openForWriting(
  cli: Cli,
  raw: RawRegistryOptions,
  name?: string,
): Promise<RegistryClient> {
  const registries = await openNamed(cli, raw);
  const isAny = name === undefined || scopeOf(name) === undefined;
  const [first] = isAny ? registries.all : registries.registriesFor(name);
  if (first !== undefined) return first;
  throw noRegistryFor(name ?? "");
}

/** `@alice/github-mcp@^1.2`: the name and what is wanted of it. */
export function parseSpec(text: string): { readonly name: string; readonly wanted: string | undefined } {
  const at = text.indexOf("@", 1);
  const name = at < 0 ? text : text.slice(0, at);
  const wanted = at < 0 ? undefined : text.slice(at + 1);
  if (scopeOf(name) === undefined || wanted === "")
    throw new PortolanError("USAGE", `${JSON.stringify(text.slice(0, 200))} is not the name of a package.`, {
      hint: "Write @user/name in lower case, such as @alice/github-mcp, or with a version: @alice/github-mcp@^1.2.",
    });
  return { name, wanted };
}
