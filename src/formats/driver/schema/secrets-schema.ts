// Schema of a SECRETS.md: which secrets exist and who may have them, never their values.

import { didYouMean } from "../../../errors/index.ts";
import type { SecretGrant } from "../../../model/index.ts";
import { nodeAt, quoted, toLabel } from "../../document/index.ts";
import {
  type Fields,
  flag,
  integer,
  list,
  object,
  oneOf,
  partialObject,
  text,
  type Value,
  variants,
} from "../../schema-builder/index.ts";
import { ENV_PATTERN, SLUG_PATTERN } from "../read/secret-names.ts";
import { DESCRIPTION, METADATA, NAME, tags, texts } from "./shared-fields.ts";

/** This format has keys in camelCase. */
const CAMEL_CASE = { keys: "camelCase" } as const;

const GRANT_FIELDS = {
  role: text("Everybody with this role."),
  userId: text("This user."),
  cap: text("Whoever has this capability.", {
    pattern: "^cap://",
    patternHint: "Write an address that begins with cap://.",
  }),
  tool: text("This contract, by id."),
  workflow: text("This workflow."),
};
const GRANTS = Object.keys(GRANT_FIELDS);

const GRANT = object("", GRANT_FIELDS, {
  ...CAMEL_CASE,
  check(_, { node, diagnostics }) {
    const given = node.entries.filter(({ key }) => GRANTS.includes(key));
    if (given.length !== 1)
      diagnostics.add(
        node,
        `${toLabel(node.path)} has ${given.length === 0 ? "none" : "more than one"} of ${GRANTS.join(", ")}`,
        "A grant is for one: write an entry for each.",
      );
  },
})
  .withJsonSchema((schema) => ({ ...schema, minProperties: 1, maxProperties: 1 }))
  .transform((grant) => grant as SecretGrant);

const variable = (description: string) =>
  text(description, {
    pattern: ENV_PATTERN,
    patternHint: "Use capital letters, digits and _, such as STRIPE_API_KEY.",
  }).required();

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the inferred result has it
const exposure = <const K extends string, const F extends Fields>(kind: K, fields: F) =>
  object("", { kind: oneOf("how it reaches a program", [kind]).required(), ...fields }, CAMEL_CASE);

/** Kinds of other hosts are skipped with a warning. */
const EXPOSURE = variants(
  "",
  "kind",
  {
    env: exposure("env", {
      name: variable("the variable"),
      field: text("the part of the secret").required(),
    }),
    file: exposure("file", {
      path: text("the file").required(),
      field: text("The part of the secret."),
      mode: integer("Who may read it, as a number (default 384, which is 0600).", {
        minimum: 0,
        maximum: 511,
      }),
    }),
    "egress-substitute": exposure("egress-substitute", {
      placeholderName: variable("the name that stands for it"),
      allowedByDefault: flag("whether it is replaced unasked").required(),
      intendedProviders: texts("Whom it is meant for."),
    }),
  },
  {
    reportMissing: (node, known, { diagnostics }) =>
      diagnostics.add(node, `${toLabel(node.path)} has no kind`, `Write kind: ${known.join(", or ")}.`),
    reportUnknown: (word, node, known, { diagnostics }) =>
      diagnostics.warn(
        node,
        `the exposure ${quoted(word)} is not known and is skipped`,
        didYouMean(word, known),
      ),
  },
);

const SECRET = object(
  "",
  {
    slug: text("its name here, such as stripe-api-key", {
      maxLength: 80,
      pattern: SLUG_PATTERN,
      patternHint:
        "Use small letters, digits and -, perhaps after a namespace and /: stripe-api-key, billing/api-key.",
    }).required(),
    name: NAME,
    description: DESCRIPTION,
    kind: oneOf("What its value looks like.", ["opaque", "oauth", "keypair", "json"]).default("opaque"),
    backend: text("Where it is kept; better left to the host.", { pattern: "^[a-z][a-z0-9-]*://" }),
    access: object("Who may have it.", {
      reveal: list("Who may see it.", GRANT),
      bind: list("For whom it is put into a program's environment.", GRANT),
      rotate: list("Who may change it; not used here.", GRANT),
    }),
    audit: object("What is noted of its use.", {
      retention: text("How long notes are kept, such as 90d.", {
        pattern: "^(P[0-9]+[YMWD]|[0-9]+(y|m|w|d|h))$",
        patternHint: "Write P7Y, 7y or 90d.",
      }),
      pii: flag("It is about a person.").default(false),
      classification: texts("How secret it is."),
    }),
    tags: tags("Words to find it by.", "^[a-z][a-z0-9-]*$"),
    metadata: METADATA,
    exposures: list("How it reaches a program; a hint for hosts.", EXPOSURE),
  },
  {
    check({ slug, backend }, at) {
      if (slug?.includes("--") === true)
        at.warn(
          "slug",
          `the slug ${quoted(slug)} has two dashes in a row`,
          "Other hosts refuse it; use one.",
        );
      const node = at.entry("backend")?.value;
      // The address may contain a password, so that the message does not repeat it.
      if (node !== undefined && backend !== undefined && !/^[a-z][a-z0-9-]*:\/\//.test(backend))
        at.error(
          "backend",
          `${toLabel(node.path)} is not an address`,
          "Write vault://<driver>/<path>, or leave it out.",
        );
      const bound = nodeAt(at.entry("metadata")?.value, "bindings", "env");
      if (bound === undefined || bound.kind === "null") return;
      if (bound.kind !== "list")
        at.diagnostics.add(
          bound,
          `${toLabel(bound.path)} must be a list`,
          "Write [STRIPE_API_KEY], for example.",
        );
      for (const item of bound.kind === "list" ? bound.items : [])
        if (item.kind !== "string" || !new RegExp(ENV_PATTERN).test(String(item.value)))
          at.diagnostics.add(
            item,
            `${toLabel(item.path)} is not the name of a variable`,
            "Use capital letters, digits and _.",
          );
    },
  },
);

export const SECRETS = partialObject("An inventory of secrets: that they exist, and who may have them.", {
  secrets: list("the secrets", SECRET, { minItems: 1 }).required(),
});

export type SecretValue = Value<typeof SECRET>;
