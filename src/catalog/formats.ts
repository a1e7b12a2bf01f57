// Any declaration of any known format: which one it is, and what it declares. Formats load when a file needs them.

import { basename } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import type { ManifestSettings, ServerDefaults } from "../formats/manifest/index.ts";
import type { PlacedWord, WorkspaceSettings } from "../formats/workspace/index.ts";
import type { DeclaredServer } from "../model/index.ts";

/** The only door from here to the formats: each is loaded by the first file that needs it. */
const formats = {
  text: () => import("../formats/text/index.ts"),
  manifest: () => import("../formats/manifest/index.ts"),
  workspace: () => import("../formats/workspace/index.ts"),
  clients: () => import("../formats/clients/index.ts"),
};

export type { PlacedWord, ServerDefaults, WorkspaceSettings };

export interface ParsedFile {
  readonly format: string;
  readonly servers: readonly DeclaredServer[];
  readonly diagnostics: readonly Diagnostic[];
  readonly manifest?: ManifestSettings | undefined;
  readonly workspace?: WorkspaceSettings | undefined;
}

/** Nothing for a text that is not a client's file. */
export type ParseClientFile = (
  text: string,
  file: string,
) =>
  | {
      readonly servers: readonly DeclaredServer[];
      readonly diagnostics: readonly Diagnostic[];
      readonly client: string;
    }
  | undefined;

/** The format of a file whose syntax is broken. */
export const UNKNOWN = "unknown";

export const KNOWN_FORMATS =
  "portolan.yaml, a bridge manifest (config.servers), or the mcp.json of an editor or desktop app";

/** What the text declares, or nothing when it is no declaration that we know. Never throws. */
export async function parseDeclaration(
  text: string,
  file: string,
  parseClientFile?: ParseClientFile,
): Promise<ParsedFile | undefined> {
  if (/^portolan\.ya?ml$/i.test(basename(file))) return asWorkspace(text, file);
  const parseClient = parseClientFile ?? (await formats.clients()).parseClientFile;
  const asClient = (): ParsedFile | undefined => {
    const parsed = parseClient(text, file);
    if (parsed === undefined) return undefined;
    return { format: parsed.client, servers: parsed.servers, diagnostics: parsed.diagnostics };
  };
  if (/\.ya?ml$/i.test(file))
    return (await byContent(text, file)) ?? asClient() ?? (await broken(text, file));
  return asClient() ?? (await byContent(text, file)) ?? (await broken(text, file));
}

/** Our own formats, told by what the file says. */
async function byContent(text: string, file: string): Promise<ParsedFile | undefined> {
  const readable = /\.(ya?ml|jsonc?)$/i.test(file);
  // Most other files are told apart without a parser: both formats have this word in them.
  if (!readable || !/\b(servers|enabled_servers|sources|naming|defaults|env_file)\b/.test(text))
    return undefined;
  const { readText, toPlain } = await formats.text();
  const { looksLikeManifest } = await formats.manifest();
  const { root } = readText(text, file);
  if (root === undefined) return looksLikeManifestText(text) ? asManifest(text, file) : undefined;
  const value = toPlain(root);
  if (looksLikeManifest(value)) return asManifest(text, file);
  const { looksLikeWorkspace } = await formats.workspace();
  return /\.ya?ml$/i.test(file) && looksLikeWorkspace(value) ? asWorkspace(text, file) : undefined;
}

/** For texts whose syntax is broken: a manifest that was edited a moment ago, most likely. */
function looksLikeManifestText(text: string): boolean {
  return /^"?config"?\s*:/m.test(text) && /^\s+"?servers"?\s*:/m.test(text);
}

async function asWorkspace(text: string, file: string): Promise<ParsedFile> {
  const { parseWorkspace } = await formats.workspace();
  const { settings, servers, diagnostics } = parseWorkspace(text, file);
  return { format: "workspace", servers, diagnostics, workspace: settings };
}

async function asManifest(text: string, file: string): Promise<ParsedFile> {
  const { parseManifest } = await formats.manifest();
  const { settings, servers, diagnostics } = parseManifest(text, file);
  return { format: "manifest", servers, diagnostics, manifest: settings };
}

/** A file that cannot be told apart because its syntax is broken: that is what its writer has to know. */
async function broken(text: string, file: string): Promise<ParsedFile | undefined> {
  if (!/\.(ya?ml|jsonc?)$/i.test(file)) return undefined;
  const { readText } = await formats.text();
  const { root, diagnostics } = readText(text, file);
  return root === undefined ? { format: UNKNOWN, servers: [], diagnostics } : undefined;
}
