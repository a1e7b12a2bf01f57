// Colours of Portolan's own output. Text from servers is never coloured.

import { styleText } from "node:util";

export type Paint = (text: string) => string;

export interface Colors {
  readonly enabled: boolean;
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
}

export function createColors(enabled: boolean): Colors {
  // `wantsColor` decides for each stream; Node would look at stdout only.
  const paint =
    (style: Exclude<keyof Colors, "enabled">): Paint =>
    (text) =>
      enabled ? styleText(style, text, { validateStream: false }) : text;
  return {
    enabled,
    bold: paint("bold"),
    dim: paint("dim"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
    cyan: paint("cyan"),
  };
}

/** True when a stream gets colour: `--no-color` decides first, then FORCE_COLOR, NO_COLOR, and whether it is a terminal. */
export function wantsColor(
  isTTY: boolean,
  env: Readonly<Record<string, string | undefined>>,
  flag = true,
): boolean {
  if (!flag) return false;
  const force = env["FORCE_COLOR"];
  if (force !== undefined) return force !== "0" && force !== "false";
  if (env["NO_COLOR"]) return false;
  return isTTY && env["TERM"] !== "dumb";
}
