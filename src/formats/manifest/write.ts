// Writes the launch settings of a server as the fields of portolan.yaml.

import {
  type InstallMethod,
  type LaunchSettings,
  type ResourceLimits,
  type SandboxConfig,
  type UrlEndpoint,
  type VersionCheck,
  writtenSize,
} from "../../model/index.ts";
import { definedOnly, filled } from "./defined.ts";
import type { Input } from "../schema-builder/index.ts";
import type { SANDBOX } from "./sandbox-schema.ts";
import type { ServerFields } from "./server-schema.ts";

type SandboxFields = Input<typeof SANDBOX>;
export type LaunchFields = Pick<ServerFields, "sandbox" | "install" | "version_check" | "requires">;

export function toLaunchFields(launch: LaunchSettings | undefined): LaunchFields {
  const { sandbox, install, versionCheck, requires } = launch ?? {};
  return definedOnly<LaunchFields>({
    sandbox: sandbox && toSandboxFields(sandbox),
    install: install?.map(toInstallFields),
    version_check: versionCheck && toVersionCheckFields(versionCheck),
    requires: requires && (definedOnly({ os: requires.os, arch: requires.arch }) as LaunchFields["requires"]),
  });
}

/** The mode alone, where the sandbox has no other rules. */
export function toSandboxFields(sandbox: SandboxConfig): SandboxFields {
  const block = toSandboxBlock(sandbox);
  return Object.keys(block).length === 1 && block.mode !== undefined ? block.mode : block;
}

/** Every rule as a field. Drivers write their sandbox with it too. */
export function toSandboxBlock(sandbox: SandboxConfig): SandboxFields & object {
  const { mode, backend, network, fs, env, exec, home, limits, pathArguments } = sandbox;
  return definedOnly<SandboxFields & object>({
    mode,
    backend: backend === "none" ? undefined : backend,
    network,
    fs: fs && filled(definedOnly(fs)),
    env: env && filled(definedOnly(env)),
    exec: exec && filled(definedOnly(exec)),
    home,
    limits: limits && filled(toLimitFields(limits)),
    path_arguments: pathArguments,
  });
}

function toLimitFields(limits: ResourceLimits): NonNullable<(SandboxFields & object)["limits"]> {
  const { memoryBytes, processes, openFiles, cpuSeconds, fileBytes, niceness } = limits;
  return definedOnly({
    memory: memoryBytes === undefined ? undefined : writtenSize(memoryBytes),
    processes,
    open_files: openFiles,
    cpu: cpuSeconds === undefined ? undefined : `${cpuSeconds}s`,
    file_size: fileBytes === undefined ? undefined : writtenSize(fileBytes),
    niceness,
  });
}

type InstallFields = NonNullable<LaunchFields["install"]>[number];

function toInstallFields(install: InstallMethod): InstallFields {
  const { method, ...rest } = install;
  const { sha256, extractBin, ...same } = { sha256: undefined, extractBin: undefined, ...rest };
  return definedOnly<InstallFields>({ method, ...same, extract_bin: extractBin, verify_sha256: sha256 });
}

function toVersionCheckFields({
  command,
  parse,
  range,
  timeoutMs,
}: VersionCheck): LaunchFields["version_check"] {
  const timeout = timeoutMs === undefined ? undefined : `${timeoutMs}ms`;
  return definedOnly({ cmd: command, parse, range, timeout });
}

/** The fields of a server in a container; undefined if the program is no image. */
export function toDockerFields({ url, program }: UrlEndpoint): ServerFields | undefined {
  if (program?.kind !== "image") return undefined;
  const { image, args, env, port } = program;
  return { docker: image, args: filled(args), env: filled(env), port, path: new URL(url).pathname };
}
