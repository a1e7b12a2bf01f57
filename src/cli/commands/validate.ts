// `portolan validate`: declarations of any format, checked.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { validateFiles } from "../../catalog/index.ts";
import type { Cli } from "../connect.ts";
import { describeFinding } from "../finding.ts";
import { computerOf, pathLabel, workspaceFolder } from "../workspace-folder.ts";

export async function validate(cli: Cli, paths: readonly string[]): Promise<number> {
  const { io, output, options } = cli;
  const { workspace } = options;
  const computer = computerOf(io, io.cwd);
  const wanted =
    paths.length === 0
      ? [workspaceFolder(io, workspace === undefined ? {} : { workspace })]
      : paths.map((path) => resolve(io.cwd, path));
  const { valid, files, diagnostics } = await validateFiles(wanted, { home: computer.home });
  if (output.form === "json") {
    output.json({ valid, files, diagnostics });
    return valid ? 0 : 1;
  }
  const label = (file: string): string => (file === io.cwd ? "." : pathLabel(file, computer));
  const { colors, width } = output;
  const texts = new Map<string, string | undefined>();
  const textOf = (file: string): string | undefined => {
    if (!texts.has(file)) texts.set(file, readText(file));
    return texts.get(file);
  };
  const parts = diagnostics.map((finding) => describeFinding(finding, { colors, width, label, textOf }));
  const summary = files.map((file) => {
    const count = `${file.aliases.length} ${file.aliases.length === 1 ? "server" : "servers"}`;
    const mark = file.valid ? colors.green("valid") : colors.red("not valid");
    return `${label(file.file)} ${colors.dim(`(${file.format}, ${count})`)} ${mark}`;
  });
  output.print([...parts, ...(summary.length === 0 ? [] : [summary.join("\n")])].join("\n\n"));
  return valid ? 0 : 1;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
