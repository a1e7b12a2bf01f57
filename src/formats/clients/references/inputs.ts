// `inputs` of VS Code: values that it prompts for. In Portolan each is a secret of the same name.

import { didYouMean } from "../../../errors/index.ts";
import { isObject, isReferenceName } from "../../../model/index.ts";
import type { ReportAt } from "../entries/entry-reader.ts";
import type { FoundEntry } from "../entries/read-servers.ts";
import type { Path } from "../types.ts";
import { valueAt } from "../../document/edit/index.ts";

/** One entry of `inputs` that Portolan writes. */
export interface PromptInput {
  readonly type: "promptString";
  readonly id: string;
  readonly description: string;
  readonly password: true;
}

export function toInput(id: string): PromptInput {
  return { type: "promptString", id, description: id, password: true };
}

/** The identifiers that a file declares. */
export function declaredInputs(value: unknown): string[] {
  const inputs = valueAt(value, ["inputs"]) ?? valueAt(value, ["mcp", "inputs"]);
  if (!Array.isArray(inputs)) return [];
  return inputs.flatMap((input: unknown) =>
    isObject(input) && typeof input["id"] === "string" ? [input["id"]] : [],
  );
}

const INPUT = /\$\{input:([^{}]+)\}/g;

/** The identifiers that any texts of a value refer to. */
export function inputsIn(value: unknown): string[] {
  const found = textsIn(value, []).flatMap(({ text }) => [...text.matchAll(INPUT)].map(([, id = ""]) => id));
  return [...new Set(found)];
}

export function checkInputs(value: unknown, entries: readonly FoundEntry[], report: ReportAt): void {
  const declared = declaredInputs(value);
  for (const { raw, path, alias } of entries) {
    for (const { text, at } of textsIn(raw, path)) {
      for (const [, id = ""] of text.matchAll(INPUT)) {
        if (!isReferenceName(id))
          report(at, {
            severity: "error",
            server: alias,
            message: "the id of an input is not a valid name of a secret",
            hint: "Use letters, digits, _, . and -, with a letter or _ first.",
          });
        else if (!declared.includes(id))
          report(at, {
            severity: "warning",
            server: alias,
            message: `there is no input called ${JSON.stringify(id)}`,
            hint: didYouMean(id, declared) ?? "Add it to inputs.",
          });
      }
    }
  }
}

function textsIn(value: unknown, at: Path): { text: string; at: Path }[] {
  if (typeof value === "string") return [{ text: value, at }];
  if (Array.isArray(value)) return value.flatMap((item: unknown, index) => textsIn(item, [...at, index]));
  return isObject(value) ? Object.entries(value).flatMap(([key, item]) => textsIn(item, [...at, key])) : [];
}
