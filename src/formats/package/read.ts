// Reads a package's metadata document: text in, metadata and diagnostics out.

import type { Diagnostic } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { Diagnostics, readText } from "../document/index.ts";
import { folderOf } from "../manifest/index.ts";
import { checkPackage, type LaterField, type PackageMode } from "./check.ts";
import { PACKAGE, type PackageValue } from "./schema.ts";

export interface PackageOptions {
  readonly mode: PackageMode;
  /** Permissions of services that this host knows beyond the usual ones. */
  readonly permissions?: readonly string[];
  /** Fields that are set later, so that their absence is no error. */
  readonly setLater?: readonly LaterField[];
  readonly now?: Date;
}

/** The metadata of a package without errors. */
export type PackageMetadata = Required<Omit<PackageValue, "$schema" | "requirements">> &
  Pick<PackageValue, "requirements">;

export interface PackageResult {
  /** The fields without errors. */
  readonly draft: PackageValue;
  /** Absent if the document has errors. */
  readonly metadata?: PackageMetadata;
  readonly diagnostics: readonly Diagnostic[];
}

export function parsePackage(text: string, file: string, options: PackageOptions): PackageResult {
  const { root, diagnostics: syntax } = readText(text, file);
  if (root === undefined) return { draft: {}, diagnostics: syntax };
  const { mode, permissions = [], setLater = [], now = new Date() } = options;
  const diagnostics = new Diagnostics(file, syntax);
  const draft = PACKAGE.read(root, { diagnostics, folder: folderOf(file) }) ?? {};
  checkPackage(draft, { root, diagnostics, mode, permissions, setLater, now });
  const isWhole = !diagnostics.hasErrorIn(root);
  return {
    draft,
    metadata: isWhole ? (draft as PackageMetadata) : undefined,
    diagnostics: diagnostics.sorted(),
  };
}

/** Recognizes a package's metadata by its type. */
export function looksLikePackage(value: unknown): boolean {
  return isObject(value) && value.type === "mcp-server" && isObject(value.source);
}
