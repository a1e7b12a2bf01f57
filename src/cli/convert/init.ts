// `portolan init`: writes a config file to start from.

import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import { MCPFILE_TEMPLATE } from "../../formats/mcpfile/index.ts";
import { packageTemplate } from "../../formats/package/index.ts";
import { WORKSPACE_TEMPLATE } from "../../formats/workspace/index.ts";
import type { Cli } from "../context.ts";
import { writeFiles } from "../output/write-files.ts";
import { DOCUMENT_NAMES, findDocument } from "../pack/document-file.ts";
import { pathLabeller } from "../workspace/folder.ts";

const KINDS = ["mcpfile", "package"];

/** Writes a commented portolan.yaml, and prints the next commands. */
export async function initWorkspace(cli: Cli, words: readonly string[]): Promise<number> {
  const { io, output } = cli;
  const [given, extra] = words;
  if (extra !== undefined)
    throw new PortolanError("USAGE", `init takes one folder; unexpected argument ${JSON.stringify(extra)}.`);
  const folder = resolve(io.cwd, given ?? ".");
  const found = await stat(folder).catch(() => undefined);
  const near = given === undefined || found !== undefined ? undefined : didYouMean(given, KINDS);
  if (near !== undefined)
    throw new PortolanError(
      "USAGE",
      `${JSON.stringify(given)} is neither an existing folder nor a kind of file that init can write.`,
      { hint: near },
    );
  const label = pathLabeller(io);
  const at = folder === io.cwd ? "" : ` -w ${shellWord(label(folder))}`;
  const hint = `To add a server to this file: portolan add <name>${at} -- <command...>`;
  const file = join(folder, "portolan.yaml");
  const other = join(folder, "portolan.yml");
  if ((await stat(other).catch(() => undefined)) !== undefined)
    throw new PortolanError("USAGE", `${label(other)} exists already, so no file was written.`, { hint });
  await writeFiles([{ path: file, text: WORKSPACE_TEMPLATE }], {
    force: false,
    label,
    hint,
  });
  const next = [
    `portolan add files${at} -- npx -y @modelcontextprotocol/server-filesystem .`,
    `portolan connect${at}`,
    `portolan serve${at}`,
  ];
  show(
    output,
    { file, next },
    `${label(file)} was written. Add a server, connect your MCP clients, or serve the workspace:`,
  );
  return 0;
}

/** Writes a working mcpfile, and prints the next commands. */
export async function initMcpfile(cli: Cli, words: readonly string[]): Promise<number> {
  const { io, output } = cli;
  const { file, given } = await takePath(cli, words, { kind: "mcpfile", name: "mcpfile.yaml" });
  if (!/\.ya?ml$/i.test(file))
    throw new PortolanError("USAGE", `An mcpfile cannot have the name ${given}.`, {
      hint: `The name must end in .yaml or .yml, preferably in mcpfile.yaml: ${given}.mcpfile.yaml`,
    });
  const label = pathLabeller(io);
  await writeFiles([{ path: file, text: MCPFILE_TEMPLATE }], {
    force: false,
    label,
    hint: "Choose another name: portolan init mcpfile <path>",
  });
  const name = shellWord(label(file));
  const next = [
    `portolan list ${name}`,
    `portolan call ${name} evaluate expression='6 * 7'`,
    `portolan serve ${name}`,
    `portolan validate ${name}`,
  ];
  show(output, { file, next }, `${label(file)} was written. Try it, then add your own tools:`);
  return 0;
}

/** Writes the commented start of a package's metadata, and prints the next commands. */
export async function initPackage(
  cli: Cli,
  words: readonly string[],
  { name }: { name?: string },
): Promise<number> {
  const { io, output } = cli;
  const { file, given } = await takePath(cli, words, { kind: "package", name: "mcp-package.jsonc" });
  if (!DOCUMENT_NAMES.includes(basename(file)))
    throw new PortolanError(
      "USAGE",
      `${JSON.stringify(given)} cannot be the metadata file of a package: its file name must be ${DOCUMENT_NAMES.join(" or ")}.`,
      {
        hint: "A folder has one package. To create the file in another folder: portolan init package <folder>/",
      },
    );
  const folder = dirname(file);
  const there = await findDocument(folder);
  const label = pathLabeller(io);
  if (there !== undefined)
    throw new PortolanError("USAGE", `${label(there.file)} exists already.`, {
      hint: "The file was not changed. Name another folder: portolan init package <folder>/",
    });
  await writeFiles([{ path: file, text: packageTemplate(name) }], {
    force: false,
    label,
    hint: "Name another folder: portolan init package <folder>/",
  });
  const document = shellWord(label(file));
  const out = folder === io.cwd ? "" : ` --out ${shellWord(label(folder))}`;
  const next = [
    `portolan pack mcpfile.yaml${out}`,
    `portolan pack mcpfile.yaml${out} --check`,
    `portolan publish ${document}`,
  ];
  show(
    output,
    { file, next },
    `${label(file)} was written. Fill in the fields about the package and its author, then:`,
  );
  return 0;
}

/** The path of the new file: a folder gets the usual name. */
async function takePath(
  { io }: Cli,
  [given, extra]: readonly string[],
  { kind, name }: { readonly kind: string; readonly name: string },
): Promise<{ file: string; given: string }> {
  if (extra !== undefined)
    throw new PortolanError(
      "USAGE",
      `init ${kind} takes one path; unexpected argument ${JSON.stringify(extra)}.`,
    );
  const written = given ?? name;
  const path = resolve(io.cwd, written);
  const isFolder =
    /[/\\]$/.test(written) || (await stat(path).catch(() => undefined))?.isDirectory() === true;
  return { file: isFolder ? join(path, name) : path, given: written };
}

function show(output: Cli["output"], result: { file: string; next: readonly string[] }, text: string): void {
  if (output.form === "json") output.json(result);
  else output.print([text, ...result.next.map((line) => `  ${line}`)].join("\n"));
}
