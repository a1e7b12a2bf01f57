// Settings of a workspace about packages: the registries they come from, and the policy that they must meet.

/** One registry, in the order in which registries are searched. */
export interface RegistrySetting {
  /** An http(s) URL, or the path of a folder with a copy of the registry. */
  readonly url: string;
  /** Packages of these scopes come only from registries that list them; no other packages come from this registry. */
  readonly scopes?: readonly string[];
  /** A secret reference such as `${REGISTRY_TOKEN}`. */
  readonly token?: string;
  /** The public key of the registry, if it is known beforehand. */
  readonly key?: string;
  /** `official`: the registry speaks only the official MCP registry API, whose index is not signed. */
  readonly api?: RegistryApi;
}

export type RegistryApi = "portolan" | "official";

export type AdvisorySeverity = "low" | "medium" | "high" | "critical";

/** The severity from which something happens; `never` if it never does. */
export type AdvisoryThreshold = AdvisorySeverity | "never";

export type PackageProof = "provenance" | "signature" | "audit";

/** Files that replace or extend what is trusted, relative to the folder of portolan.yaml. */
export interface TrustSettings {
  /** Certificates of bundle signers or their authorities, in PEM form. */
  readonly certificates?: readonly string[];
  /** trusted_root.json of another Sigstore than the public one. */
  readonly sigstoreRoot?: string;
  /** The keys of another npm registry than the public one. */
  readonly npmKeys?: string;
}

export interface PackagePolicy {
  /** The proofs that every package must have. */
  readonly require?: readonly PackageProof[];
  readonly trust?: TrustSettings;
  /** A version that was published more recently is refused. */
  readonly minReleaseAgeMs?: number;
  readonly advisories?: {
    readonly warn?: AdvisoryThreshold;
    readonly refuse?: AdvisoryThreshold;
    /** A start renews an index that was checked longer ago, in the background. */
    readonly maxAgeMs?: number;
  };
}

export const PACKAGE_POLICY_DEFAULTS = {
  advisories: { warn: "medium", refuse: "critical", maxAgeMs: 24 * 60 * 60 * 1000 },
} as const satisfies PackagePolicy;
