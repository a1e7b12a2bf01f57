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
  "Who signed the package, as verified when it was installed.",
  {
    kind: oneOf("The kind of proof.", ["npm-provenance", "npm-signature", "mcpb-signature"]).required(),
    signer: text(
      "The identity of the signer: a repository and workflow, a key, or a certificate.",
    ).required(),
  },
  CAMEL,
);

const PACKAGE = object(
  "The package that a server comes from.",
  {
    name: text("The name of the package.").required(),
    version: text("The exact version.").required(),
    source: text("Where its files come from: the URL or package that its metadata names first.").required(),
    integrity: text("The hash of that file, as SRI.").required(),
    metadata: text("The hash of the metadata document, as SRI. It has the files of all platforms."),
    registry: text("The registry that listed it."),
    dependencies: list(
      "The npm packages that are installed with it: place, version and hash, one line for each.",
      text("", {
        pattern: "^\\S+ \\S+ \\S+$",
        patternHint: "Write the place of the package, its version, and its hash.",
      }),
      { unique: true },
    ),
    contracts: list("The contracts that its driver serves, with their versions.", text()),
    provenance: list("The proofs of its origin.", PROVENANCE),
    permissions: list("The permissions that a person granted.", text()),
    lockedAt: text("When this version was accepted."),
  },
  CAMEL,
);

const SERVER = object(
  "One server of the workspace.",
  {
    package: PACKAGE,
    tools: list(
      "The approved definition of each tool: its name and a hash, one line for each.",
      text("", { pattern: "^.+ \\S+$", patternHint: "Write the name of the tool, a space, and the hash." }),
      { unique: true },
    ).transform((lines) => Object.fromEntries(lines.map(splitPin))),
  },
  CAMEL,
);

export const LOCK = object(
  "The lock file of a workspace. `portolan` writes it; commit it.",
  {
    lockfileVersion: oneOfNumbers("The version of this format.", [1]).required(),
    servers: map("The servers, by alias.", SERVER).required(),
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
