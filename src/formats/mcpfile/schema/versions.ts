// Which version of the format a file is written in, and what that version has.

import { didYouMean } from "../../../errors/index.ts";
import {
  entryOf,
  nodeAt,
  type ObjectNode,
  type Diagnostics,
  quoted,
  type ScalarNode,
  type TextNode,
} from "../../document/index.ts";

/** Versions that differ only in what they added are read alike. */
export type Version = "0.0.1" | "0.1" | "0.2";

export type Detected =
  | { readonly kind: "tools"; readonly version: Version }
  | { readonly kind: "config"; readonly version: "0.2" };

export const FILE_VERSIONS: readonly string[] = ["0.0.1", "0.1.0", "0.1.1"];
export const SCHEMA_VERSIONS: readonly string[] = ["0.2.0", "0.2.1", "0.2.2", "0.2.3"];
export const KINDS = { tools: "MCPToolDefinitions", config: "MCPServerConfig" } as const;

const KNOWN = `Portolan supports mcpFileVersion ${FILE_VERSIONS.join(", ")}, and schemaVersion ${SCHEMA_VERSIONS.join(", ")} with kind ${KINDS.tools} or ${KINDS.config}.`;

/** Returns undefined if the version is missing or unknown; the reason is among the diagnostics. */
export function detectVersion(root: ObjectNode, diagnostics: Diagnostics): Detected | undefined {
  const kind = entryOf(root, "kind");
  const file = entryOf(root, "mcpFileVersion");
  const schema = entryOf(root, "schemaVersion");
  if (file !== undefined && kind === undefined) return byFileVersion(file.value, diagnostics);
  if (kind === undefined && schema === undefined) {
    diagnostics.add(
      root,
      "the version is missing: the file has neither kind and schemaVersion nor mcpFileVersion",
      `Write kind: ${KINDS.tools} and schemaVersion: "${SCHEMA_VERSIONS.at(-1)}". ${KNOWN}`,
    );
    return undefined;
  }
  return byKind(root, diagnostics);
}

function byFileVersion(node: TextNode, diagnostics: Diagnostics): Detected | undefined {
  const written = writtenText(node);
  if (written === "0.0.1") return { kind: "tools", version: "0.0.1" };
  if (written !== undefined && FILE_VERSIONS.includes(written)) return { kind: "tools", version: "0.1" };
  const later = written !== undefined && SCHEMA_VERSIONS.includes(written);
  const hint = later
    ? `From version 0.2.0 on, write kind: ${KINDS.tools} and schemaVersion: ${written} instead.`
    : KNOWN;
  diagnostics.add(node, notSupported("mcpFileVersion", written), hint);
  return undefined;
}

function byKind(root: ObjectNode, diagnostics: Diagnostics): Detected | undefined {
  const kind = nodeAt(root, "kind");
  const version = nodeAt(root, "schemaVersion") ?? nodeAt(root, "mcpFileVersion");
  const found = Object.entries(KINDS).find(([, name]) => name === writtenText(kind))?.[0];
  const written = writtenText(version);
  if (kind === undefined) diagnostics.add(root, "kind is missing", `Write kind: ${KINDS.tools}.`);
  else if (found === undefined) {
    const word = writtenText(kind) ?? "";
    diagnostics.add(
      kind,
      `kind ${quoted(word)} is not known`,
      didYouMean(word, Object.values(KINDS)) ?? KNOWN,
    );
  }
  if (version === undefined) diagnostics.add(root, "schemaVersion is missing", KNOWN);
  else if (written === undefined || !SCHEMA_VERSIONS.includes(written))
    diagnostics.add(version, notSupported("schemaVersion", written), KNOWN);
  else if (found === "tools" || found === "config") return { kind: found, version: "0.2" };
  return undefined;
}

/** `0.0.1` is text for YAML, and `0.1` a number: what counts is what stands there. */
function writtenText(node: TextNode | undefined): string | undefined {
  if (node === undefined || node.kind === "object" || node.kind === "list" || node.kind === "null")
    return undefined;
  return (node satisfies ScalarNode).source;
}

function notSupported(key: string, written: string | undefined): string {
  return written === undefined ? `${key} is not a version` : `${key} ${quoted(written)} is not supported`;
}
