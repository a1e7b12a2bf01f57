// Schema of `registries` and `packages` in portolan.yaml: where packages come from, and the policy that they must meet.

import { isHttpUrl, parseUrl, publicPart } from "../../base/net/urls.ts";
import type { RegistrySetting } from "../../model/index.ts";
import { quoted, type TextNode } from "../document/index.ts";
import { list, object, oneOf, type ReadContext, text, union, type Value } from "../schema-builder/index.ts";

const SCOPE = "^@?[a-z0-9][a-z0-9-]*$";
/** 32 bytes in base64. */
const PUBLIC_KEY = "^[A-Za-z0-9+/]{43}=$";
const SCHEME = /^[a-z][a-z0-9+.-]+:/i;
const AGE = /^(?:0|(\d+(?:\.\d+)?)\s*(m|h|d|w))$/;
const AGE_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};
/** Longer than ten years is a mistake. */
const MAX_AGE_MS = 3_653 * 86_400_000;

const URL_TEXT = text(
  "URL of the registry, or path of a folder with a copy of it, relative to the folder of this file.",
).transform(checkUrl);

const REGISTRY = object(
  "",
  {
    url: URL_TEXT.required(),
    scopes: list(
      "Package scopes of this registry, such as @alice. Portolan gets packages of these scopes only from registries that list them, and gets no other packages from this registry.",
      text("", { pattern: SCOPE, patternHint: "Write the part of a name before the slash, such as @alice." }),
      { minItems: 1 },
    ),
    token: text(
      "Bearer token for the registry. Use a reference such as ${NAME}, so that this file does not contain the token.",
    ),
    key: text(
      "Public key that signs the registry's index: publicKey in the output of portolan registry serve --json. Default: Portolan stores the first key that it sees, and requires this key later.",
      {
        pattern: PUBLIC_KEY,
        patternHint: "Write the 44 characters of publicKey from portolan registry serve --json.",
      },
    ),
    api: oneOf(
      "API of the registry. portolan (default): registry of Portolan packages. official: official MCP registry API.",
      ["portolan", "official"],
    ),
  },
  {
    check({ token, key, scopes, api }, at) {
      if (token !== undefined && !token.includes("${"))
        at.warn(
          "token",
          "the token is written out, so everyone who can read this file has it",
          "Write ${NAME}, and set it with: portolan secrets set NAME.",
        );
      if (api !== "official") return;
      if (key !== undefined)
        at.error("key", "a registry with the official API signs nothing, so it has no key", "Remove key.");
      if (scopes !== undefined)
        at.error(
          "scopes",
          "names of a registry with the official API have no scope",
          "Remove scopes. Such names look like io.github.alice/server.",
        );
    },
  },
);

export const REGISTRIES = list(
  "Package registries. Portolan searches them in this order.",
  union("", [URL_TEXT.transform((url): RegistrySetting => ({ url })), REGISTRY]),
);

const THRESHOLD = (description: string) => oneOf(description, ["low", "medium", "high", "critical", "never"]);

const ageText = (name: string, description: string) =>
  text(description, { scalars: true, pattern: AGE.source }).transform(
    (written, node, { diagnostics }): number | undefined => {
      const [whole, amount = "0", unit = "h"] = AGE.exec(written.trim()) ?? [];
      const ms = Math.round(Number(amount) * (AGE_MS[unit] ?? 0));
      if (whole !== undefined && ms <= MAX_AGE_MS) return ms;
      diagnostics.add(
        node,
        `${name} must be an age, not ${quoted(written)}`,
        "Write a number with m, h, d or w, such as 3d; 0 is none.",
      );
      return undefined;
    },
  );

export const PACKAGES = object(
  "Policy for packages. Portolan refuses to add or start a package that does not meet it.",
  {
    require: list(
      "Proofs that every package must have: provenance (a verified build), signature (a verified signer), audit (a review). Default: none.",
      oneOf("", ["provenance", "signature", "audit"]),
      { unique: true },
    ),
    trust: object(
      "Trusted certificates and keys for the verification of packages. Paths are relative to the folder of this file.",
      {
        certificates: list(
          "PEM files with certificates of trusted signers of MCPB bundles, or of their certificate authorities.",
          text(),
          { unique: true },
        ),
        sigstoreRoot: text(
          "Path of the trusted_root.json of another Sigstore instance. Replaces the built-in root.",
        ),
        npmKeys: text(
          "Path of a file with the signing keys of another npm registry. Replaces the built-in keys.",
        ),
      },
    ),
    minReleaseAgeMs: ageText(
      "min_release_age",
      "Minimum age of a package version, such as 12h, 3d or 1w. Portolan refuses versions that were published more recently. Default: 0.",
    ).key("min_release_age"),
    advisories: object("Handling of package versions with known vulnerabilities, by severity.", {
      warn: THRESHOLD("Warn about vulnerabilities of this severity or higher. Default: medium."),
      refuse: THRESHOLD(
        "Refuse to add or start a server with a vulnerability of this severity or higher. Default: critical.",
      ),
      maxAgeMs: ageText(
        "max_age",
        "Maximum age of the stored registry index, such as 12h or 1d. If it is older when a server starts, Portolan refreshes it in the background. Default: 1d.",
      ).key("max_age"),
    }),
  },
);

export type PackagesValue = Value<typeof PACKAGES>;

function checkUrl(written: string, node: TextNode, { diagnostics }: ReadContext): string | undefined {
  const url = SCHEME.test(written) ? parseUrl(written) : undefined;
  if (!SCHEME.test(written) || url?.protocol === "file:") return written;
  if (url === undefined || !isHttpUrl(url)) {
    diagnostics.add(
      node,
      `${quoted(url === undefined ? written : publicPart(url))} is not the URL of a registry`,
      "Write an http(s) URL, or the path of a folder.",
    );
    return undefined;
  }
  if (url.username + url.password + url.search + url.hash === "") return written;
  diagnostics.add(
    node,
    `the URL of the registry ${publicPart(url)} contains a user name, a password, a query or a fragment`,
    "Remove them from the URL. Write a token under token.",
  );
  return undefined;
}
