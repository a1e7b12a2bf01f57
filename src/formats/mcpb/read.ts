// Reads the manifest.json of an MCPB bundle: text in, manifest and diagnostics out.

import type { Diagnostic } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { Diagnostics, readJson } from "../document/index.ts";
import { folderOf } from "../manifest/index.ts";
import { checkManifest } from "./check.ts";
import { MANIFEST, type ManifestValue } from "./schema.ts";

/** A manifest without errors. */
export type McpbManifest = ManifestValue &
  Required<Pick<ManifestValue, "name" | "version" | "description" | "author" | "server">>;

export interface McpbResult {
  /** The fields without errors. */
  readonly draft: ManifestValue;
  /** Absent if the manifest has errors. */
  readonly manifest?: McpbManifest;
  readonly diagnostics: readonly Diagnostic[];
}

/** `file` is the name for messages, such as `weather.mcpb/manifest.json`. */
export function parseMcpbManifest(content: string, file: string): McpbResult {
  const { root, diagnostics: syntax } = readJson(content, file);
  if (root === undefined) return { draft: {}, diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const draft = MANIFEST.read(root, { diagnostics, folder: folderOf(file) }) ?? {};
  if (root.kind === "object") checkManifest(draft, root, diagnostics);
  const isWhole = !diagnostics.hasErrorIn(root);
  return {
    draft,
    manifest: isWhole ? (draft as McpbManifest) : undefined,
    diagnostics: diagnostics.sorted(),
  };
}

/** Recognizes the manifest of a bundle among other JSON documents. */
export function looksLikeMcpbManifest(value: unknown): boolean {
  return (
    isObject(value) &&
    (typeof value.manifest_version === "string" || typeof value.dxt_version === "string") &&
    isObject(value.server)
  );
}
