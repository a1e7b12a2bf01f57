// `portolan diff`: compares two versions of a driver or a contract, and shows which version step the changes need.

import { readFile, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { compareVersions, parseVersion } from "../../base/text/versions.ts";
import { checkBump, diffContracts, diffDrivers, type Difference, type Step } from "../../contracts/index.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { parseDriver, parseTool, readFrontmatter, type ServerJson } from "../../formats/driver/index.ts";
import type { Contract, Driver } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { configError } from "../output/diagnostic.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

interface Given {
  readonly text: string;
  readonly file: string;
  readonly serverJson: ServerJson | undefined;
}

type Read = { readonly driver: Driver } | { readonly contract: Contract };

/** Returns 1 when the new version number is too low for the changes. */
export async function diff(cli: Cli, words: readonly string[]): Promise<number> {
  const [before, after, extra] = words;
  if (before === undefined || after === undefined || extra !== undefined)
    throw new PortolanError("USAGE", "diff takes two files: the old one and the new one.", {
      hint: "portolan diff <old DRIVER.md> <new DRIVER.md>, or two TOOL.md, or folders that contain them.",
    });
  const [first, second] = [await read(before, cli), await read(after, cli)];
  const now = parse(second, second.file, cli);
  // The first parse reports errors at their place; the second one resolves relative paths as the new file does.
  parse(first, first.file, cli);
  const old = parse(first, second.file, cli);
  const { difference, problems, from, to } = compare(old, now, [before, after]);
  const lower = isLower(from.version, to.version);
  const enough = problems.length === 0 && !lower;
  const hint = lower
    ? "The new version number is lower than the old one. Raise the new version number."
    : problems[0]?.hint;
  if (cli.output.form === "json")
    cli.output.json({
      id: to.id,
      before: from.version,
      after: to.version,
      needs: difference.needs,
      changes: difference.changes,
      enough,
      hint,
    });
  else {
    const { colors, width } = cli.output;
    const head = `${colors.bold(to.id)} ${from.version} ${colors.dim("→")} ${to.version}`;
    const verdict = enough
      ? `${colors.green("version ok")} ${needsLabel(difference.needs)}`
      : `${colors.red("version too low")} ${hint ?? needsLabel(difference.needs)}`;
    const parts = [head, ...changeLines(difference, colors, width), wrap(verdict, width)];
    cli.output.print(parts.join("\n"));
  }
  return enough ? 0 : 1;
}

function compare(
  old: Read,
  now: Read,
  names: readonly string[],
): {
  difference: Difference;
  problems: readonly Diagnostic[];
  from: Driver | Contract;
  to: Driver | Contract;
} {
  if ("driver" in old && "driver" in now)
    return {
      difference: diffDrivers(old.driver, now.driver),
      problems: checkBump(old.driver, now.driver),
      from: old.driver,
      to: now.driver,
    };
  if ("contract" in old && "contract" in now)
    return {
      difference: diffContracts(old.contract, now.contract),
      problems: checkBump(old.contract, now.contract),
      from: old.contract,
      to: now.contract,
    };
  throw new PortolanError(
    "USAGE",
    `${names.join(" and ")} cannot be compared: one is a driver, the other is a contract.`,
  );
}

async function read(word: string, cli: Cli): Promise<Given> {
  const path = resolve(cli.io.cwd, word);
  const found = await stat(path).catch(() => undefined);
  const candidates =
    found?.isDirectory() === true ? ["DRIVER.md", "TOOL.md"].map((name) => join(path, name)) : [path];
  for (const file of candidates) {
    const text = await readFile(file, "utf8").catch(() => undefined);
    if (text === undefined) continue;
    const beside = join(dirname(file), "server.json");
    const server = await readFile(beside, "utf8").catch(() => undefined);
    return { text, file, serverJson: server === undefined ? undefined : { text: server, file: beside } };
  }
  const message =
    found === undefined
      ? "does not exist"
      : found.isDirectory()
        ? "contains no DRIVER.md and no TOOL.md that can be read"
        : "cannot be read";
  throw new PortolanError("FILE_FAILED", `${word} ${message}.`);
}

/** Recognises the kind by content: only a driver has `implements`. */
function parse({ text, serverJson }: Given, file: string, cli: Cli): Read {
  const { root } = readFrontmatter(text, file);
  const isDriver =
    root?.kind === "object" &&
    root.entries.some(({ key }) => key === "implements" || key === "server" || key === "kind");
  const { driver, contract, diagnostics } = isDriver
    ? { contract: undefined, ...parseDriver(text, file, { serverJson }) }
    : { driver: undefined, ...parseTool(text, file) };
  if (driver !== undefined) return { driver };
  if (contract !== undefined) return { contract };
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  throw configError(
    errors,
    cli,
    "The files have errors and cannot be compared",
    "Correct these lines, or compare other versions of the files.",
  );
}

function isLower(before: string, after: string): boolean {
  const [a, b] = [parseVersion(before), parseVersion(after)];
  return a !== undefined && b !== undefined && compareVersions(b, a) < 0;
}

function needsLabel(needs: Step): string {
  return needs === "none" ? "There are no changes." : `This is a ${needs} change.`;
}

function changeLines({ changes }: Difference, colors: Colors, width: number | undefined): string[] {
  const paints: Readonly<Record<Step, Paint>> = {
    major: colors.red,
    minor: colors.yellow,
    patch: colors.dim,
    none: colors.dim,
  };
  return changes.map(({ what, needs, why }) =>
    wrap(`  ${paints[needs](needs)} ${plainLine(what, 200)}: ${plainLine(why, 400)}`, width, 4),
  );
}
