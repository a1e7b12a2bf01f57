// Describes secrets for a terminal: names, sources and states, never a value.

import type { SourceName, SourceStatus } from "../../secrets/index.ts";
import type { Colors } from "../terminal/colors.ts";
import { displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { isWithheld, type SecretNeed } from "./needs.ts";

export interface SourceCheck extends SourceStatus {
  readonly source: SourceName;
}

/** The output of `secrets check --json`. */
export interface SecretsCheck {
  readonly ok: boolean;
  readonly sources: readonly SourceCheck[];
  readonly needs: readonly SecretNeed[];
}

/** The hint for a source that does not work. */
export function adviceFor({ source, ok, hint }: SourceStatus & { source: SourceName }): { hint?: string } {
  if (ok) return {};
  switch (source) {
    case "keyring":
      return { hint: "No action needed: Portolan uses the vault instead." };
    case "vault":
      // The error of the vault has the hint for its cause.
      return { hint };
    case "dotenv":
      return { hint: "Correct the .env file, or remove env_file from portolan.yaml." };
    case "environment":
    case "program":
      return {};
  }
}

export function describeNames(
  secrets: readonly { readonly name: string; readonly source: SourceName }[],
  colors: Colors,
  width: number | undefined,
): string {
  if (secrets.length === 0)
    return wrap("There are no secrets yet. Set one: portolan secrets set <NAME>", width);
  const sources = new Map<string, SourceName[]>();
  for (const { name, source } of secrets) sources.set(name, [...(sources.get(name) ?? []), source]);
  const rows = [...sources].map(([name, places]) => ({ name: plainLine(name, 256), places }));
  const column = columnOf(rows.map(({ name }) => name));
  return rows
    .map(({ name, places: [first = "", ...rest] }) => {
      const hidden = rest.length === 0 ? "" : `, then ${rest.join(", ")}`;
      return `${colors.cyan(pad(name, column))}  ${colors.dim(`${first}${hidden}`)}`;
    })
    .join("\n");
}

export function describeCheck(
  { sources, needs }: SecretsCheck,
  colors: Colors,
  width: number | undefined,
): string {
  const column = Math.max(...sources.map(({ source }) => source.length));
  const indent = column + 4;
  const below = (text: string): string =>
    wrap(text, width === undefined ? undefined : Math.max(20, width - indent)).replaceAll(
      "\n",
      `\n${" ".repeat(indent)}`,
    );
  const lines = [`${colors.bold("Sources")} ${colors.dim("(searched in this order)")}`];
  for (const { source, ok, note, hint } of sources) {
    const mark = ok ? colors.green("✓") : source === "keyring" ? colors.yellow("-") : colors.red("✗");
    lines.push(`${mark} ${source.padEnd(column)}  ${below(plainLine(note, 500))}`);
    if (hint !== undefined) lines.push(`${" ".repeat(indent)}${colors.dim(below(hint))}`);
  }
  if (needs.length > 0) lines.push("", colors.bold("Needed by this workspace"));
  const names = columnOf(needs.map(({ name }) => plainLine(name, 256)));
  for (const need of needs) lines.push(describeNeed(need, names, colors, width));
  const missing = needs.filter(({ state, kind }) => state === "missing" && kind === "name");
  if (missing.length > 0)
    lines.push(
      "",
      wrap(
        `Set the missing values, for example: portolan secrets set ${plainLine(missing[0]?.name, 256)}`,
        width,
      ),
    );
  return lines.join("\n");
}

function describeNeed(need: SecretNeed, column: number, colors: Colors, width: number | undefined): string {
  const { kind, state, source, neededBy } = need;
  const mark = {
    set: isWithheld(need) ? colors.red("✗") : colors.green("✓"),
    default: colors.dim("="),
    missing: colors.red("✗"),
    unknown: colors.yellow("?"),
  }[state];
  const why = {
    set: kind === "file" ? "the file exists" : `in the ${source ?? "store"}`,
    default: "not set; the default in the config file is used",
    missing: {
      name: "not set",
      env: "not set in the environment",
      file: "there is no such file, or it cannot be read",
    }[kind],
    unknown: "unknown, because a source above does not work",
  }[state];
  const places = neededBy.map(({ server, where }) => `${plainLine(server, 80)} (${plainLine(where, 80)})`);
  const withheld = describeWithheld(need);
  const text = [`${why}; needed by ${places.join(", ")}`, ...withheld].join("; ");
  const name = plainLine(need.name, 256);
  const indent = Math.max(column, displayWidth(name)) + 4;
  const room = width === undefined ? undefined : Math.max(20, width - indent);
  const shown = wrap(text, room).replaceAll("\n", `\n${" ".repeat(indent)}`);
  return `${mark} ${colors.cyan(pad(name, column))}  ${shown}`;
}

/** The contracts for which a driver may not use the secret. */
function describeWithheld({ grants = [] }: SecretNeed): string[] {
  return grants.flatMap(({ driver, contract, granted, reason }) => {
    if (granted) return [];
    const what = contract === undefined ? "" : ` for ${plainLine(contract, 80)}`;
    return [`not granted to ${plainLine(driver, 80)}${what}: ${plainLine(reason, 200)}`];
  });
}

function columnOf(names: readonly string[]): number {
  return Math.min(64, Math.max(0, ...names.map((name) => displayWidth(name))));
}

function pad(text: string, column: number): string {
  return text + " ".repeat(Math.max(0, column - displayWidth(text)));
}
