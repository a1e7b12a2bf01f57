// `portolan init`: writes a config file to start from.

import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError } from "../../errors/index.ts";
import { MCPFILE_TEMPLATE } from "../../formats/mcpfile/index.ts";
import type { Cli } from "../context.ts";
import { writeFiles } from "../output/write-files.ts";
import { pathLabeller } from "../workspace/folder.ts";

const NAME = "mcpfile.yaml";

/** Writes a working mcpfile, and prints the next commands. */
export async function initMcpfile(cli: Cli, words: readonly string[]): Promise<number> {
  const { io, output } = cli;
  const [given = NAME, extra] = words;
  if (extra !== undefined)
    throw new PortolanError(
      "USAGE",
      `init mcpfile takes one path; unexpected argument ${JSON.stringify(extra)}.`,
    );
  const path = resolve(io.cwd, given);
  const isFolder = /[/\\]$/.test(given) || (await stat(path).catch(() => undefined))?.isDirectory() === true;
  const file = isFolder ? join(path, NAME) : path;
  if (!/\.ya?ml$/i.test(file))
    throw new PortolanError("USAGE", `${given} is not a name for an mcpfile.`, {
      hint: `It ends in .yaml, best in mcpfile.yaml: ${given}.mcpfile.yaml`,
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
  if (output.form === "json") output.json({ file, next });
  else
    output.print(
      [
        `${label(file)} was written. Try it, then add your own tools:`,
        ...next.map((line) => `  ${line}`),
      ].join("\n"),
    );
  return 0;
}
