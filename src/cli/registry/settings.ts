// Settings of a workspace about packages, read from its portolan.yaml: the registries, the policy, and the secrets of tokens.

import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { withAbsoluteFolders } from "../../catalog/index.ts";
import { PortolanError } from "../../errors/index.ts";
import { parseWorkspace } from "../../formats/workspace/index.ts";
import type { PackagePolicy, RegistrySetting } from "../../model/index.ts";
import { createSecretStore, resolveEndpoint, type SecretStore, toSecretError } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { createPassphrasePrompt } from "../input/secret-input.ts";
import { configError, noteDiagnostic } from "../output/diagnostic.ts";
import { findWorkspace } from "../workspace/folder.ts";

export interface PackageSettings {
  /** The folder of the workspace. */
  readonly folder: string;
  readonly registries: readonly RegistrySetting[];
  readonly policy: PackagePolicy;
  readonly envFile?: string;
}

/** Without a portolan.yaml, there are no settings. Errors elsewhere in the file do not matter here. */
export async function readPackageSettings(cli: Cli): Promise<PackageSettings> {
  const { workspace } = cli.options;
  const { path, folder } = await findWorkspace(cli.io, { workspace });
  const files =
    folder === path ? ["portolan.yaml", "portolan.yml"].map((name) => join(folder, name)) : [path];
  for (const file of files) {
    const text = await readFile(file, "utf8").catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "ENOENT") return undefined;
      throw new PortolanError("FILE_FAILED", `${file} cannot be read (${thrown.code}).`, {
        cause: thrown,
        hint:
          thrown.code === "EISDIR"
            ? "It is a folder. Rename the folder, or name the workspace with -w."
            : thrown.code === "EACCES" || thrown.code === "EPERM"
              ? "Check the permissions of the file: you must be allowed to read it."
              : "Check the file and its disk.",
      });
    });
    if (text === undefined) continue;
    const { settings, diagnostics } = parseWorkspace(text, file);
    const errors = diagnostics.filter(
      ({ severity, path: at = "" }) =>
        severity === "error" && (at === "" || /^\/(?:registries|packages)(?:\/|$)/.test(at)),
    );
    if (errors.length > 0) throw configError(errors, cli);
    const { registries = [], packages = {}, envFile } = settings;
    return {
      folder,
      registries: withAbsoluteFolders(registries, folder),
      policy: packages,
      envFile: envFile === undefined ? undefined : resolve(folder, envFile),
    };
  }
  return { folder, registries: [], policy: {} };
}

export function openSecrets(cli: Cli, { envFile }: Pick<PackageSettings, "envFile">): SecretStore {
  return createSecretStore({
    env: cli.io.env,
    envFile,
    promptPassphrase: createPassphrasePrompt(cli).prompt,
    report: (diagnostic) => noteDiagnostic(diagnostic, cli),
  });
}

/** Resolves the reference of a registry's token. The store is opened with the first one. */
export function tokenResolver(
  cli: Cli,
  settings: Pick<PackageSettings, "envFile" | "folder">,
): (reference: string) => Promise<string | undefined> {
  let store: SecretStore | undefined;
  return async (reference) => {
    if (!reference.includes("${")) return reference;
    store ??= openSecrets(cli, settings);
    // A token travels in a header, so it is resolved like the header of an endpoint.
    const endpoint = { transport: "http", url: "http://localhost", headers: { token: reference } } as const;
    const resolved = await resolveEndpoint(endpoint, store, { baseDir: settings.folder });
    if (!resolved.ok)
      throw toSecretError({
        ...resolved,
        missing: resolved.missing.map((one) => ({ ...one, where: "the token of a registry" })),
      });
    return "headers" in resolved.endpoint ? resolved.endpoint.headers?.["token"] : undefined;
  };
}
