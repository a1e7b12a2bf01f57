// Reference syntax of each client: parsed into pieces, and written from them.

import { escapeReferences, formatReference, isReferenceName, type Reference } from "../../../model/index.ts";
import { expandHome, type ReadContext } from "../known/context.ts";
import { joinPieces, parsePieces, type Piece } from "./pieces.ts";
import type { ClientId } from "../types.ts";

/** Parses the forms that the client expands; everything else stays text. */
type ReadSyntax = (text: string, context: ReadContext) => Piece[];

/** One reference in the client's syntax, or undefined if the client cannot write it. */
type WriteReference = (reference: Reference) => string | undefined;

export interface Syntax {
  readonly read: ReadSyntax;
  readonly write: WriteReference;
  /** Escapes literal text, if the client needs that. */
  readonly writeText?: (text: string) => string;
  /** Whether references may have defaults, and whether the client stores secrets. */
  readonly defaults: boolean;
  readonly secrets: boolean;
}

const NO_REFERENCES: Syntax = {
  read: (text) => [text],
  write: () => undefined,
  defaults: false,
  secrets: false,
};

/** `${NAME}` and `${NAME:-default}`. */
const SHELL_LIKE: Pick<Syntax, "write" | "defaults" | "secrets"> = {
  write: (reference) =>
    reference.kind === "file" ? undefined : formatReference({ ...reference, kind: "any" }),
  defaults: true,
  secrets: false,
};

const CLAUDE_CODE: Syntax = {
  ...SHELL_LIKE,
  read: (text, context) =>
    readWith(text, /\$\{([^{}:]+)(?::-([^}]*))?\}/g, (name = "", fallback) =>
      name === "CLAUDE_PROJECT_DIR" ? context.workspace : named("any", name, fallback),
    ),
};

const GEMINI: Syntax = {
  ...SHELL_LIKE,
  read: (text, { platform }) =>
    readWith(
      text,
      platform === "win32"
        ? /\$(?:([A-Za-z_]\w*)|\{([^{}:]+)(?::-([^}]*))?\})|%([A-Za-z_]\w*)%/g
        : /\$(?:([A-Za-z_]\w*)|\{([^{}:]+)(?::-([^}]*))?\})/g,
      (bare, braced, fallback, percent) => named("any", bare ?? braced ?? percent ?? "", fallback),
    ),
};

const CURSOR: Syntax = {
  read: (text, context) =>
    readWith(text, /\$\{([^{}]+)\}/g, (body = "") => predefined(body, context) ?? environment(body)),
  write: ({ kind, name }) => (kind === "file" ? undefined : `\${env:${name}}`),
  defaults: false,
  secrets: false,
};

const VSCODE: Syntax = {
  ...CURSOR,
  read: (text, context) =>
    readWith(text, /\$\{([^{}]+)\}/g, (body = "") =>
      body.startsWith("input:")
        ? named("secret", body.slice("input:".length))
        : (predefined(body, context) ?? environment(body)),
    ),
  write: (reference) =>
    reference.kind === "secret" ? `\${input:${reference.name}}` : CURSOR.write(reference),
  secrets: true,
};

const WINDSURF: Syntax = {
  ...CURSOR,
  read: (text, context) =>
    readWith(text, /\$\{([^{}]+)\}/g, (body = "") =>
      body.startsWith("file:") ? file(body.slice("file:".length), context) : environment(body),
    ),
  write: (reference) => (reference.kind === "file" ? formatReference(reference) : CURSOR.write(reference)),
};

const OPENCODE: Syntax = {
  read: (text, context) =>
    readWith(text, /\{(env|file):([^{}]+)\}/g, (kind, name = "") =>
      kind === "file" ? file(name, context) : named("env", name),
    ),
  write: ({ kind, name }) => (kind === "file" ? `{file:${name}}` : `{env:${name}}`),
  defaults: false,
  secrets: false,
};

export const SYNTAXES: Readonly<Record<ClientId, Syntax>> = {
  "claude-code": CLAUDE_CODE,
  "claude-desktop": NO_REFERENCES,
  cursor: CURSOR,
  windsurf: WINDSURF,
  vscode: VSCODE,
  codex: NO_REFERENCES,
  gemini: GEMINI,
  opencode: OPENCODE,
  // Only Portolan reads this list, so it has Portolan's own syntax.
  axle: {
    read: (text) => parsePieces(text),
    write: formatReference,
    writeText: escapeReferences,
    defaults: true,
    secrets: true,
  },
};

/** Replaces matches that have a meaning; everything else stays text. */
function readWith(
  text: string,
  pattern: RegExp,
  meaning: (...groups: (string | undefined)[]) => Piece | undefined,
): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    const found = meaning(...match.slice(1));
    if (found === undefined) continue;
    pieces.push(text.slice(at, match.index), found);
    at = match.index + match[0].length;
  }
  pieces.push(text.slice(at));
  return joinPieces(pieces);
}

function named(kind: "any" | "env" | "secret", name: string, fallback?: string): Reference | undefined {
  if (!isReferenceName(name)) return undefined;
  return { kind, name, fallback };
}

function environment(body: string): Reference | undefined {
  return body.startsWith("env:") ? named("env", body.slice("env:".length)) : undefined;
}

/** The path is made absolute, because it is relative to the config file. */
function file(path: string, context: ReadContext): Reference | undefined {
  const whole = context.path.resolve(context.path.dirname(context.file), expandHome(path, context));
  return /[\0\r\n}]/.test(whole) ? undefined : { kind: "file", name: whole };
}

/** Variables that editors define. In a user's file, the workspace is the working folder. */
function predefined(body: string, { workspace, home, path, cwd }: ReadContext): string | undefined {
  switch (body.replace(/^(workspaceFolder(?:Basename)?):.*/s, "$1")) {
    case "workspaceFolder":
    case "workspaceRoot":
      return workspace;
    case "workspaceFolderBasename":
      return path.basename(workspace);
    case "userHome":
      return home;
    case "cwd":
      return cwd;
    case "pathSeparator":
    case "/":
      return path.sep;
    default:
      return undefined;
  }
}
