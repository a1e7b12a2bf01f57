// Options of the registry commands: the registries, the token, and a package with its version.

import { join, resolve } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import {
  openRegistries,
  openRegistry,
  type Registries,
  type RegistryClient,
  scopeOf,
} from "../../registry/index.ts";
import type { Cli } from "../context.ts";
import type { RawOptions } from "../options/parse.ts";

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

async function dataFolder(name: string): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  return join(envPaths("portolan", { suffix: "" }).data, name);
}

export async function registryFolder({ io }: Cli, written: string | undefined): Promise<string> {
  return written === undefined ? dataFolder("registry") : resolve(io.cwd, written);
}

/** The registries of the command line, or those of PORTOLAN_REGISTRY, separated by spaces. */
export async function openNamed(cli: Cli, raw: RawRegistryOptions): Promise<Registries> {
  const { env, cwd } = cli.io;
  const named = raw.registry ?? (env["PORTOLAN_REGISTRY"] ?? "").split(/\s+/).filter((url) => url !== "");
  if (named.length === 0)
    throw new PortolanError("USAGE", "No registry is given.", {
      hint: "Name one: --registry https://registry.example.com, or set PORTOLAN_REGISTRY.",
    });
  const token = raw.token ?? env["PORTOLAN_REGISTRY_TOKEN"];
  const [first, ...others] = named.map((url) => (/^[a-z][a-z0-9+.-]+:/i.test(url) ? url : resolve(cwd, url)));
  // The token belongs to the first registry; the others must not see it.
  const settings = [
    { url: first as string, ...(token === undefined || token === "" ? {} : { token }) },
    ...others.map((url) => ({ url })),
  ];
  return openRegistries(settings, await clientOptions(cli));
}

export async function openUrl(cli: Cli, url: string): Promise<RegistryClient> {
  return openRegistry(
    { url: /^[a-z][a-z0-9+.-]+:/i.test(url) ? url : resolve(cli.io.cwd, url) },
    await clientOptions(cli),
  );
}

async function clientOptions({ interrupt }: Cli): Promise<{ stateFolder: string; signal: AbortSignal }> {
  return { stateFolder: await dataFolder("registries"), signal: interrupt.signal };
}

/** The registry that a command writes to: the first one. */
export async function openForWriting(cli: Cli, raw: RawRegistryOptions): Promise<RegistryClient> {
  const { all } = await openNamed(cli, raw);
  return all[0] as RegistryClient;
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
