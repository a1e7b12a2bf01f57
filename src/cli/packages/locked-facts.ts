// Facts about an accepted version of a package, from its document in the store.

import { parseMcpbManifest } from "../../formats/mcpb/index.ts";
import { type LockedPackage, parseDocument, readDocument } from "../../packages/index.ts";
import { factsOfManifest, factsOfMetadata, type PackageFacts } from "./facts.ts";
import { lockedServerFacts } from "./official/facts.ts";

/** Undefined if the document is not on this machine. */
export async function lockedFacts(locked: LockedPackage): Promise<PackageFacts | undefined> {
  const { name, version, metadata, source } = locked;
  const bytes = metadata === undefined ? undefined : await readDocument(metadata);
  if (bytes === undefined) return undefined;
  const label = `${name}@${version}`;
  // Names of packages begin with @; of the others, only a server of the official registry names one.
  if (name.startsWith("@")) return factsOfMetadata(parseDocument(bytes, label));
  if (locked.registry !== undefined) return lockedServerFacts(bytes, label, source);
  const { manifest } = parseMcpbManifest(bytes.toString("utf8"), label);
  return manifest && factsOfManifest(manifest, source.slice("mcpb:".length));
}
