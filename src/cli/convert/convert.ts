// `portolan convert`: converts an API description, or an older mcpfile, to an mcpfile of the current version.

import { readFile, stat } from "node:fs/promises";
import { basename, dirname, relative, resolve } from "node:path";
import { isHttpUrl } from "../../base/net/urls.ts";
import { shellWord } from "../../base/text/command-line.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { upgradeMcpfile } from "../../formats/mcpfile/index.ts";
import { type ConvertedApi, convertOpenApi } from "../../openapi/index.ts";
import type { Cli } from "../context.ts";
import type { RawOptions } from "../options/parse.ts";
import { notAllowed } from "../options/usage-error.ts";
import { configError, describeDiagnostic } from "../output/diagnostic.ts";
import { withSpinner } from "../output/progress.ts";
import { type MadeFile, placeFiles, writeFiles } from "../output/write-files.ts";
import { hasScheme } from "../target/target.ts";
import { count } from "../terminal/layout.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import { computerOf, pathLabeller } from "../workspace/folder.ts";
import { fetchText } from "./fetch-text.ts";

export interface ConvertCommandOptions extends RawOptions {
  out?: string;
  force?: boolean;
  baseUrl?: string;
  only?: string[];
  name?: string;
  split?: string;
}

interface Given {
  readonly text: string;
  /** A shortened path, or a URL. */
  readonly file: string;
  readonly isUrl: boolean;
}

const MEBI = 1024 * 1024;
const MAX_BYTES = 16 * MEBI;
/** `portolan validate` does not check API descriptions. */
const CORRECT = "Correct these lines of the description.";
/** Above this size, the conversion may take a second. */
const LARGE = MEBI;

export async function convertApi(
  cli: Cli,
  words: readonly string[],
  options: ConvertCommandOptions,
): Promise<number> {
  const given = await readGiven(takeOne(words, "openapi"), cli);
  // The conversion blocks the event loop, so a spinner could not move.
  if (given.text.length > LARGE)
    cli.output.note(cli.output.noteColors.dim(`converting ${(given.text.length / MEBI).toFixed(1)} MiB`));
  const { baseUrl, only, name } = options;
  const split = readSplit(options.split);
  const { text, file, isUrl } = given;
  const documentUrl = isUrl ? file : undefined;
  const made = convertOpenApi(text, { file, baseUrl, documentUrl, only, name, split });
  if (made.files.length === 0) throw nothingMade(made, cli);
  const files = await withWorkspace(made.files, options.out, cli.io.cwd);
  const written = await deliver(files, cli, options, made);
  noteConverted(made, cli);
  await noteWritten(written, cli);
  return 0;
}

function readSplit(word: string | undefined): "tag" | "size" | undefined {
  if (word === undefined || word === "tag" || word === "size") return word;
  throw new PortolanError("USAGE", notAllowed("--split", word, ["tag", "size"]), {
    hint: "tag: one file for each tag. size: as few files as possible.",
  });
}

/** The files of a split get a portolan.yaml beside them, so that the folder is a workspace at once. */
async function withWorkspace(
  files: readonly MadeFile[],
  out: string | undefined,
  cwd: string,
): Promise<readonly MadeFile[]> {
  if (out === undefined || files.some(({ name }) => name === "mcpfile.yaml")) return files;
  const found = await stat(resolve(cwd, out)).catch(() => undefined);
  if (files.length === 1 && found?.isDirectory() !== true && !/[/\\]$/.test(out)) return files;
  const text = [
    "# Each file is one server. To use only some of the servers, list their aliases: enabled_servers: [...]",
    'sources: ["*.mcpfile.yaml"]',
    "",
  ].join("\n");
  return [...files, { name: "portolan.yaml", text }];
}

export async function convertMcpfile(
  cli: Cli,
  words: readonly string[],
  options: ConvertCommandOptions,
): Promise<number> {
  const { text, file } = await readGiven(takeOne(words, "mcpfile"), cli, false);
  const { files, diagnostics } = upgradeMcpfile(text, resolve(cli.io.cwd, file));
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (files.length === 0)
    throw errors.length > 0
      ? configError(errors, cli, "The mcpfile cannot be converted", "Correct these lines of the file.")
      : new PortolanError("FILE_INVALID", `${file} has no servers.`, {
          hint: "A file with mcpFileVersion 0.0.1 lists its servers under servers. Add a server there, or check that this is the right file.",
        });
  const written = await deliver(files, cli, options, { files, diagnostics });
  noteDiagnostics(diagnostics, cli);
  await noteWritten(written, cli);
  return 0;
}

/** Prints the result, or writes it into files; returns the paths of the files. */
async function deliver(
  files: readonly MadeFile[],
  { io, output }: Cli,
  { out, force, json }: ConvertCommandOptions,
  whole: object,
): Promise<readonly string[]> {
  if (out === undefined) {
    // The output is YAML even in a pipe; only --json changes that.
    if (json === true) output.json(whole);
    else output.print(io.stdout.isTTY === true ? plainText(joined(files)) : joined(files));
    return [];
  }
  const placed = await placeFiles(files, out, io.cwd);
  await writeFiles(placed, {
    force: force === true,
    label: pathLabeller(io),
    hint: "Add --force to overwrite the file, or choose another name.",
  });
  if (json === true) output.json({ ...whole, written: placed.map(({ path }) => path) });
  return placed.map(({ path }) => path);
}

/** Several files become several YAML documents, each under its name. */
function joined(files: readonly MadeFile[]): string {
  if (files.length === 1) return files[0]?.text ?? "";
  return files.map(({ name, text }) => `---\n# ${name}\n${text}`).join("");
}

function takeOne(words: readonly string[], kind: "openapi" | "mcpfile"): string {
  const [first, extra] = words;
  const what = kind === "openapi" ? "description" : "file";
  if (first === undefined)
    throw new PortolanError("USAGE", `No ${what} was given.`, {
      hint: kind === "openapi" ? "portolan convert openapi <file or URL>" : "portolan convert mcpfile <file>",
    });
  if (extra !== undefined)
    throw new PortolanError(
      "USAGE",
      `convert ${kind} takes one ${what}; unexpected argument ${JSON.stringify(extra)}.`,
      {
        hint: kind === "openapi" ? "Give --only once for each pattern." : undefined,
      },
    );
  return first;
}

function unreadable(word: string, cause: NodeJS.ErrnoException): PortolanError {
  const isDenied = cause.code === "EACCES" || cause.code === "EPERM";
  return new PortolanError("FILE_FAILED", `${word} cannot be read (${cause.code ?? cause.message}).`, {
    cause,
    hint: isDenied ? "Check the permissions of the file and of its folders." : "Check the path and the disk.",
  });
}

async function readGiven(word: string, cli: Cli, urls = true): Promise<Given> {
  const { io, interrupt } = cli;
  if (urls && hasScheme(word)) {
    const { text, url } = await withSpinner(cli, (spinner) => {
      spinner.start("fetching the description");
      return fetchText(word, interrupt.signal);
    });
    return { text, file: url, isUrl: true };
  }
  const path = resolve(io.cwd, word);
  const found = await stat(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT" || thrown.code === "ENOTDIR") return undefined;
    throw unreadable(word, thrown);
  });
  const problem =
    found === undefined
      ? "does not exist"
      : !found.isFile()
        ? "is not a file"
        : found.size > MAX_BYTES
          ? `has more than ${MAX_BYTES / MEBI} MiB`
          : undefined;
  if (problem !== undefined)
    throw new PortolanError("FILE_FAILED", `${word} ${problem}.`, {
      hint:
        found?.isFile() === true
          ? `The file can have at most ${MAX_BYTES / MEBI} MiB. Use a smaller file.`
          : "Check the path, and name a file.",
    });
  const bytes = await readFile(path).catch((thrown: NodeJS.ErrnoException) => {
    throw unreadable(word, thrown);
  });
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text, file: pathLabeller(io)(path), isUrl: false };
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `${word} is not UTF-8 text.`, {
      cause,
      hint: "Save the file as UTF-8 first.",
    });
  }
}

function nothingMade({ diagnostics, skipped }: ConvertedApi, cli: Cli): PortolanError {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) return configError(errors, cli, "The description cannot be converted", CORRECT);
  const reasons = skipped.slice(0, 20).map(({ operation, reason }) => `- ${operation}: ${reason}`);
  if (reasons.length === 0)
    return new PortolanError("FILE_INVALID", "The description has no operations.", {
      hint: "Check that the file describes the whole API, not only a part of it.",
    });
  return new PortolanError(
    "FILE_INVALID",
    `No operation can be converted to a tool.\n${reasons.join("\n")}`,
    {
      hint: "Correct these operations in the description.",
      data: { skipped },
    },
  );
}

const MOST_SHOWN = 20;

/** Notes the tools, the skipped operations, warnings, and the secrets that are needed. */
function noteConverted({ tools, skipped, needs, diagnostics }: ConvertedApi, cli: Cli): void {
  const { output } = cli;
  const { bold, dim } = output.noteColors;
  const left = skipped.length === 0 ? "" : `, ${skipped.length} skipped`;
  output.note(bold(`${count(tools, "tool")}${left}`));
  for (const { operation, reason, line, column } of skipped.slice(0, MOST_SHOWN))
    output.note(`  ${plainLine(operation, 100)}: ${plainLine(reason, 300)} ${dim(`(${line}:${column})`)}`);
  if (skipped.length > MOST_SHOWN)
    output.note(dim(`  and ${skipped.length - MOST_SHOWN} more; --json shows all`));
  // The skipped operations are listed above.
  noteDiagnostics(
    diagnostics.filter(({ message }) => !message.includes(" is skipped: ")),
    cli,
  );
  if (needs.length === 0) return;
  output.note(
    `The tools need ${needs.length === 1 ? "a secret" : `${needs.length} secrets`}. To set ${needs.length === 1 ? "it" : "them"}:`,
  );
  for (const name of needs) output.note(`  portolan secrets set ${plainLine(name, 256)}`, true);
}

/** Diagnostics of severity info are shown only with --verbose. */
function noteDiagnostics(diagnostics: readonly Diagnostic[], { io, output, options }: Cli): void {
  const labelFile = pathLabeller(io);
  const shown = diagnostics.filter(({ severity }) => options.verbose || severity !== "info");
  const most = options.verbose ? shown.length : MOST_SHOWN;
  const label = (file: string): string => (isHttpUrl(file) ? file : labelFile(file));
  for (const diagnostic of shown.slice(0, most))
    output.note(describeDiagnostic(diagnostic, { colors: output.noteColors, width: undefined, label }));
  if (shown.length > most)
    output.note(output.noteColors.dim(`and ${shown.length - most} more diagnostics; --verbose shows them`));
}

async function noteWritten(paths: readonly string[], cli: Cli): Promise<void> {
  const { io, output } = cli;
  const [first] = paths;
  if (first === undefined) return;
  const label = pathLabeller(io);
  const workspace = paths.find((path) => basename(path) === "portolan.yaml");
  if (workspace !== undefined) {
    const folder = shellWord(label(dirname(workspace)));
    output.note(`Written: ${paths.length} files in ${label(dirname(workspace))}`);
    output.note(`  portolan list -w ${folder}\n  portolan serve ${folder}`, true);
    return;
  }
  output.note(`Written: ${paths.map(label).join(", ")}`);
  const name = shellWord(label(first));
  output.note(`  portolan list ${name}\n  portolan serve ${name}`, true);
  await noteSources(paths, cli);
}

/** The formats of files that a workspace reads without `sources`. */
const NO_SOURCES: ReadonlySet<string> = new Set(["workspace", "driver", "tool", "secrets", "skill"]);

/** A workspace finds an mcpfile only by its usual name or by `sources`, and `sources` replaces the usual names. */
async function noteSources(paths: readonly string[], { io, output }: Cli): Promise<void> {
  const { files } = await io.loadCatalog(io.cwd, { home: computerOf(io, io.cwd).home });
  const missing = paths.filter((path) => !files.some(({ file }) => file === path));
  if (missing.length === 0) return;
  const own = files.find(({ format }) => format === "workspace")?.file ?? "portolan.yaml";
  const read = files.filter(({ format }) => !NO_SOURCES.has(format));
  const sources = [...read.map(({ file }) => file), ...missing].map((file) => relative(io.cwd, file));
  output.note(
    `To use ${missing.length === 1 ? "the file" : "the files"} in the workspace of this folder, set this key in ${basename(own)}:`,
  );
  output.note(`  sources: [${sources.map((source) => JSON.stringify(source)).join(", ")}]`, true);
}
