// One value of a client's file in Portolan's syntax, and back.

import { formatReference, type Reference } from "../../../model/index.ts";
import { type ReadContext, readContext } from "../known/context.ts";
import { formatPieces, joinPieces, parsePieces, type Piece } from "./pieces.ts";
import { SYNTAXES } from "./syntaxes.ts";
import type { ClientId } from "../types.ts";

/**
 * Place of a value. In a command and its arguments, a shell may expand `${NAME}`, so only the client's own syntax counts there.
 * Elsewhere, `${NAME}` is always a reference.
 */
export type ValuePlace = "argument" | "value";

export interface ReadValue {
  readonly text: string;
  /** References that the client itself does not expand. */
  readonly foreign: readonly string[];
  /** Variables that only the running editor knows. */
  readonly editorOnly: readonly string[];
  /** True if `$` is directly before a reference, which Portolan's syntax cannot express. */
  readonly ambiguous: boolean;
}

const EDITOR_ONLY =
  /\$\{((?:config|command|extensionInstallFolder):[^{}]*|file|fileWorkspaceFolder(?:Basename)?|relativeFile(?:Dirname)?|fileBasename(?:NoExtension)?|fileExtname|fileDirname(?:Basename)?|lineNumber|columnNumber|selectedText|execPath|defaultBuildTask)\}/g;

export function readValue(
  text: string,
  place: ValuePlace,
  client: ClientId,
  context: ReadContext,
): ReadValue {
  const foreign: string[] = [];
  const own = SYNTAXES[client].read(text, context);
  const editorOnly =
    client === "vscode" || client === "cursor"
      ? own.flatMap((piece) =>
          typeof piece === "string" ? [...piece.matchAll(EDITOR_ONLY)].map(([found]) => found) : [],
        )
      : [];
  const pieces =
    place === "argument" || client === "axle"
      ? own
      : joinPieces(own.flatMap((piece) => (typeof piece === "string" ? readForeign(piece) : [piece])));
  return {
    text: formatPieces(pieces),
    foreign,
    editorOnly,
    ambiguous: pieces.some(
      (piece, index) => typeof piece === "string" && piece.endsWith("$") && index < pieces.length - 1,
    ),
  };

  function readForeign(literal: string): Piece[] {
    const found: Piece[] = [];
    let at = 0;
    for (const match of literal.matchAll(/\$\{[^{}]+\}/g)) {
      const [reference] = parsePieces(match[0]);
      if (typeof reference !== "object" || editorOnly.includes(match[0])) continue;
      foreign.push(match[0]);
      found.push(literal.slice(at, match.index), reference);
      at = match.index + match[0].length;
    }
    return [...found, literal.slice(at)];
  }
}

const ANYWHERE: ReadContext = readContext("/file", { home: "/", cwd: "/", platform: "linux" });

export interface WrittenValue {
  readonly text: string;
  /** Losses and changes, each the end of a sentence that starts with the client's name. */
  readonly losses: readonly string[];
}

export function writeValue(text: string, place: ValuePlace, client: ClientId): WrittenValue {
  const { write, writeText = (literal: string) => literal, defaults, secrets } = SYNTAXES[client];
  const losses: string[] = [];
  const written = parsePieces(text).map((piece) => {
    if (typeof piece === "string") return writeText(piece);
    const found = write(piece);
    if (found === undefined) {
      losses.push(`does not expand ${formatReference(piece)} here, and uses it as literal text`);
      return formatReference(piece);
    }
    if (piece.fallback !== undefined && !defaults)
      losses.push(`does not support defaults: the default of ${piece.name} is left out`);
    if (piece.kind === "secret" && !secrets)
      losses.push(`has no secret store: set the environment variable ${piece.name} for this client`);
    return found;
  });
  const result = written.join("");
  if (losses.length === 0 && !isReadBack(text, result, place, client))
    losses.push("would replace a part of the value that must stay as it is");
  return { text: result, losses };
}

/** The name of the one variable that a value consists of, after an optional text before it. */
export function soleVariable(text: string, before = ""): Reference | undefined {
  const pieces = parsePieces(text);
  const last = pieces.at(-1);
  if (typeof last !== "object" || last.kind === "file" || last.fallback !== undefined) return undefined;
  const rest = pieces.slice(0, -1);
  return rest.every((piece) => typeof piece === "string") && rest.join("") === before ? last : undefined;
}

/** Ignores the kind of a reference, because clients have only one source. */
function isReadBack(text: string, written: string, place: ValuePlace, client: ClientId): boolean {
  const shape = (value: string): string =>
    JSON.stringify(
      parsePieces(value).map((piece) =>
        typeof piece === "string" ? piece : piece.kind === "file" ? ["file"] : [piece.name, piece.fallback],
      ),
    );
  return shape(readValue(written, place, client, ANYWHERE).text) === shape(text);
}
