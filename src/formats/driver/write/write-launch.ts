// How a program is brought here and boxed, in the words of a DRIVER.md.

import type {
  DriverServer,
  InstallMethod,
  LaunchSettings,
  ResourceLimits,
  SandboxDeclaration,
} from "../../../model/index.ts";
import { hostRule } from "../read/egress.ts";
import { type Fields, filledOnly } from "./write-frontmatter.ts";

const MB = 1024 * 1024;

/** Every server says which hosts it reaches, also when it is none; a remote one at least its own. */
export function writeLaunch(launch: LaunchSettings | undefined, server: DriverServer): Fields {
  const { sandbox, install, versionCheck: check, requires } = launch ?? {};
  const egress = sandbox?.network ?? (server.kind === "remote" ? [hostRule(server.url)] : []);
  return {
    install: install && filledOnly(install.map(writeMethod)),
    version_check: check && {
      cmd: check.command,
      parse: check.parse,
      range: check.range,
      timeout_ms: check.timeoutMs === 5_000 ? undefined : check.timeoutMs,
    },
    requires: filledOnly({
      os: requires?.os?.map((name) => (name === "win32" ? "windows" : name)),
      arch: requires?.arch?.map((name) => (name === "ia32" ? "x86" : name)),
      min_memory_mb: requires?.memoryBytes && requires.memoryBytes / MB,
      min_disk_mb: requires?.diskBytes && requires.diskBytes / MB,
    }),
    network: { egress },
    sandbox: filledOnly({ mode: launch?.askedMode, ...(sandbox && writeSandbox(sandbox)) }),
  };
}

function writeMethod(method: InstallMethod): Fields {
  if (method.method === "curl") return { method: "curl", url: method.url, verify_sha256: method.sha256 };
  if (method.method !== "download") return { ...method };
  const { url, extractBin, sha256 } = method;
  return { method: "download", url, extract_bin: extractBin, verify_sha256: sha256 };
}

function writeSandbox({
  fs,
  env,
  exec,
  home,
  limits,
  pathArguments,
}: SandboxDeclaration): Fields | undefined {
  return filledOnly({
    fs,
    exec: exec && filledOnly(exec),
    env,
    home,
    limits: limits && writeLimits(limits),
    path_arguments: pathArguments,
  });
}

function writeLimits(limits: ResourceLimits): Fields {
  return {
    memory: limits.memoryBytes,
    processes: limits.processes,
    open_files: limits.openFiles,
    cpu: limits.cpuSeconds === undefined ? undefined : `${limits.cpuSeconds}s`,
    file_size: limits.fileBytes,
    niceness: limits.niceness,
  };
}
