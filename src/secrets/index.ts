// Public exports of the secrets room. Keyring and cryptography load with the first secret that needs them.

import type * as agentClient from "./agent/client.ts";
import type * as agentServer from "./agent/server.ts";

export type { Environment } from "./sources/environment.ts";
export type { VaultAgent } from "./agent/client.ts";
export type { UnlockedVault } from "./agent/messages.ts";
export type { RunningAgent } from "./agent/server.ts";
export type { PassphraseRequest, PromptPassphrase, TypedPassphrase } from "./vault/passphrase.ts";
export type { VaultKey } from "./vault/vault-key.ts";
export { withRedactedError } from "./redaction/redact-error.ts";
export { createRedactor, type Redactor } from "./redaction/redactor.ts";
export {
  type MissingSecret,
  type ResolvedEndpoint,
  resolveEndpoint,
  type ResolveOptions,
  type ResolveProblem,
  toSecretError,
  type UnresolvedEndpoint,
} from "./resolve.ts";
export type { SecretLookup } from "./sources/program.ts";
export { REDACTED, Secret } from "./secret.ts";
export { textsOf } from "./endpoint-texts.ts";
export { createKeyring, type Keyring } from "./sources/keyring.ts";
export type { CheckFile, SecretSource, SourceName, SourceStatus } from "./sources/source.ts";
export {
  createSecretStore,
  type FoundSecret,
  type SecretStore,
  type SecretStoreOptions,
  type WritableSource,
} from "./store.ts";

// Loaded on first use, because few programs need them.

export const createVaultAgent = async (
  ...args: Parameters<typeof agentClient.createVaultAgent>
): Promise<agentClient.VaultAgent> => (await import("./agent/client.ts")).createVaultAgent(...args);

export const serveVaultAgent: typeof agentServer.serveVaultAgent = async (...args) =>
  (await import("./agent/server.ts")).serveVaultAgent(...args);
