// Shell scripts of an mcpfile: values are assigned to variables, quoted, before the script, so that a shell never reads a value as code.

import { PortolanError } from "../../errors/index.ts";
import type { CliInvocation, CliPart, JsonSchema } from "../../model/index.ts";
import { replaceVariables } from "../env-references.ts";
import { asText, fillPlaceholder, refuseNul, describePlaceholder } from "../values.ts";
import { refuseDash, schemaAt } from "./option-guard.ts";
import { type Quotes, QuoteScanner } from "./shell-quotes.ts";
import { type Filling, fillVariable } from "./words.ts";

type Script = NonNullable<CliInvocation["shell"]>["script"];
type ScriptPlaceholder = Exclude<CliPart, { kind: "text" }>;
type Prepared =
  | string
  | { readonly placeholder: ScriptPlaceholder; readonly quotes: Quotes; readonly atWordStart: boolean };

export interface ShellScript {
  fill(run: Filling): string;
}

/** Secrets and variables of the server are passed as values too, since a secret must not be read as code either. */
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
    const part = given.kind === "variable" ? replaceVariables(given, env) : given;
    const { quotes, atWordStart } = scanner;
    const problem = findProblem(scanner, part, schema);
    if (problem !== undefined) throw new PortolanError("FILE_INVALID", problem);
    scanner.placeholder();
    return { placeholder: part, quotes, atWordStart };
  });
  if (!scanner.balanced && prepared.some((piece) => typeof piece !== "string"))
    throw new PortolanError(
      "FILE_INVALID",
      'the shell script in "command" has a quote, a parenthesis or a backtick that is not closed',
    );
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
      // The options belong on the last line, and a YAML block ends with a line break.
      const body = options === "" ? code.join("") : code.join("").trimEnd() + options;
      const assigned = values.map((value, index) => `portolan_${index + 1}=${quoteForShell(value)}\n`);
      return assigned.join("") + body;
    },
  };
}

/** Describes why a value must not stand at the current place of the script; undefined if it may. */
function findProblem(
  scanner: QuoteScanner,
  placeholder: ScriptPlaceholder,
  schema: JsonSchema,
): string | undefined {
  if (scanner.quotes === "here-quoted")
    return "a placeholder cannot be in a here-document whose delimiter is quoted; remove the quotes of the delimiter";
  if (scanner.escaping) return "a backslash cannot be directly before a placeholder";
  const of = placeholder.kind === "input" ? schemaAt(schema, placeholder.path) : undefined;
  const chosen = placeholder.kind === "env" || of?.const !== undefined || Array.isArray(of?.enum);
  if (scanner.atCommand && placeholder.kind !== "variable" && !chosen)
    return "a placeholder cannot be the name of a program in a script, unless its argument has an enum";
  if (scanner.inArithmetic && of?.type !== "integer" && of?.type !== "number")
    return "only an argument of type integer or number can be part of arithmetic in a script";
  return undefined;
}

/** POSIX quoting: within single quotes only the single quote is special. */
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

/** The texts that fill a placeholder, one per word. */
function textsOf(
  { placeholder, atWordStart }: Exclude<Prepared, string>,
  env: ReadonlyMap<string, string>,
  schema: JsonSchema,
  run: Filling,
): string[] {
  // fillVariable() has already checked the words of a format.
  if (placeholder.kind === "variable") return fillVariable(placeholder.variable, schema, run);
  if (placeholder.kind === "env") return [env.get(placeholder.name) ?? ""];
  const value = fillPlaceholder(placeholder, run);
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : [value]).map((item) => {
    const text = refuseNul(asText(item), describePlaceholder(placeholder));
    if (atWordStart && typeof item === "string")
      refuseDash(text, placeholder.kind === "input" ? placeholder.path : undefined, schema);
    return text;
  });
}
