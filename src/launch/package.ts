// Replaces a package in a launch request by the program that the lock file names.

import { dirname } from "node:path";
import { parseIntegrity } from "../base/text/integrity.ts";
import { PortolanError } from "../errors/index.ts";
import { defaultStoreRoot, describeFault, verifyNpm } from "../install/index.ts";
import { type LaunchSettings, type LocalProgram, type ParsedProgram, parseProgram } from "../model/index.ts";
import {
  incompleteLockHint,
  type LockedContext,
  openLockedMetadata,
  openLockedPackage,
  type PackageProgram,
  verifyLockedPackage,
} from "../packages/index.ts";
import { hostedFileUrl, isHostedBy, readHostedDocument, readOfficialServer } from "../registry/index.ts";
import { checkAdvisories } from "./package-advisories.ts";
import { checkLockedOrigin } from "./package-origin.ts";
import type { LaunchRequest } from "./prepare.ts";

type Package = ParsedProgram & { readonly kind: "package" };

/** The facts of a package that the launch of its program needs. */
export interface LaunchedPackage {
  /** Human-readable: name, version, where it came from, and its hash. */
  readonly source: string;
  /** The folders that the program is installed in. */
  readonly folders: readonly string[];
  /** It is not installed; only in a dry run. */
  readonly isAbsent: boolean;
  /** The package says that it must not run without a sandbox. */
  readonly sandboxRequired: boolean;
}

/** Installs the package, unless the request is a dry run. Packages of npm are installed with the program that this returns. */
export async function resolvePackage(request: LaunchRequest, program: Package): Promise<LaunchRequest> {
  const { server, endpoint, settings, dryRun = false } = request;
  const { reference, lock } = program;
  const found = await openLockedPackage(
    { server, reference, lock },
    contextOf(request, reference.kind === "official"),
    {
      install: !dryRun,
    },
  );
  await checkAdvisories(found.locked, request);
  if (!dryRun) await checkLockedOrigin(found, request, dirname(lock.file));
  const { env } = endpoint;
  // Relative paths of a bundle begin in its own folder.
  const cwd = settings?.cwdImplied === true ? (found.cwd ?? endpoint.cwd) : (endpoint.cwd ?? found.cwd);
  const port = endpoint.port === undefined ? {} : { port: endpoint.port };
  return {
    ...request,
    endpoint: { ...toProgram(found, program.args), env: { ...found.env, ...env }, cwd, ...port },
    settings: withPython(settings, found.python),
    package: {
      source: found.source,
      folders: found.program.kind === "file" ? [found.program.folder] : [],
      isAbsent: found.program.kind === "absent",
      sandboxRequired: found.sandboxRequired,
    },
  };
}

/** Compares every file of an installed package, and marks a damaged one as broken. Returns the faults as text. */
export async function discardDamaged({ server, endpoint }: LaunchRequest): Promise<readonly string[]> {
  const program = parseProgram(endpoint);
  const verified =
    program.kind === "package"
      ? await verifyLockedPackage({ server, ...program }, { discard: true })
      : program.kind === "npm"
        ? await verifyNpm({
            ...{ spec: program.spec, integrity: parseIntegrity(program.integrity ?? "") },
            ...{ dependencies: program.dependencies, root: await defaultStoreRoot(), discard: true },
          })
        : undefined;
  return verified?.faults.map(describeFault) ?? [];
}

/** A package whose program is an mcpfile: Portolan itself runs its tools. */
export interface PackagedMcpfile {
  readonly file: string;
  /** The server in the file; undefined if it has one only. */
  readonly name: string | undefined;
  /** Default values of settings, as environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** The package says that it must not run without a sandbox. */
  readonly sandboxRequired: boolean;
}

/** Installs the package of an mcpfile. Returns undefined for any other program, and in a dry run if it is not installed. */
export async function findPackagedMcpfile(request: LaunchRequest): Promise<PackagedMcpfile | undefined> {
  const { server, endpoint, dryRun = false } = request;
  const install = !dryRun;
  const program = parseProgram(endpoint);
  if (program.kind !== "package") return undefined;
  const { reference, lock } = program;
  const context = contextOf(request, false);
  const metadata = await openLockedMetadata({ server, reference, lock }, context, { install });
  if (metadata === undefined || !/\.ya?ml$/i.test(metadata.mcp.executable ?? "")) return undefined;
  const found = await openLockedPackage({ server, reference, lock }, context, { install });
  await checkAdvisories(found.locked, request);
  if (found.program.kind === "absent") return undefined;
  if (found.program.kind !== "file")
    throw new PortolanError(
      "INSTALL_FAILED",
      `The program of the npm package ${found.source} is the mcpfile ${metadata.mcp.executable}. Portolan does not run mcpfiles from npm packages, only from packages whose source is a file or an archive.`,
      {
        server,
        hint: "Report this to the author of the package. The author must remove `source` from the metadata document, pack the mcpfile itself (portolan pack mcpfile.yaml), and publish a new version.",
      },
    );
  return {
    file: found.program.command,
    name: metadata.mcp.args?.[0],
    env: found.env,
    sandboxRequired: found.sandboxRequired,
  };
}

function contextOf(
  { server, endpoint, signal, onLaunch, context }: LaunchRequest,
  isOfficial: boolean,
): LockedContext {
  const tokenOf = async (registry: string): Promise<string | undefined> => context?.registryToken?.(registry);
  return {
    server,
    signal,
    variables: endpoint.env,
    onProgress: (progress) => onLaunch?.({ type: "progress", ...progress, server }),
    fetchDocument: async (locked) => {
      const { registry, metadata = "", name, version } = locked;
      if (registry !== undefined)
        return isOfficial
          ? readOfficialServer(registry, name, version, { signal })
          : readHostedDocument(registry, metadata, { signal, token: () => tokenOf(registry) });
      throw new PortolanError("INSTALL_FAILED", `portolan.lock names no registry for ${name}@${version}.`, {
        hint: incompleteLockHint(server, locked),
      });
    },
    mirrorsOf: ({ registry }, integrity) =>
      registry === undefined || isOfficial ? [] : [hostedFileUrl(registry, integrity)],
    tokenFor: async ({ registry }, url) =>
      registry !== undefined && !isOfficial && isHostedBy(registry, url) ? tokenOf(registry) : undefined,
  };
}

function toProgram({ program, args: fixed }: PackageProgram, own: readonly string[]): LocalProgram {
  const args = [...fixed, ...own];
  switch (program.kind) {
    case "npm": {
      const { spec, bin, integrity, dependencies } = program;
      return { kind: "npm", package: spec, bin, integrity, dependencies, args };
    }
    case "file":
      return { command: program.command, args: [...program.args, ...args] };
    case "absent":
      return { command: process.execPath, args };
  }
}

/** The check runs in the server's sandbox, as a version check of a config does. A check of the config itself has priority. */
function withPython(
  settings: LaunchSettings | undefined,
  range: string | undefined,
): LaunchSettings | undefined {
  if (range === undefined || settings?.versionCheck !== undefined) return settings;
  return {
    ...settings,
    versionCheck: { command: "python3 --version", parse: "Python (\\d+\\.\\d+(?:\\.\\d+)?)", range },
  };
}
