// Where the files of a package come from, and what an installed package is.

import type { Progress } from "../../install/index.ts";

/** The files of a package for one platform. */
export interface PackageSource {
  readonly type: "npm" | "github" | "gist" | "binary";
  /** `npm:<package>@<version>`, or a URL. */
  readonly url: string;
  /** The hash of the file, as SRI. For npm it is the hash of the tarball. */
  readonly integrity: string;
  /** The size that the publisher declares, in bytes. */
  readonly size?: number;
  /** The program: a name, or a path in the package. */
  readonly executable: string;
  /** The interpreter of the program, if its file does not show it. */
  readonly runtime?: "node" | "python";
}

export interface PackageContext {
  readonly server?: string;
  /** The folder of the store. Default: the user's own. */
  readonly root?: string;
  /** URLs of further copies of a file, by its hash: a registry may host it. */
  readonly mirrors?: (integrity: string) => readonly string[];
  /** The bearer token for a URL of a file. It is called for each URL, and must return undefined for foreign hosts. */
  readonly token?: (url: string) => Promise<string | undefined>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Replaces this process's own environment: the settings of npm. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface InstalledPackage {
  readonly integrity: string;
  /** The folder that the program needs, to be granted read-only. */
  readonly folder: string;
  /** An absolute path, or the name of an interpreter on this machine. */
  readonly command: string;
  /** Arguments before the server's own. */
  readonly args: readonly string[];
}
