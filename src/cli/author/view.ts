// Output of `portolan author`, as text and as JSON.

import { basename } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { DriverServer } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { describeDiagnostic } from "../output/diagnostic.ts";
import { endpointLabel } from "../output/endpoint-label.ts";
import type { Colors } from "../terminal/colors.ts";
import { displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import type { Draft } from "./draft.ts";
import type { ProposedFile } from "./files.ts";
import type { Identified } from "./identify.ts";

interface Shown extends Omit<Draft, "files"> {
  readonly id: string;
  readonly identified: Identified;
  readonly files: readonly ProposedFile[];
  readonly written: boolean;
  /** The driver fits its server, but conflicts with the rest of the workspace. */
  readonly clashes: boolean;
}

export function draftJson({ id, identified, tools, files, diagnostics, left, written }: Shown): object {
  return {
    id,
    kind: identified.server.kind,
    transport: identified.transport,
    tools: tools.map(({ tool, contract, isNew, binding }) => ({
      tool,
      contract,
      new: isNew,
      argument_mapping: binding.argumentMapping ?? {},
      result_extract: binding.resultExtract ?? "$",
    })),
    written,
    files: files.map(({ path, text, state, proposal }) => ({
      file: path,
      state,
      proposal,
      text: written ? undefined : text,
    })),
    diagnostics,
    left: [...left, ...(written ? keptNotes(files) : [])],
  };
}

export function describeDraft(shown: Shown, { io, output }: Cli): string {
  const { id, identified, tools, files, diagnostics, left, written, clashes } = shown;
  const { colors, width } = output;
  const label = pathLabeller(io);
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : [`${colors.bold(title)}\n${lines.join("\n")}`];
  const broken = diagnostics.some(({ severity }) => severity === "error");
  const bindings = bindingLines(tools, colors, width);
  const states = {
    written: colors.green("written"),
    unchanged: colors.dim("unchanged"),
    kept: colors.yellow("not overwritten"),
    proposed: colors.yellow("proposed"),
  };
  const fileLines = files.map(({ path, state, proposal }) => {
    if (state === "proposed") return wrap(`  ${states[state]} ${label(proposal ?? path)}`, width, 4);
    const beside = proposal === undefined ? "" : `, the proposal is in ${label(proposal)}`;
    return wrap(`  ${states[state]} ${label(path)}${beside}`, width, 4);
  });
  const texts = files.map(
    ({ path, text }) => `${colors.dim(`# ${label(path)}`)}\n${plainText(text).trimEnd()}`,
  );
  // `portolan test` fails without examples. A new contract has one only if a sample was recorded.
  const isTestable = tools.some(({ isNew }) => !isNew) || files.some(({ text }) => /^examples:/m.test(text));
  const reported = diagnostics.filter(({ severity }: Diagnostic) => severity !== "info");
  return [
    wrap(
      `${colors.bold(id)} ${colors.dim(`(${identified.server.kind}, ${identified.transport})`)} ${plainLine(endpointWords(identified.server), 200)}`,
      width,
      2,
    ),
    ...section("Tools and contracts", bindings),
    ...(written || broken ? [] : texts),
    ...section(
      "Diagnostics",
      reported.map((one) => describeDiagnostic(one, { colors, width, label })),
    ),
    ...(written ? section("Files", fileLines) : []),
    ...section(
      "Left to decide",
      [...left, ...(written ? keptNotes(files) : [])].map((line) =>
        wrap(`  - ${plainLine(line, 500)}`, width),
      ),
    ),
    ...(written
      ? section("Next", [
          `  portolan why ${shellWord(id)}`,
          isTestable
            ? `  portolan test ${shellWord(id)}`
            : `  portolan resolve ${shellWord(tools[0]?.contract ?? "<contract>")}`,
          `  portolan list contracts`,
        ])
      : [whyNot(broken, clashes)]),
  ].join("\n\n");
}

function whyNot(broken: boolean, clashes: boolean): string {
  if (clashes) return "Nothing was written: the workspace would have errors with this driver.";
  return broken ? "Nothing was written: the driver has the errors above." : "Nothing was written.";
}

/** In columns if the terminal is wide enough. */
function bindingLines(tools: Draft["tools"], colors: Colors, width: number | undefined): string[] {
  const rows = tools.map(({ tool, contract, isNew, binding }) => {
    const { argumentMapping = {}, resultExtract = "$" } = binding;
    const renamed = Object.entries(argumentMapping).map(([from, to]) => `input ${from} as argument ${to}`);
    const more = [
      isNew ? "new contract" : "existing contract",
      ...renamed,
      ...(resultExtract === "$" ? [] : [`output from ${resultExtract}`]),
    ];
    return { name: plainLine(tool, 60), rest: `→ ${contract} ${colors.dim(`(${more.join(", ")})`)}` };
  });
  const column = Math.max(...rows.map(({ name }) => displayWidth(name)));
  const longest = Math.max(...rows.map(({ rest }) => displayWidth(rest))) + column + 3;
  const padded = width === undefined || longest <= width ? column : 0;
  return rows.map(({ name, rest }) => wrap(`  ${name.padEnd(padded)} ${rest}`, width, 4));
}

function keptNotes(files: readonly ProposedFile[]): string[] {
  return files.flatMap(({ path, proposal, state }) => {
    if (state !== "kept" || proposal === undefined) return [];
    const kept = `${path} exists with other content and was not changed.`;
    // portolan diff compares drivers and contracts only.
    return basename(path) === "SECRETS.md"
      ? [`${kept} Copy the entries that are only in the proposal ${proposal} into this file.`]
      : [
          `${kept} To use the proposal, replace the file with the proposal. To compare the two files: portolan diff ${shellWord(path)} ${shellWord(proposal)}`,
        ];
  });
}

/** Short description of a driver's server, without secrets. */
function endpointWords(server: DriverServer): string {
  switch (server.kind) {
    case "remote":
      return endpointLabel({ transport: "http", url: server.url });
    case "npm":
      return endpointLabel({ transport: "stdio", command: server.package, args: server.args });
    case "docker":
      return endpointLabel({ transport: "stdio", command: server.image, args: server.args });
    case "binary":
      return endpointLabel({ transport: "stdio", command: server.path, args: server.args });
  }
}
