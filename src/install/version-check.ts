// Runs a program's version command and compares the result with a range. Neither the program nor the pattern is
// trusted.

import { parseRange, parseVersion, satisfies, type Version } from "../base/text/versions.ts";
import { firstWords } from "../base/text/truncate.ts";
import { isPortolanError, PortolanError } from "../errors/index.ts";
import type { VersionCheck } from "../model/index.ts";
import type { Program, RunProgram } from "../process/index.ts";
import { isSafePattern } from "../schema/index.ts";

export type { RunProgram };

export interface Checked {
  readonly ok: boolean;
  /** The version as the program prints it. */
  readonly version: string | undefined;
  /** Why the check failed. */
  readonly problem: string | undefined;
  /** The next step, if the version is not the problem. */
  readonly hint?: string;
}

const TIMEOUT_MS = 10_000;
const MOST_OUTPUT = 16 * 1024;
const MOST_PATTERN = 1_000;

export async function checkVersion(
  check: VersionCheck,
  program: Program,
  run: RunProgram,
  signal?: AbortSignal,
): Promise<Checked> {
  const range = parseRange(check.range);
  if (range === undefined)
    throw new PortolanError(
      "CONFIG_INVALID",
      `version_check.range ${JSON.stringify(check.range)} is not a range of versions.`,
      {
        hint: "Write it as npm does, such as >=1.2 or ^2.0.0.",
      },
    );
  const find = await compile(check.parse);
  const timeoutMs = check.timeoutMs ?? TIMEOUT_MS;
  const begun = performance.now();
  const { stdout, stderr, code } = await run(program, { timeoutMs, signal });
  const isLate = code === null && performance.now() - begun >= timeoutMs;
  const line = firstWords((stdout.trim() || stderr.trim()).split("\n", 1)[0] ?? "", 200);
  const said = line === "" ? "printed nothing" : `printed ${JSON.stringify(line)}`;
  const untold = (why: string): Checked => ({
    ok: false,
    version: undefined,
    problem: `the version of the program is unknown: ${check.command} ${why}`,
    hint: isLate
      ? "Raise version_check.timeout, or correct version_check.cmd."
      : "Correct version_check: cmd must print the version, and parse must find the version in that output.",
  });
  // Numbers in an error message are no version. A program that was stopped may have printed its version before.
  if (code !== null && code !== 0) return untold(`ended with the exit code ${code}, and ${said}`);
  const version = find(stdout.slice(0, MOST_OUTPUT)) ?? find(stderr.slice(0, MOST_OUTPUT));
  if (version === undefined)
    return untold(isLate ? `did not end within ${timeoutMs / 1_000} s, and ${said}` : said);
  const parsed = toVersion(version);
  if (parsed === undefined)
    return untold(
      `${said}, and ${JSON.stringify(firstWords(version, 60))}, which ${check.parse} finds there, is not a version`,
    );
  if (satisfies(parsed, range)) return { ok: true, version, problem: undefined };
  return {
    ok: false,
    version,
    problem: `the version of the program is ${firstWords(version, 60)}, which is not in the range ${check.range}`,
  };
}

/** An error that prevented the version command is an error of the check; the server may be fine. */
export function checkError({ command }: VersionCheck, error: unknown): unknown {
  if (
    !isPortolanError(error) ||
    !["SERVER_START_FAILED", "INSTALL_FAILED", "PACKAGE_NOT_FOUND"].includes(error.code)
  )
    return error;
  const { code, message, hint, data } = error;
  return new PortolanError(code, `the version check ${JSON.stringify(command)} cannot run: ${message}`, {
    ...{ cause: error, data },
    hint:
      data.reason === "ENOENT"
        ? "Name the server's own program in version_check.cmd, or another one that is installed; or remove version_check."
        : hint,
  });
}

export function versionError(
  check: VersionCheck,
  { version, problem, hint: own }: Checked,
  hint?: string,
): PortolanError {
  return new PortolanError("VERSION_MISMATCH", `The version check failed: ${problem ?? ""}.`, {
    data: { range: check.range, version },
    hint: own ?? hint,
  });
}

/** Returns the first group of the first match, in linear time. */
async function compile(source: string): Promise<(text: string) => string | undefined> {
  try {
    if (source.length <= MOST_PATTERN) {
      const native = withUnicode(source);
      if (isSafePattern(source)) return (text) => native.exec(text)?.[1];
      const { RE2JS } = await import("re2js");
      const linear = RE2JS.compile(source);
      return (text) => {
        const matcher = linear.matcher(text);
        return matcher.find() && linear.groupCount() > 0 ? (matcher.group(1) ?? undefined) : undefined;
      };
    }
  } catch {
    // Reported below.
  }
  throw new PortolanError(
    "CONFIG_INVALID",
    `The pattern ${JSON.stringify(source)} of the version check cannot be used.`,
    {
      hint: "Write a short regular expression without look-around, whose first group is the version.",
    },
  );
}

/** Some escapes are valid only without the flag. */
function withUnicode(source: string): RegExp {
  try {
    return new RegExp(source, "u");
  } catch {
    return new RegExp(source);
  }
}

/** Programs are less strict than npm: `0.5`, `2026.08.31` and `1.2.3.4` are versions as well. */
function toVersion(text: string): Version | undefined {
  const exact = parseVersion(text);
  if (exact !== undefined) return exact;
  const found = /^\s*v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?(?![\d.]*-)/.exec(text);
  if (found === null) return undefined;
  return parseVersion([found[1], found[2], found[3]].map((part) => Number(part ?? 0)).join("."));
}
