// What became of the examples of a driver's contracts, as a table; reasons stand below their rows.

import type { DriverReport } from "../contracts/index.ts";
import type { Colors } from "./colors.ts";
import type { ExampleResult } from "./commands/test.ts";
import { displayWidth, wrap } from "./layout.ts";
import { plainLine } from "./plain-text.ts";

const GAP = "  ";

export function describeExamples(
  { id, version }: DriverReport,
  results: readonly ExampleResult[],
  none: string,
  { colors, width }: { readonly colors: Colors; readonly width: number | undefined },
): string {
  const head = colors.bold(`${id}@${version}`);
  if (results.length === 0) return `${head}\n${wrap(none, width)}`;
  const paints = { passed: colors.green, failed: colors.red, skipped: colors.yellow };
  const contracts = results.map(({ contract }) => plainLine(contract, 60));
  const column = Math.max(...contracts.map(displayWidth));
  const lines = results.flatMap(({ state, example, ms, reason }, index) => {
    const name = contracts[index] as string;
    const time = ms === undefined ? "" : ` ${colors.dim(`${ms} ms`)}`;
    const row = `${paints[state](state.padEnd(7))}${GAP}${name.padEnd(column)}${GAP}${plainLine(example, 80)}${time}`;
    return [row, ...(reason === undefined ? [] : [wrap(`    ${plainLine(reason, 1_000)}`, width)])];
  });
  const count = (state: ExampleResult["state"]): number =>
    results.filter((one) => one.state === state).length;
  const skipped = count("skipped") === 0 ? "" : `, ${count("skipped")} skipped`;
  const sum = `${count("passed")} of ${results.length} passed${skipped}.`;
  return [head, ...lines, "", sum].join("\n");
}
