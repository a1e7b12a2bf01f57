// Colours of Portolan's own output. Text from servers is never coloured.

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

const paint = (open: number, close: number, enabled: boolean): Paint =>
  enabled ? (text) => `\u001b[${open}m${text}\u001b[${close}m` : (text) => text;

export function createColors(enabled: boolean): Colors {
  return {
    enabled,
    bold: paint(1, 22, enabled),
    dim: paint(2, 22, enabled),
    red: paint(31, 39, enabled),
    green: paint(32, 39, enabled),
    yellow: paint(33, 39, enabled),
    cyan: paint(36, 39, enabled),
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
