// The shapes of how a program is brought here: installing it, checking its version, and the machines it is for.

import type { InstallMethod } from "../../model/index.ts";
import type { ObjectShape, Shape } from "../text/index.ts";

export const INSTALL_METHODS: readonly InstallMethod["method"][] = [
  "npm",
  "pip",
  "brew",
  "apt",
  "dnf",
  "pacman",
  "choco",
  "scoop",
  "cargo",
  "go",
  "curl",
  "download",
  "vendored",
];

const INSTALL: ObjectShape = {
  type: "object",
  fields: {
    method: { type: "string", required: true, enum: INSTALL_METHODS, description: "how it is installed" },
    package: { type: "string", description: "The package, with a version where the method has one." },
    global: { type: "boolean", description: "For npm: for the whole machine." },
    user: { type: "boolean", description: "For pip: for this user." },
    url: { type: "string", description: "For curl and download: the address." },
    extract_bin: { type: "string", description: "For download: the program inside of the archive." },
    verify_sha256: {
      type: "string",
      aliases: ["sha256"],
      pattern: "^[0-9a-fA-F]{64}$",
      description: "For curl and download: the hash of what is downloaded.",
    },
    path: { type: "string", description: "For vendored: the program; relative to this file." },
  },
};

const VERSION_CHECK: ObjectShape = {
  type: "object",
  description: "How its version is found out, and which versions will do.",
  fields: {
    cmd: {
      type: "string",
      required: true,
      description: "a command that prints the version; no shell reads it",
    },
    parse: {
      type: "string",
      required: true,
      description: "a regular expression whose first group is the version",
    },
    range: { type: "string", required: true, description: "the versions that will do, as npm writes them" },
    timeout: { type: "duration", description: "How long the command may take." },
  },
};

const OS: Shape = {
  type: "string",
  enum: ["linux", "darwin", "win32", "freebsd", "openbsd", "android", "aix", "sunos"],
  synonyms: { macos: "darwin", windows: "win32" },
};

const ARCH: Shape = {
  type: "string",
  enum: ["x64", "arm64", "arm", "ia32", "riscv64", "ppc64", "s390x", "loong64", "mips", "mipsel"],
  synonyms: { amd64: "x64", x86_64: "x64", aarch64: "arm64", x86: "ia32" },
};

/** What a server says about its program beside the command. */
export const LAUNCH_FIELDS: Readonly<Record<string, Shape>> = {
  install: {
    type: "list",
    items: INSTALL,
    description: "How the program is installed where it is missing, in order of preference.",
  },
  version_check: VERSION_CHECK,
  requires: {
    type: "object",
    description: "The machines that it runs on.",
    fields: {
      os: { type: "list", items: OS, description: "Operating systems." },
      arch: { type: "list", items: ARCH, description: "Processors." },
    },
  },
};

export interface CheckedInstall {
  readonly method?: InstallMethod["method"];
  readonly package?: string;
  readonly global?: boolean;
  readonly user?: boolean;
  readonly url?: string;
  readonly extract_bin?: string;
  readonly verify_sha256?: string;
  readonly path?: string;
}

export interface CheckedLaunch {
  readonly install?: readonly CheckedInstall[];
  readonly version_check?: {
    readonly cmd?: string;
    readonly parse?: string;
    readonly range?: string;
    readonly timeout?: number;
  };
  readonly requires?: { readonly os?: readonly string[]; readonly arch?: readonly string[] };
}
