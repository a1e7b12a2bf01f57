// Schema of `registries` and `packages` in portolan.yaml: where packages come from, and the policy that they must meet.

import { isHttpUrl, parseUrl, publicPart } from "../../base/net/urls.ts";
import type { RegistrySetting } from "../../model/index.ts";
import { quoted, type TextNode } from "../document/index.ts";
import { list, object, oneOf, type ReadContext, text, union, type Value } from "../schema-builder/index.ts";

const SCOPE = "^@?[a-z0-9][a-z0-9-]*$";
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
  "The URL of the registry, or a folder with a copy of it, relative to this one.",
).transform(checkUrl);

const REGISTRY = object(
  "",
  {
    url: URL_TEXT.required(),
    scopes: list(
      "These scopes come only from this registry, and nothing else comes from it.",
      text("", { pattern: SCOPE, patternHint: "Write the part of a name before the slash, such as @alice." }),
      { minItems: 1 },
    ),
    token: text("The token of the registry; a ${NAME} reference, so that it stands elsewhere."),
    key: text("The public key of the registry. Without it, the first key that is seen is remembered."),
    api: oneOf("official: the registry speaks only the official MCP registry API. By default, portolan.", [
      "portolan",
      "official",
    ]),
  },
  {
    check({ token, key, scopes, api }, at) {
      if (token !== undefined && !token.includes("${"))
        at.warn(
          "token",
          "the token stands here for everyone who can read this file",
          "Write ${NAME}, and set it with: portolan secrets set NAME.",
        );
      if (api !== "official") return;
      if (key !== undefined)
        at.error("key", "a registry with the official API signs nothing, so it has no key", "Leave it out.");
      if (scopes !== undefined)
        at.error(
          "scopes",
          "names of a registry with the official API have no scope",
          "Leave it out; such names look like io.github.alice/server.",
        );
    },
  },
);

export const REGISTRIES = list(
  "The registries of packages, in the order in which they are searched.",
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
  "The policy for packages: what is refused when a package is added or started.",
  {
    require: list(
      "Proofs that every package must have. provenance: who built it; signature: who signed it; audit: who reviewed it.",
      oneOf("", ["provenance", "signature", "audit"]),
      { unique: true },
    ),
    trust: object("Files with what is trusted when an origin is checked, relative to this folder.", {
      certificates: list(
        "Certificates of those who sign MCPB bundles, or of their authorities, in PEM form.",
        text(),
        { unique: true },
      ),
      sigstoreRoot: text("The trusted_root.json of another Sigstore; it replaces the built-in root."),
      npmKeys: text("The keys of another npm registry; they replace the built-in ones."),
    }),
    minReleaseAgeMs: ageText(
      "min_release_age",
      "A version that was published more recently is refused: 12h, 3d, 1w.",
    ).key("min_release_age"),
    advisories: object("What happens to a version with a known vulnerability, by its severity.", {
      warn: THRESHOLD("Warn from this severity on. By default medium."),
      refuse: THRESHOLD("Refuse to add or start the server from this severity on. By default critical."),
      maxAgeMs: ageText(
        "max_age",
        "A start renews the stored index in the background if it was checked longer ago. By default 1d.",
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
    `the URL of the registry ${publicPart(url)} has more than a path`,
    "Leave out the user name, the password and the query. Give a token with token.",
  );
  return undefined;
}
