// The text of a description as plain values, within bounds; places are looked up later, for the few that a message names.

import { isObject } from "../../model/index.ts";
import { createLocator, MAX_BYTES, nodeAt, readJson, toPlain } from "../../formats/document/index.ts";
import type { Findings } from "./diagnostics.ts";
import { FORBIDDEN, SPEC_LIMITS, tooDeep, tooMany } from "../limits.ts";
import { findInJson } from "./locate-json.ts";
import { readYamlSpec } from "./read-yaml-spec.ts";
import { type Path, Unusable } from "../types.ts";

export type Locate = (paths: readonly Path[]) => { readonly line: number; readonly column: number }[];

export interface SpecText {
  readonly root: unknown;
  readonly locate: Locate;
}

/** Nothing when the text cannot be read; the findings say why. */
export function readSpec(text: string, file: string, findings: Findings): SpecText | undefined {
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const bytes = Buffer.byteLength(source);
  if (bytes > SPEC_LIMITS.bytes) {
    findings.error(
      [],
      `the file has ${bytes} bytes; a description of an API has at most ${SPEC_LIMITS.bytes}`,
    );
    return undefined;
  }
  try {
    const named = /\.jsonc?$/i.test(file);
    if (named || /^\s*[{[]/.test(source)) {
      const read =
        readStrictJson(source, findings) ?? (named ? readLooseJson(source, file, findings) : undefined);
      if (read !== undefined || named) return read;
    }
    return readYamlSpec(source, findings);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    findings.error([], thrown instanceof Unusable ? message : `the file cannot be read: ${message}`);
    return undefined;
  }
}

function readStrictJson(source: string, findings: Findings): SpecText | undefined {
  let root: unknown;
  try {
    root = JSON.parse(source);
  } catch {
    return undefined;
  }
  clean(root, findings);
  return {
    root,
    locate: (paths) => {
      const locate = createLocator(source);
      return findInJson(source, paths).map(locate);
    },
  };
}

/** With comments and trailing commas, or broken: then the reader of declarations says where. */
function readLooseJson(source: string, file: string, findings: Findings): SpecText | undefined {
  if (Buffer.byteLength(source) > MAX_BYTES) {
    findings.error([], "the file is not valid JSON");
    return undefined;
  }
  const { root, diagnostics } = readJson(source, file);
  findings.take(diagnostics);
  if (root === undefined) return undefined;
  const plain = toPlain(root);
  clean(plain, findings);
  const placeOf = (path: Path): { line: number; column: number } => {
    for (let length = path.length; length > 0; length -= 1) {
      const found = nodeAt(root, ...path.slice(0, length));
      if (found !== undefined) return { line: found.line, column: found.column };
    }
    return { line: root.line, column: root.column };
  };
  return { root: plain, locate: (paths) => paths.map(placeOf) };
}

/** Counts, measures depth, and takes out keys that no object can safely have. */
function clean(root: unknown, findings: Findings): void {
  let values = 0;
  const visit = (value: unknown, path: readonly (string | number)[]): void => {
    values += 1;
    if (values > SPEC_LIMITS.values) throw tooMany();
    if (path.length > SPEC_LIMITS.depth) throw tooDeep();
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, [...path, index]);
    } else if (isObject(value)) {
      for (const key of Object.keys(value)) {
        if (FORBIDDEN.has(key)) {
          delete value[key];
          findings.forbidden(key, [...path, key]);
        } else visit(value[key], [...path, key]);
      }
    }
  };
  visit(root, []);
}
