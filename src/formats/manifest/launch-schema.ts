// Schemas of how a program gets onto the machine: install methods, version check, supported machines.

import { parseRange } from "../../base/text/versions.ts";
import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";
import { splitCommandLine } from "../../base/text/command-line.ts";
import type { InstallMethod } from "../../model/index.ts";
import { quoted, type TextNode, toLabel } from "../document/index.ts";
import {
  duration,
  flag,
  list,
  object,
  oneOf,
  type ReadContext,
  text,
  type Value,
} from "../schema-builder/index.ts";
import { filled } from "./defined.ts";
import { toAbsolutePath } from "./paths.ts";

const INSTALL_METHODS = [
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
] as const;

const INSTALL_FIELDS = {
  method: oneOf("Install method.", INSTALL_METHODS).required(),
  package: text(
    "Package name, with a version if the package manager supports it. Not for curl, download and vendored.",
  ),
  global: flag("Only for npm. Ignored with a warning: Portolan installs npm packages into its own store."),
  user: flag("Only for pip: if true, install for the current user (pip install --user)."),
  url: text("Only for curl and download: URL of the file. Requires verify_sha256."),
  extractBin: text("Only for download: path of the executable inside the archive."),
  sha256: text("Only for curl and download: SHA-256 of the file, as 64 hexadecimal digits.", {
    pattern: "^[0-9a-fA-F]{64}$",
  }).key("verify_sha256", "sha256"),
  path: text("Only for vendored: path of the executable, relative to this file.").transform(toAbsolutePath),
};

type InstallField = Exclude<keyof typeof INSTALL_FIELDS, "method">;

interface MethodFields {
  readonly required: readonly InstallField[];
  readonly optional?: readonly InstallField[];
}

/** Methods that are not listed take a package and nothing else. */
const FIELDS_BY_METHOD: Readonly<Partial<Record<InstallMethod["method"], MethodFields>>> = {
  npm: { required: ["package"], optional: ["global"] },
  pip: { required: ["package"], optional: ["user"] },
  curl: { required: ["url"], optional: ["sha256"] },
  download: { required: ["url", "extractBin"], optional: ["sha256"] },
  vendored: { required: ["path"] },
};

const INSTALL = object("", INSTALL_FIELDS, {
  check(draft, at) {
    const { method, package: name, url, sha256 } = draft;
    if (method === undefined) return;
    const { required, optional = [] } = FIELDS_BY_METHOD[method] ?? { required: ["package"] };
    const label = toLabel(at.node.path);
    for (const field of required) {
      if (at.entry(field) === undefined)
        at.diagnostics.add(
          at.node,
          `${at.key(field)} is missing in ${label}`,
          `The method ${method} needs ${required.map(at.key).join(" and ")}.`,
        );
    }
    for (const field of Object.keys(INSTALL_FIELDS) as (keyof typeof INSTALL_FIELDS)[]) {
      const entry = at.entry(field);
      const fits = field === "method" || required.includes(field) || optional.includes(field);
      if (entry !== undefined && !fits)
        at.diagnostics.add(
          entry,
          `${entry.key} is not a key of the method ${method}`,
          `Remove ${entry.key}.`,
        );
    }
    if (name?.startsWith("-") === true) at.error("package", `${quoted(name)} is not a package`);
    const parsed = url === undefined ? undefined : parseUrl(url);
    if (url !== undefined && (parsed === undefined || !isHttpUrl(parsed)))
      at.error("url", "url is not a URL", "Write an address that begins with https://.");
    else if (url !== undefined && sha256 === undefined)
      at.error(
        "url",
        "verify_sha256 is missing: a download needs the SHA-256 hash of its file",
        "Add verify_sha256 with the SHA-256 of the downloaded file. To compute it: sha256sum FILE.",
      );
    if (sha256 !== undefined && !/^[0-9a-f]{64}$/i.test(sha256))
      at.error(
        "sha256",
        "verify_sha256 is not a SHA-256 hash",
        "Write 64 hexadecimal digits, without sha256: before them.",
      );
  },
}).transform(
  ({ method, package: name = "", url = "", extractBin = "", path = "", ...rest }): InstallMethod => {
    const sha256 = rest.sha256?.toLowerCase();
    switch (method) {
      case "npm":
        return { method, package: name, global: rest.global };
      case "pip":
        return { method, package: name, user: rest.user };
      case "curl":
        return { method, url, sha256 };
      case "download":
        return { method, url, extractBin, sha256 };
      case "vendored":
        return { method, path };
      default:
        return { method, package: name };
    }
  },
);

const VERSION_CHECK = object(
  "Checks the version of the program before the server starts. If the version is out of range, the server does not start.",
  {
    command: text("Command that prints the version. Portolan runs it without a shell.").key("cmd").required(),
    parse: text(
      "Regular expression for the output of cmd. Its first capture group is the version.",
    ).required(),
    range: text("Accepted versions, as an npm version range such as ^1.2.").required(),
    timeoutMs: duration("Maximum time of cmd, such as 30s. Default: 10s.").key("timeout"),
  },
  {
    check: ({ command, parse, range }, at) => {
      if (command !== undefined) checkVersionCommand(command, at.entry("command")?.value, at);
      if (parse !== undefined) checkVersionPattern(parse, at.entry("parse")?.value, at);
      if (range !== undefined) checkVersionRange(range, at.entry("range")?.value, at);
    },
  },
);

/** Settings of a server about its program, beside the command. */
export const LAUNCH_FIELDS = {
  install: list(
    "Methods to install the program if it is missing. Portolan tries npm, curl, download and vendored in this order. It never runs the other package managers, and only prints their commands.",
    INSTALL,
  ),
  versionCheck: VERSION_CHECK,
  requires: object(
    "Machines on which the server can run. On other machines, Portolan does not start the server.",
    {
      os: list(
        "Supported operating systems. Default: all.",
        oneOf("", ["linux", "darwin", "win32", "freebsd", "openbsd", "android", "aix", "sunos"], {
          synonyms: { macos: "darwin", windows: "win32" },
        }),
      ),
      arch: list(
        "Supported processor architectures. Default: all.",
        oneOf("", ["x64", "arm64", "arm", "ia32", "riscv64", "ppc64", "s390x", "loong64", "mips", "mipsel"], {
          synonyms: { amd64: "x64", x86_64: "x64", aarch64: "arm64", x86: "ia32" },
        }),
      ),
    },
  ).transform(filled),
};

export type VersionCheckValue = Value<typeof VERSION_CHECK>;

export function checkVersionCommand(
  command: string,
  node: TextNode | undefined,
  { diagnostics }: ReadContext,
): void {
  // A reference in it is an error of its own, which explains more than this one.
  if (node === undefined || diagnostics.hasErrorIn(node)) return;
  const words = splitCommandLine(command);
  if ("problem" in words)
    diagnostics.add(
      node,
      `version_check.cmd cannot be used: ${words.problem}`,
      "Write one program and its arguments.",
    );
}

export function checkVersionPattern(
  pattern: string,
  node: TextNode | undefined,
  { diagnostics }: ReadContext,
): void {
  if (node === undefined) return;
  const groups = countGroups(pattern);
  if (groups === undefined)
    diagnostics.add(
      node,
      "version_check.parse is not a regular expression",
      "Write for example v(\\d+\\.\\d+\\.\\d+).",
    );
  else if (groups === 0)
    diagnostics.add(
      node,
      "version_check.parse has no capture group",
      "Put the part that is the version into parentheses: v(\\d+\\.\\d+\\.\\d+).",
    );
}

export function checkVersionRange(
  range: string,
  node: TextNode | undefined,
  { diagnostics }: ReadContext,
): void {
  if (node !== undefined && parseRange(range) === undefined)
    diagnostics.add(
      node,
      `version_check.range ${quoted(range)} is not a range of versions`,
      'Write it as npm does: "^1.0.0", ">=0.5", "1.x || 2.x".',
    );
}

function countGroups(pattern: string): number | undefined {
  try {
    // The pattern alone must be valid; the next line would also accept one that starts in the middle of a group.
    void new RegExp(pattern);
    // With an empty alternative every pattern matches, and the match has one item for each group.
    return (new RegExp(`|${pattern}`).exec("")?.length ?? 1) - 1;
  } catch {
    return undefined;
  }
}
