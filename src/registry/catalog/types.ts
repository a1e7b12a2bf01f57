// Types of a registry's index: the packages with their versions and tags, and the advisories.

/** `deprecated` versions can still be installed; `deleted` ones cannot, and their number is never used again. */
export type VersionStatus = "active" | "deprecated" | "deleted";

export interface IndexVersion {
  /** The hash of the version file, as SRI. The file is `versions/sha256-<hex>.json`. */
  readonly integrity: string;
  readonly status: VersionStatus;
  /** Why the version is deprecated or deleted. */
  readonly message?: string;
  readonly publishedAt: string;
  /** When the status last changed. */
  readonly changedAt?: string;
  /** Hashes of files of the package that this registry hosts, as SRI. The file is `files/<algorithm>-<hex>`. */
  readonly files?: readonly string[];
}

export interface IndexPackage {
  readonly description: string;
  readonly keywords: readonly string[];
  readonly author: string;
  readonly license?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly versions: Readonly<Record<string, IndexVersion>>;
}

export type Severity = "critical" | "high" | "medium" | "low";

/** A known vulnerability of one or several packages. */
export interface Advisory {
  readonly id: string;
  readonly title: string;
  readonly severity: Severity;
  readonly summary: string;
  readonly details?: string;
  readonly cwe?: readonly string[];
  /** The affected packages: ranges of versions, and beginnings of file hashes in hexadecimal. */
  readonly affected: Readonly<
    Record<string, { readonly versions?: readonly string[]; readonly hashes?: readonly string[] }>
  >;
  readonly patches?: string;
  readonly workarounds?: string;
  readonly references?: readonly string[];
  readonly reporter?: { readonly name: string; readonly url?: string };
  readonly published: string;
  readonly updated: string;
  readonly withdrawn?: string;
}

export interface RegistryIndex {
  readonly format: 1;
  /** Grows with every change, also when the index is only signed again. */
  readonly sequence: number;
  readonly issuedAt: string;
  /** A client refuses the index after this time: somebody may withhold newer ones. */
  readonly expiresAt: string;
  readonly packages: Readonly<Record<string, IndexPackage>>;
  readonly advisories: readonly Advisory[];
}

/** A scope is the part of a name before the slash, without @. */
export const NAME = /^@([a-z0-9][a-z0-9-]*)\/([a-z0-9][a-z0-9-]*)$/;
export const MAX_NAME = 214;

/** Returns undefined for a text that is not the name of a package. */
export function scopeOf(name: string): string | undefined {
  return name.length <= MAX_NAME ? NAME.exec(name)?.[1] : undefined;
}

/** When anything about a version last changed. */
export function updatedAt({ changedAt, publishedAt }: IndexVersion): string {
  return changedAt ?? publishedAt;
}
