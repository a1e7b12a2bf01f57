// `templateVariables`: how arguments of a call are written into a command.

import { didYouMean } from "../../../errors/index.ts";
import type { CliVariable, Template } from "../../../model/index.ts";
import { type Entry, nodeAt, quoted, type ScalarNode, type TextNode, toLabel } from "../../document/index.ts";
import { type Context, hint } from "./context.ts";
import type { Scope } from "./scope.ts";
import { splitWords, USE_SHELL } from "./split-words.ts";
import { type PlaceholderPiece, type Piece, readPieces, toPart, toTemplate } from "./template.ts";

/** By key. Those that are broken are told, and stand there without a value. */
export type Variables = ReadonlyMap<string, CliVariable | undefined>;

export function readVariables(
  cli: TextNode,
  used: ReadonlySet<string> | undefined,
  scope: Scope,
  context: Context,
): Variables {
  const map = nodeAt(cli, "templateVariables");
  const variables = new Map<string, CliVariable | undefined>();
  if (map?.kind !== "object") return variables;
  for (const entry of map.entries) {
    if (used?.has(entry.key) === false)
      context.diagnostics.add(
        entry,
        `the command has no placeholder ${quoted(`{${entry.key}}`)}`,
        hint(
          context.diagnostics,
          () => didYouMean(entry.key, used) ?? `Put {${entry.key}} into the command.`,
        ),
      );
    variables.set(entry.key, readVariable(entry, scope, context));
  }
  return variables;
}

function readVariable(entry: Entry, scope: Scope, context: Context): CliVariable | undefined {
  const { diagnostics } = context;
  const { value: node } = entry;
  const property = textAt(node, "property");
  const format = textAt(node, "format");
  const omitIfFalse = nodeAt(node, "omitIfFalse");
  // A broken `property` or `format` leaves nothing to check, and neither does a key without a placeholder that names no property.
  const isBroken = (key: string): boolean => diagnostics.hasErrorIn(nodeAt(node, key) ?? entry);
  if (node.kind !== "object" || isBroken("property") || (format !== undefined && isBroken("format")))
    return undefined;
  const pieces = format && readPieces(format, context);
  if (format !== undefined && pieces === undefined) return undefined;
  const placeholders = (pieces ?? []).filter((piece) => piece.kind === "placeholder");
  const inputs = placeholders.filter((placeholder) => isInput(placeholder, context));
  const [first, second] = [...new Map(inputs.map((placeholder) => [placeholder.name, placeholder])).values()];
  if (second !== undefined && format !== undefined) {
    diagnostics.add(
      context.within(format, second.at),
      `${toLabel(format.path)} has more than one placeholder: {${first?.name}} and {${second.name}}`,
      "A variable stands for one argument. Use a separate variable for each.",
    );
    return undefined;
  }
  const written = property === undefined ? undefined : String(property.value);
  // In 0.0.1 the placeholder is the argument whatever it is called; later the placeholder is what says which argument it is.
  const name = written ?? (context.version === "0.0.1" ? undefined : first?.name) ?? entry.key;
  const path = scope.find(name);
  if (path === undefined) {
    diagnostics.add(
      property ?? entry,
      `${quoted(name)} is not ${scope.what}`,
      hint(diagnostics, () => scope.hintFor(name)),
    );
    return undefined;
  }
  const words =
    format === undefined
      ? [[{ kind: "input", path } as const]]
      : toWords(format, pieces ?? [], path, scope, context);
  return (
    words && {
      path,
      format: words,
      omitIfFalse: omitIfFalse?.kind === "boolean" && omitIfFalse.value === true,
    }
  );
}

function toWords(
  format: ScalarNode,
  pieces: readonly Piece[],
  path: readonly string[],
  scope: Scope,
  context: Context,
): Template[] | undefined {
  const raw = splitWords(pieces, (at, message, usual) => {
    const help = usual === USE_SHELL ? "Quote it. No shell reads a format, even with shell: true." : usual;
    context.diagnostics.add(context.within(format, at), message, help);
    return undefined;
  });
  const words = raw?.map(({ parts }) =>
    toTemplate(parts, (placeholder) =>
      isInput(placeholder, context)
        ? ({ kind: "input", path } as const)
        : toPart(placeholder, format, scope, context),
    ),
  );
  return words?.every((word) => word !== undefined) === true ? words.map(orEmpty) : undefined;
}

/** `''` is a word too. */
export function orEmpty<Part>(parts: Part[]): (Part | { readonly kind: "text"; readonly text: string })[] {
  return parts.length === 0 ? [{ kind: "text", text: "" }] : parts;
}

/** True for a placeholder that stands for an argument, and not for a header or a variable of the environment. */
function isInput(placeholder: PlaceholderPiece, { version }: Context): boolean {
  return !placeholder.env && (version === "0.0.1" || !/^(?:headers|env)\./.test(placeholder.name));
}

function textAt(node: TextNode, key: string): ScalarNode | undefined {
  const found = nodeAt(node, key);
  return found?.kind === "string" ? found : undefined;
}
