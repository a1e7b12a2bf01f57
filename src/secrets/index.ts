// Public exports of the secrets room. Keyring and cryptography load with the first secret that needs them.

export type { Environment } from "./sources/environment.ts";
export type { PassphraseRequest, PromptPassphrase } from "./vault/passphrase.ts";
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
export { REDACTED, Secret } from "./secret.ts";
export { textsOf } from "./endpoint-texts.ts";
export type { CheckFile, SecretSource, SourceName, SourceStatus } from "./sources/source.ts";
export {
  createSecretStore,
  type FoundSecret,
  type SecretStore,
  type SecretStoreOptions,
  type WritableSource,
} from "./store.ts";
