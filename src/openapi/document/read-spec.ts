// Reads the text of a description as plain values, within limits. Positions are looked up later, only for those in messages.

import { isObject } from "../../model/index.ts";
import { createLocator, MAX_BYTES, nodeAt, readJson, toPlain } from "../../formats/document/index.ts";
import type { SpecDiagnostics } from "./diagnostics.ts";
import { FORBIDDEN, SPEC_LIMITS, tooDeep, tooMany } from "../limits.ts";
import { findInJson } from "./locate-json.ts";
import { readYamlSpec } from "./read-yaml-spec.ts";
import { type Path, Unusable } from "../types.ts";

export type Locate = (paths: readonly Path[]) => { readonly line: number; readonly column: number }[];

export interface SpecText {
  readonly root: unknown;
  readonly locate: Locate;
}

/** Returns undefined if the text cannot be read; the reasons are among the diagnostics. */
export function readSpec(text: string, file: string, diagnostics: SpecDiagnostics): SpecText | undefined {
  const source = text.startsWith("\uFEFF") ? text.slice(1) : text;
  const bytes = Buffer.byteLength(source);
  if (bytes > SPEC_LIMITS.bytes) {
    diagnostics.error(
      [],
      `the file has ${bytes} bytes; an OpenAPI document can have at most ${SPEC_LIMITS.bytes}`,
    );
    return undefined;
  }
  try {
    const named = /\.jsonc?$/i.test(file);
    if (named || /^\s*[{[]/.test(source)) {
      const read =
        readStrictJson(source, diagnostics) ?? (named ? readLooseJson(source, file, diagnostics) : undefined);
      if (read !== undefined || named) return read;
    }
    return readYamlSpec(source, diagnostics);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    diagnostics.error([], thrown instanceof Unusable ? message : `the file cannot be read: ${message}`);
    return undefined;
  }
}

function readStrictJson(source: string, diagnostics: SpecDiagnostics): SpecText | undefined {
  let root: unknown;
  try {
    root = JSON.parse(source);
  } catch {
    return undefined;
  }
  clean(root, diagnostics);
  return {
    root,
    locate: (paths) => {
      const locate = createLocator(source);
      return findInJson(source, paths).map(locate);
    },
  };
}

/** With comments and trailing commas, or broken: then the reader of config files says where. */
function readLooseJson(source: string, file: string, diagnostics: SpecDiagnostics): SpecText | undefined {
  if (Buffer.byteLength(source) > MAX_BYTES) {
    diagnostics.error([], "the file is not valid JSON");
    return undefined;
  }
  const { root, diagnostics: ofReader } = readJson(source, file);
  diagnostics.take(ofReader);
  if (root === undefined) return undefined;
  const plain = toPlain(root);
  clean(plain, diagnostics);
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
function clean(root: unknown, diagnostics: SpecDiagnostics): void {
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
          diagnostics.forbidden(key, [...path, key]);
        } else visit(value[key], [...path, key]);
      }
    }
  };
  visit(root, []);
}
