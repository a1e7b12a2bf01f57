// Names with values, one below the other: the values in a column that fits the terminal.

import type { Colors, Paint } from "./colors.ts";
import { displayWidth, wrap } from "./layout.ts";

export interface Row {
  readonly name: string;
  /** Nothing is shown for an empty one. */
  readonly value: string;
  readonly paint?: Paint | undefined;
}

export function renderRows(
  rows: readonly Row[],
  { colors, width }: { readonly colors: Colors; readonly width: number | undefined },
): string {
  const shown = rows.filter(({ value }) => value !== "");
  const column = Math.max(...shown.map(({ name }) => displayWidth(name))) + 2;
  return shown
    .map(({ name, value, paint = (same) => same }) => {
      const wrapped = wrap(value, width === undefined ? undefined : width - column);
      const text = wrapped.replaceAll("\n", `\n${" ".repeat(column)}`);
      return `${colors.dim(name.padEnd(column))}${paint(text)}`;
    })
    .join("\n");
}
