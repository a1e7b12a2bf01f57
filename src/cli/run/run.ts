// `portolan run`: runs an mlld script, or shows what it would use.

import { resolve } from "node:path";
import { readLimited } from "../../base/files/limited-read.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  checkServers,
  type LockedServerPackage,
  parseScript,
  planScript,
  readLockedPackages,
  runScript,
  type Script,
  SCRIPT_LIMITS,
} from "../../script/index.ts";
import { createRedactor } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { throwUsageErrors } from "../options/usage-error.ts";
import { requestProgress, withSpinner } from "../output/progress.ts";
import { plainText } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { loadSource, type Source } from "../workspace/source.ts";
import { describePlan } from "./plan-view.ts";
import { findSecrets } from "./secrets.ts";
import { failureAt, scriptError } from "./script-error.ts";
import { createServers } from "./servers.ts";

export interface RunScriptOptions {
  /** Variables as `name=value` or `name:=json`. */
  var?: string[];
  dryRun?: boolean;
}

export async function runScriptFile(cli: Cli, path: string, options: RunScriptOptions): Promise<number> {
  const { io, output, interrupt } = cli;
  const file = resolve(io.cwd, path);
  const variables = parseVariables(options.var ?? []);
  const text = await readScript(file, path);
  const { script, diagnostics } = parseScript(text, { file, variables: variables.keys() });
  if (script === undefined) throw scriptError(cli, diagnostics, text);
  const source = usesWorkspace(script) ? await loadSource(cli) : undefined;
  const locked = await readLocked(source);
  const redactor = createRedactor();
  const result = await withSpinner(cli, async (spinner) => {
    const servers = createServers({ cli, source, spinner, redactor, locked });
    const problems = checkServers(script, servers);
    if (problems.length > 0) throw scriptError(cli, problems, text);
    if (options.dryRun === true) {
      const plan = planScript(script, servers);
      if (output.form === "json") output.json(plan);
      else output.print(describePlan(plan, output.colors, pathLabeller(io)));
      return undefined;
    }
    const secrets = await findSecrets(cli, script, source, text);
    return runScript(script, {
      ...{ servers, secrets, variables, redactor, signal: interrupt.signal },
      request: requestProgress(cli, spinner),
      onOutput: (block) => {
        if (output.form === "text") output.print(plainText(block));
      },
    });
  });
  if (result?.error !== undefined) throw failureAt(cli, result.error, text);
  if (result !== undefined && output.form === "json")
    output.json({ outputs: result.outputs, variables: result.variables });
  return 0;
}

/** The lock file of the workspace says which server a package is. */
async function readLocked(source: Source | undefined): Promise<ReadonlyMap<string, LockedServerPackage>> {
  const folder = source?.config.folder;
  return folder === undefined ? new Map() : readLockedPackages(folder);
}

async function readScript(file: string, written: string): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readLimited(file, SCRIPT_LIMITS.bytes);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "there is no such file" : message;
    throw new PortolanError("FILE_FAILED", `The script ${written} cannot be read: ${reason}.`, {
      hint: `Name a regular file that you can read, with at most ${SCRIPT_LIMITS.bytes} bytes.`,
      cause,
    });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `The script ${written} is not UTF-8 text.`, {
      hint: "Save the script as UTF-8.",
      cause,
    });
  }
}

/** The variables of `--var`. Throws one error that lists all that are malformed; it does not repeat values. */
function parseVariables(pairs: readonly string[]): Map<string, unknown> {
  const variables = new Map<string, unknown>();
  const problems: string[] = [];
  for (const pair of pairs) {
    const [, name = "", mark, text = ""] = /^([A-Za-z_]\w*)(:?=)([^]*)$/.exec(pair) ?? [];
    if (mark === undefined)
      problems.push(
        "--var must be name=value or name:=json; a name begins with a letter or _, and has letters, digits and _",
      );
    else if (variables.has(name)) problems.push(`--var ${name} is given twice`);
    else if (mark === "=") variables.set(name, text);
    else
      try {
        variables.set(name, JSON.parse(text));
      } catch {
        problems.push(
          `--var ${name}:= needs valid JSON after :=. In a shell, put quotes around it, such as --var '${name}:={"a": 1}'`,
        );
      }
  }
  throwUsageErrors(problems);
  return variables;
}

/** True if the script imports packages, which are servers of the workspace. */
function usesWorkspace({ names }: Script): boolean {
  return names.servers.some(
    ({ import: from }) => from.kind === "import-package" || /^@[\w.-]+\/[\w.-]+$/.test(from.target),
  );
}
