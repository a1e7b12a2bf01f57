// Public exports of changes in place: config files as text whose values can be changed without touching the rest.

import { JSON_SYNTAX } from "./json-edit.ts";
import { TextDocument } from "./text-document.ts";
import { TOML_SYNTAX } from "./toml-edit.ts";
import { YAML_SYNTAX } from "./yaml-edit.ts";

export {
  grantIn,
  type GrantKind,
  type Grants,
  readGrants,
  revokeIn,
  SANDBOX_PLACES,
  type SandboxEdit,
  type SandboxPlace,
  VSCODE_PLACES,
} from "./edit-sandbox.ts";
export { findLooseness } from "./json-parse.ts";
export { TextDocument } from "./text-document.ts";
export { applyChange, type Change, sameValue, valueAt } from "./values.ts";

export type SyntaxName = "json" | "toml" | "yaml";

const SYNTAXES = { json: JSON_SYNTAX, toml: TOML_SYNTAX, yaml: YAML_SYNTAX };

/** Never throws: a text with syntax errors is a document with problems. */
export function openDocument(syntax: SyntaxName, text: string): TextDocument {
  return new TextDocument(SYNTAXES[syntax], text);
}

/** A new text with this value. */
export function renderDocument(syntax: SyntaxName, value: Readonly<Record<string, unknown>>): string {
  return SYNTAXES[syntax].render(value);
}
