// `portolan validate`: declarations of any format, checked.

import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { validateFiles } from "../../catalog/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { Cli } from "../connect.ts";
import { fileLabel } from "../file-label.ts";
import { describeFinding } from "../finding.ts";
import { readTexts } from "../read-texts.ts";
import { plainLine } from "../plain-text.ts";
import { computerOf, pathLabel, workspaceFolder } from "../workspace-folder.ts";

export async function validate(cli: Cli, paths: readonly string[]): Promise<number> {
  const { io, output, options } = cli;
  const { workspace } = options;
  const computer = computerOf(io, io.cwd);
  const wanted =
    paths.length === 0
      ? [workspaceFolder(io, workspace === undefined ? {} : { workspace })]
      : paths.map((path) => resolve(io.cwd, path));
  const checked = await validateFiles(wanted, { home: computer.home });
  const unbound = (await Promise.all(wanted.map((path) => bindingProblems(path, cli)))).flat();
  const wrong = new Set(unbound.flatMap(({ severity, file }) => (severity === "error" ? [file] : [])));
  const valid = checked.valid && wrong.size === 0;
  const files = checked.files.map((one) => ({ ...one, valid: one.valid && !wrong.has(one.file) }));
  const diagnostics = [...checked.diagnostics, ...unbound];
  if (output.form === "json") {
    output.json({ valid, files, diagnostics });
    return valid ? 0 : 1;
  }
  const label = (file: string): string => (file === io.cwd ? "." : pathLabel(file, computer));
  const { colors, width } = output;
  const textOf = readTexts();
  const parts = diagnostics.map((finding) => describeFinding(finding, { colors, width, label, textOf }));
  const summary = files.map((file) => {
    const mark = file.valid ? colors.green("valid") : colors.red("not valid");
    return `${label(file.file)} ${colors.dim(`(${plainLine(fileLabel(file, textOf(file.file)), 200)})`)} ${mark}`;
  });
  output.print([...parts, ...(summary.length === 0 ? [] : [summary.join("\n")])].join("\n\n"));
  return valid ? 0 : 1;
}

/** What can be told of drivers and their contracts without any server. */
async function bindingProblems(path: string, { io }: Cli): Promise<readonly Diagnostic[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return [];
  const { servers } = await io.loadCatalog(path, { home: computerOf(io, path).home });
  const endpoint = servers
    .map((server) => server.endpoint)
    .find(({ transport }) => transport === "contracts");
  if (endpoint?.transport !== "contracts") return [];
  const { checkDriver } = await import("../../contracts/index.ts");
  const { contracts, drivers, root } = endpoint;
  return drivers.flatMap(({ driver }) => checkDriver(driver, contracts, undefined, { root }).problems);
}
