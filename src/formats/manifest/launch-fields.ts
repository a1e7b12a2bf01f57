// The other way round: how a program is brought here and boxed, in the words that declarations use.

import {
  type InstallMethod,
  type LaunchSettings,
  type ResourceLimits,
  type SandboxDeclaration,
  type UrlEndpoint,
  type VersionCheck,
  writtenSize,
} from "../../model/index.ts";
import { definedOnly, filled } from "./defined.ts";

type Fields = Readonly<Record<string, unknown>>;

/** As a server of portolan.yaml writes them. */
export interface LaunchFields {
  readonly sandbox?: string | Fields;
  readonly install?: readonly Fields[];
  readonly version_check?: Fields;
  readonly requires?: Fields;
}

export function toLaunchFields(launch: LaunchSettings | undefined): LaunchFields {
  return definedOnly<LaunchFields>({
    sandbox: launch?.sandbox && toSandboxFields(launch.sandbox),
    install: launch?.install?.map(toInstallFields),
    version_check: launch?.versionCheck && toVersionCheckFields(launch.versionCheck),
    requires: launch?.requires && definedOnly(launch.requires),
  });
}

/** The mode alone where nothing else is said. */
export function toSandboxFields(sandbox: SandboxDeclaration): string | Fields {
  const { mode, backend, network, fs, env, exec, home, limits, pathArguments } = sandbox;
  const block = definedOnly<Fields>({
    mode,
    backend,
    network,
    fs: fs && filled(definedOnly(fs)),
    env: env && filled(definedOnly(env)),
    exec: exec && filled(definedOnly(exec)),
    home,
    limits: limits && filled(toLimitFields(limits)),
    path_arguments: pathArguments,
  });
  return Object.keys(block).length === 1 && mode !== undefined ? mode : block;
}

function toLimitFields(limits: ResourceLimits): Fields {
  return definedOnly<Fields>({
    memory: limits.memoryBytes === undefined ? undefined : writtenSize(limits.memoryBytes),
    processes: limits.processes,
    open_files: limits.openFiles,
    cpu: limits.cpuSeconds === undefined ? undefined : `${limits.cpuSeconds}s`,
    file_size: limits.fileBytes === undefined ? undefined : writtenSize(limits.fileBytes),
    niceness: limits.niceness,
  });
}

function toInstallFields(method: InstallMethod): Fields {
  const { method: name, ...rest } = method;
  const { sha256, extractBin, ...same } = rest as Fields & { sha256?: string; extractBin?: string };
  return definedOnly<Fields>({ method: name, ...same, extract_bin: extractBin, verify_sha256: sha256 });
}

function toVersionCheckFields({ command, parse, range, timeoutMs }: VersionCheck): Fields {
  return definedOnly<Fields>({
    cmd: command,
    parse,
    range,
    timeout: timeoutMs === undefined ? undefined : `${timeoutMs}ms`,
  });
}

/** The image of an endpoint that a container serves; nothing when it is none that a declaration can say. */
export function toDockerFields({ url, program }: UrlEndpoint): Fields | undefined {
  if (program?.command !== "docker") return undefined;
  const [run, rm, ...words] = program.args ?? [];
  const names = Object.keys(program.env ?? {}).flatMap((name) => ["-e", name]);
  const [docker, ...args] = words.slice(names.length);
  const known = run === "run" && rm === "--rm" && names.every((word, index) => words[index] === word);
  if (!known || docker === undefined) return undefined;
  const { port, env } = program;
  return { docker, args: filled(args), env: filled(env), port, path: new URL(url).pathname };
}
