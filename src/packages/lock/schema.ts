// Schema of portolan.lock: for each server its package, its source and hash, its permissions, and the pins of its tools.

import {
  list,
  map,
  object,
  oneOf,
  oneOfNumbers,
  text,
  type Value,
} from "../../formats/schema-builder/index.ts";

const CAMEL = { keys: "camelCase" } as const;

const PROVENANCE = object(
  "Verified proof of origin of the package, as of its installation.",
  {
    kind: oneOf("Kind of proof.", ["npm-provenance", "npm-signature", "mcpb-signature"]).required(),
    signer: text("Identity of the signer: a repository and workflow, a key, or a certificate.").required(),
  },
  CAMEL,
);

const PACKAGE = object(
  "Package of the server.",
  {
    name: text("Name of the package.").required(),
    version: text("Exact version of the package.").required(),
    source: text(
      "Source of the package's files: the URL or npm package that its metadata names first.",
    ).required(),
    integrity: text("Hash of the source file, as SRI.").required(),
    metadata: text("Hash of the metadata document, as SRI. The document lists the files of all platforms."),
    registry: text("URL of the registry that listed the package."),
    dependencies: list(
      "npm packages that are installed with the package. Each item: path, version and hash, separated by spaces.",
      text("", {
        pattern: "^\\S+ \\S+ \\S+$",
        patternHint: "Write the place of the package, its version, and its hash.",
      }),
      { unique: true },
    ),
    contracts: list("Contracts that the driver of the package serves, with their versions.", text()),
    provenance: list("Verified proofs of origin.", PROVENANCE),
    permissions: list("Permissions that a person granted to the package.", text()),
    lockedAt: text("Time at which this version was accepted."),
  },
  CAMEL,
);

const SERVER = object(
  "Server of the workspace.",
  {
    package: PACKAGE,
    tools: list(
      "Pins: the approved definition of each tool. Each item: name and hash, separated by a space.",
      text("", { pattern: "^.+ \\S+$", patternHint: "Write the name of the tool, a space, and the hash." }),
      { unique: true },
    ).transform((lines) => Object.fromEntries(lines.map(splitPin))),
  },
  CAMEL,
);

export const LOCK = object(
  "Lock file of a workspace. Portolan writes it; commit it to version control.",
  {
    lockfileVersion: oneOfNumbers("Version of the lock file format.", [1]).required(),
    servers: map("Servers of the workspace, by alias.", SERVER).required(),
  },
  CAMEL,
);

/** A name may contain spaces, a hash does not. Names such as `constructor` cannot be keys of a file, so pins are texts. */
function splitPin(line: string): [name: string, hash: string] {
  const at = line.lastIndexOf(" ");
  return [line.slice(0, at), line.slice(at + 1)];
}

export type Lock = Value<typeof LOCK>;
export type LockedServer = Lock["servers"][string];
export type LockedPackage = NonNullable<LockedServer["package"]>;
