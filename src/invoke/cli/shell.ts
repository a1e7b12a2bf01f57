// Scripts for a shell. Values stand in front of the script, quoted, as variables; the script only names them, so that no value is ever read as code.

import { PortolanError } from "../../errors/index.ts";
import type { CliInvocation, CliPart, JsonSchema } from "../../model/index.ts";
import { putIn } from "../env.ts";
import { asText, fillGap, refuseNul, whatGap } from "../values.ts";
import { refuseDash, schemaAt } from "./dash.ts";
import { type Quotes, QuoteScanner } from "./shell-quotes.ts";
import { type Filling, fillVariable } from "./words.ts";

type Script = NonNullable<CliInvocation["shell"]>["script"];
type ScriptGap = Exclude<CliPart, { kind: "text" }>;
type Prepared = string | { readonly gap: ScriptGap; readonly quotes: Quotes; readonly atWordStart: boolean };

export interface ShellScript {
  fill(run: Filling): string;
}

/** Variables of the server are values too: what a secret holds is no code either. */
export function prepareScript(
  script: Script,
  env: ReadonlyMap<string, string>,
  schema: JsonSchema,
  unusedOptions: (run: Filling) => readonly string[],
): ShellScript {
  const scanner = new QuoteScanner();
  const prepared = script.map((given): Prepared => {
    if (given.kind === "text") {
      scanner.text(given.text);
      return given.text;
    }
    const part = given.kind === "variable" ? putIn(given, env) : given;
    const { quotes, atWordStart } = scanner;
    const problem = problemOf(scanner, part, schema);
    if (problem !== undefined) throw new PortolanError("DECLARATION_INVALID", problem);
    scanner.gap();
    return { gap: part, quotes, atWordStart };
  });
  if (!scanner.balanced && prepared.some((piece) => typeof piece !== "string"))
    throw new PortolanError("DECLARATION_INVALID", "the quotes of the script do not match");
  return {
    fill(run) {
      const values: string[] = [];
      const refer = (value: string): string => `\${portolan_${values.push(value)}}`;
      const code = prepared.map((piece) => {
        if (typeof piece === "string") return piece;
        return place(textsOf(piece, env, schema, run), piece.quotes, refer);
      });
      const options = unusedOptions(run)
        .map((word) => ` "${refer(word)}"`)
        .join("");
      // On the last line, which a block of YAML ends with a line break.
      const body = options === "" ? code.join("") : code.join("").trimEnd() + options;
      const assigned = values.map((value, index) => `portolan_${index + 1}=${quoteForShell(value)}\n`);
      return assigned.join("") + body;
    },
  };
}

/** Places where a value cannot be, or would be code. */
function problemOf(scanner: QuoteScanner, gap: ScriptGap, schema: JsonSchema): string | undefined {
  if (scanner.quotes === "here-quoted")
    return "a value cannot be put into a here-document whose end is quoted; take the quotes off its end";
  if (scanner.escaping) return "a backslash cannot stand in front of a value";
  const of = gap.kind === "input" ? schemaAt(schema, gap.path) : undefined;
  const chosen = gap.kind === "env" || of?.const !== undefined || Array.isArray(of?.enum);
  if (scanner.atCommand && gap.kind !== "variable" && !chosen)
    return "a value cannot be the program that a script runs, unless it has an enum";
  if (scanner.inArithmetic && of?.type !== "integer" && of?.type !== "number")
    return "only an argument of type integer or number can be part of arithmetic in a script";
  return undefined;
}

/** As POSIX has it: within single quotes nothing is special but the single quote. */
export function quoteForShell(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`;
}

function place(texts: readonly string[], quotes: Quotes, refer: (value: string) => string): string {
  if (texts.length === 0) return "";
  if (quotes === "none") return texts.map((text) => `"${refer(text)}"`).join(" ");
  const name = refer(texts.join(" "));
  if (quotes === "single") return `'"${name}"'`;
  return quotes === "ansi" ? `'"${name}"$'` : name;
}

/** One text per word that the gap stands for. */
function textsOf(
  { gap, atWordStart }: Exclude<Prepared, string>,
  env: ReadonlyMap<string, string>,
  schema: JsonSchema,
  run: Filling,
): string[] {
  // The words of a format are looked at where they are made.
  if (gap.kind === "variable") return fillVariable(gap.variable, schema, run);
  if (gap.kind === "env") return [env.get(gap.name) ?? ""];
  const value = fillGap(gap, run);
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map((item) => {
    const text = refuseNul(asText(item), whatGap(gap));
    if (atWordStart && typeof item === "string")
      refuseDash(text, gap.kind === "input" ? gap.path : undefined, schema);
    return text;
  });
}
