// Public exports of the clients' files: reading, finding, writing them.

export { CLIENTS, type ClientInfo, type Computer, type UsualPlace } from "./known/clients.ts";
export { type FoundClientFile, findClientFiles } from "./known/find.ts";
export { type ImportedFile, importClients, type ImportOptions } from "./import.ts";
export { type ClientEntry, listEntries } from "./list-entries.ts";
export { findPlainSecrets, type PlainSecret, withSecretReferences } from "./entries/plain-secrets.ts";
export { parseClientFile } from "./parse.ts";
export {
  type EntryPlace,
  hasEntry,
  planReplacement,
  type Replacement,
  replaceServers,
  restoreServers,
  samePlace,
} from "./replace.ts";
export { type WriteOptions, writeClientFile, type WrittenFile } from "./save.ts";
export type {
  ClientContext,
  ClientFile,
  ClientFormat,
  ClientId,
  ClientServer,
  ExportNote,
  Scope,
  WritableServer,
  WrittenConfig,
} from "./types.ts";
export { mergeInto, renderFor } from "./write.ts";
export {
  type GrantKind,
  type Grants,
  grantIn,
  openDocument,
  readGrants,
  revokeIn,
  SANDBOX_PLACES,
  type SandboxEdit,
  type SandboxPlace,
  type SyntaxName,
  type TextDocument,
  VSCODE_PLACES,
} from "../document/edit/index.ts";
