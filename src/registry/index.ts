// Public exports of the registry room: the store, the server, and the client of registries.

export { advisoriesFor } from "./catalog/advisory.ts";
export { type AdvisoryAction, type AssessedAdvisory, assessAdvisories } from "./catalog/advisory-policy.ts";
export { findLookAlikes, lookAlikeOf } from "./catalog/look-alike.ts";
export type { SearchResult } from "./catalog/search.ts";
export { fingerprintOf } from "./catalog/signed-index.ts";
export {
  type Advisory,
  type IndexPackage,
  type IndexVersion,
  type RegistryIndex,
  scopeOf,
} from "./catalog/types.ts";
export { resolveVersion, sortVersions } from "./catalog/versions.ts";
export {
  type FoundPackage,
  openRegistry,
  type RegistryClient,
  type RegistryOptions,
  type RegistrySettings,
} from "./client/client.ts";
export { hostedFileUrl, type HostedOptions, isHostedBy, readHostedDocument } from "./client/hosted.ts";
export { findOfficialServer, type OfficialServer, readOfficialServer } from "./client/official.ts";
export { isSameRegistry, tokenOfRegistry } from "./client/tokens.ts";
export { renewIndex, type RenewOptions } from "./client/renew-index.ts";
export { cachedAdvisories, defaultStateFolder } from "./client/cached-advisories.ts";
export { noRegistryFor, openRegistries, type Registries } from "./client/registries.ts";
export { REGISTRY_DEFAULTS, type RegistryServer, startRegistryServer } from "./server/server.ts";
export { openStore, type RegistryStore, type StoreOptions } from "./store/store.ts";
export { QUOTA_DEFAULTS } from "./store/quotas.ts";
export { openTokens } from "./store/tokens.ts";
export { layoutOf } from "./store/layout.ts";
