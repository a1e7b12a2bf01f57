// Changes in the text of a file of any format. The result is checked: only the wanted values have changed.

import { PortolanError } from "../../../errors/index.ts";
import { readDocument } from "./document.ts";
import { editJson } from "./json-edit.ts";
import { editToml } from "./toml-edit.ts";
import type { ClientFormat } from "../types.ts";
import { applyChange, type Change, sameValue } from "./values.ts";
import { editYaml } from "./yaml-edit.ts";

const EDITORS: Readonly<Record<ClientFormat, (text: string, change: Change) => string>> = {
  json: editJson,
  toml: editToml,
  yaml: editYaml,
};

/** Throws if the result has any other value than wanted, because no editor knows every way to write a file. */
export function editText(format: ClientFormat, text: string, changes: readonly Change[]): string {
  if (changes.length === 0) return text;
  const edited = changes.reduce((now, change) => EDITORS[format](now, change), text);
  const expected = changes.reduce(applyChange, readDocument(format, text).value);
  const { value, problems } = readDocument(format, edited);
  if (problems.length > 0 || !sameValue(value, expected))
    throw new PortolanError("NOT_SUPPORTED", "the file is written in a way that cannot be changed in place", {
      hint: "Put the snippet in by hand: portolan export --for prints it.",
    });
  return edited;
}
