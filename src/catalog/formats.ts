// Recognises the format of a config file and parses it. A format loads with the first file that needs it.

import { basename } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import type { ManifestInput, ManifestSettings, ServerDefaults } from "../formats/manifest/index.ts";
import type { BesideFile } from "../formats/mcpfile/index.ts";
import type {
  PlacedWord,
  ServerFields,
  WorkspaceInput,
  WorkspaceSettings,
} from "../formats/workspace/index.ts";
import type { ServerConfig, GatewaySettings } from "../model/index.ts";

/** The catalog imports formats only here, each with the first file that needs it. */
const formats = {
  text: () => import("../formats/document/index.ts"),
  manifest: () => import("../formats/manifest/index.ts"),
  workspace: () => import("../formats/workspace/index.ts"),
  clients: () => import("../formats/clients/index.ts"),
  mcpfile: () => import("../formats/mcpfile/index.ts"),
  driver: () => import("../formats/driver/index.ts"),
};

export const driverFormats = (): Promise<typeof import("../formats/driver/index.ts")> => formats.driver();

export type {
  BesideFile,
  ManifestInput,
  PlacedWord,
  ServerDefaults,
  ServerFields,
  WorkspaceInput,
  WorkspaceSettings,
};

export interface ParsedFile {
  readonly format: string;
  readonly servers: readonly ServerConfig[];
  readonly diagnostics: readonly Diagnostic[];
  /** Errors because of which only single tools of a server are left out. */
  readonly leftOut?: readonly Diagnostic[];
  readonly manifest?: ManifestSettings;
  readonly workspace?: WorkspaceSettings;
  /** True for a portolan.yaml without content, or with comments only. */
  readonly isEmpty?: boolean;
  /** Gateway settings of an mcpfile that is served by itself. */
  readonly gateway?: GatewaySettings;
}

/** Returns undefined for a text that is not the file of a client. */
export type ParseClientFile = (
  text: string,
  file: string,
  client?: undefined,
  context?: { readonly cwd?: string; readonly home?: string },
) =>
  | {
      readonly servers: readonly ServerConfig[];
      readonly diagnostics: readonly Diagnostic[];
      readonly client: string;
    }
  | undefined;

/** Context of a config file. The meaning of a client's file depends on the folder. */
export interface FormatContext {
  /** Folder of the workspace. */
  readonly folder?: string;
  readonly home?: string;
  readonly parseClientFile?: ParseClientFile;
  /** The mcpserver file beside an mcpfile. */
  readonly beside?: BesideFile;
}

/** Format of a file with a syntax error. */
export const UNKNOWN = "unknown";

export const KNOWN_FORMATS =
  "portolan.yaml, a bridge manifest (config.servers), an mcpfile (kind and schemaVersion, or mcpFileVersion), or the mcp.json of an editor or desktop app";

/** Parses a config file. Resolves to undefined for an unknown format. Never throws. */
export async function parseConfigFile(
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
  // Our own bounds are checked before the YAML library parses the text, because some texts crash the process in it.
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

/** Reads the fields of portolan.yaml or of a bridge manifest as a program passes them. Never throws. */
export async function parseValue(value: unknown, file: string): Promise<ParsedFile> {
  const { looksLikeManifest, readManifestValue } = await formats.manifest();
  if (looksLikeManifest(value)) {
    const { settings, servers, diagnostics } = readManifestValue(value, file);
    return { format: "manifest", servers, diagnostics, manifest: settings };
  }
  const { readWorkspaceValue } = await formats.workspace();
  const { settings, servers, diagnostics } = readWorkspaceValue(value, file);
  return { format: "workspace", servers, diagnostics, workspace: settings };
}

/** A text with a syntax error is most likely a manifest that is being edited. */
function looksLikeManifestText(text: string): boolean {
  return /^"?config"?\s*:/m.test(text) && /^\s+"?servers"?\s*:/m.test(text);
}

async function asMcpfile(text: string, file: string, beside?: BesideFile): Promise<ParsedFile> {
  const { readMcpfile } = await formats.mcpfile();
  return { format: "mcpfile", ...readMcpfile(text, file, beside) };
}

async function asWorkspace(text: string, file: string): Promise<ParsedFile> {
  const { parseWorkspace } = await formats.workspace();
  const { settings, servers, diagnostics, isEmpty } = parseWorkspace(text, file);
  return { format: "workspace", servers, diagnostics, workspace: settings, isEmpty };
}

async function asManifest(text: string, file: string): Promise<ParsedFile> {
  const { parseManifest } = await formats.manifest();
  const { settings, servers, diagnostics } = parseManifest(text, file);
  return { format: "manifest", servers, diagnostics, manifest: settings };
}
