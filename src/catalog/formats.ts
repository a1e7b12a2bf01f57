// Any declaration of any known format: which one it is, and what it declares. Formats load when a file needs them.

import { basename } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import type { ManifestSettings, ServerDefaults } from "../formats/manifest/index.ts";
import type { BesideFile } from "../formats/mcpfile/index.ts";
import type { PlacedWord, WorkspaceSettings } from "../formats/workspace/index.ts";
import type { DeclaredServer, GatewaySettings } from "../model/index.ts";

/** The only door from here to the formats: each is loaded by the first file that needs it. */
const formats = {
  text: () => import("../formats/document/index.ts"),
  manifest: () => import("../formats/manifest/index.ts"),
  workspace: () => import("../formats/workspace/index.ts"),
  clients: () => import("../formats/clients/index.ts"),
  mcpfile: () => import("../formats/mcpfile/index.ts"),
  driver: () => import("../formats/driver/index.ts"),
};

export const driverFormats = (): Promise<typeof import("../formats/driver/index.ts")> => formats.driver();

export type { BesideFile, PlacedWord, ServerDefaults, WorkspaceSettings };

export interface ParsedFile {
  readonly format: string;
  readonly servers: readonly DeclaredServer[];
  readonly diagnostics: readonly Diagnostic[];
  /** Errors that leave out single tools of a server, and nothing else. */
  readonly leftOut?: readonly Diagnostic[] | undefined;
  readonly manifest?: ManifestSettings | undefined;
  readonly workspace?: WorkspaceSettings | undefined;
  /** What a file that is no workspace says about being served by itself. */
  readonly gateway?: GatewaySettings | undefined;
}

/** Nothing for a text that is not a client's file. */
export type ParseClientFile = (
  text: string,
  file: string,
  client?: undefined,
  context?: { readonly cwd?: string | undefined; readonly home?: string | undefined },
) =>
  | {
      readonly servers: readonly DeclaredServer[];
      readonly diagnostics: readonly Diagnostic[];
      readonly client: string;
    }
  | undefined;

/** What a declaration is read for; clients' files mean different things in different folders. */
export interface FormatContext {
  /** The workspace's folder. */
  readonly folder?: string | undefined;
  readonly home?: string | undefined;
  readonly parseClientFile?: ParseClientFile | undefined;
  /** What says how an mcpfile is served. */
  readonly beside?: BesideFile | undefined;
}

/** The format of a file whose syntax is broken. */
export const UNKNOWN = "unknown";

export const KNOWN_FORMATS =
  "portolan.yaml, a bridge manifest (config.servers), an mcpfile (mcpFileVersion), or the mcp.json of an editor or desktop app";

/** What the text declares, or nothing when it is no declaration that we know. Never throws. */
export async function parseDeclaration(
  text: string,
  file: string,
  context: FormatContext = {},
): Promise<ParsedFile | undefined> {
  if (/^portolan\.ya?ml$/i.test(basename(file))) return asWorkspace(text, file);
  if (/mcpfile\.ya?ml$/i.test(file) && (await formats.mcpfile()).isMcpfileName(file))
    return asMcpfile(text, file, context.beside);
  const parseClient = async (): Promise<ParsedFile | undefined> => {
    const { folder: cwd, home } = context;
    const parse = context.parseClientFile ?? (await formats.clients()).parseClientFile;
    const parsed = parse(text, file, undefined, { cwd, home });
    return parsed && { format: parsed.client, servers: parsed.servers, diagnostics: parsed.diagnostics };
  };
  // YAML goes through our own bounds first: there are texts that end the process inside of the YAML library.
  if (/\.ya?ml$/i.test(file)) return parseByContent(text, file, parseClient);
  const client = await parseClient();
  return client ?? (/\.jsonc?$/i.test(file) ? parseByContent(text, file) : undefined);
}

async function parseByContent(
  text: string,
  file: string,
  otherwise?: () => Promise<ParsedFile | undefined>,
): Promise<ParsedFile | undefined> {
  const { readText, toPlain } = await formats.text();
  const { root, diagnostics } = readText(text, file);
  const { isMcpfile, looksLikeMcpfile } = await formats.mcpfile();
  if (root === undefined) {
    if (looksLikeManifestText(text)) return asManifest(text, file);
    return looksLikeMcpfile(text) ? asMcpfile(text, file) : { format: UNKNOWN, servers: [], diagnostics };
  }
  const value = toPlain(root);
  if (isMcpfile(value)) return asMcpfile(text, file);
  const { looksLikeManifest } = await formats.manifest();
  if (looksLikeManifest(value)) return asManifest(text, file);
  const { looksLikeWorkspace } = await formats.workspace();
  if (looksLikeWorkspace(value)) return asWorkspace(text, file);
  return otherwise?.();
}

/** For texts whose syntax is broken: a manifest that was edited a moment ago, most likely. */
function looksLikeManifestText(text: string): boolean {
  return /^"?config"?\s*:/m.test(text) && /^\s+"?servers"?\s*:/m.test(text);
}

async function asMcpfile(text: string, file: string, beside?: BesideFile): Promise<ParsedFile> {
  const { declareMcpfile } = await formats.mcpfile();
  return { format: "mcpfile", ...declareMcpfile(text, file, beside) };
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
