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
  role: text("Callers with this role: an OAuth token with the scope role:<role>."),
  userId: text("Caller with this name. local is the owner of the gateway."),
  cap: text("Callers with this capability: an OAuth token with this scope, such as cap://billing.", {
    pattern: "^cap://",
    patternHint: "Write an address that begins with cap://.",
  }),
  tool: text("Calls of the contract with this ID."),
  workflow: text("Workflow with this ID. Portolan runs no workflows."),
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
        "Each grant must have exactly one of them. Write a separate entry for each.",
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
  object(
    "",
    { kind: oneOf("Kind of exposure: how a program gets the secret.", [kind]).required(), ...fields },
    CAMEL_CASE,
  );

/** Kinds of other hosts are skipped with a warning. */
const EXPOSURE = variants(
  "",
  "kind",
  {
    env: exposure("env", {
      name: variable("Name of the environment variable."),
      field: text("Field of the secret to expose.").required(),
    }),
    file: exposure("file", {
      path: text("Path of the file that contains the secret.").required(),
      field: text("Field of the secret to expose. Default: the whole secret."),
      mode: integer("Permissions of the file, as a decimal number. Default: 384 (octal 0600).", {
        minimum: 0,
        maximum: 511,
      }),
    }),
    "egress-substitute": exposure("egress-substitute", {
      placeholderName: variable(
        "Name of the placeholder that is replaced by the secret in outgoing requests.",
      ),
      allowedByDefault: flag("If true, the placeholder is replaced without a separate approval.").required(),
      intendedProviders: texts("Services that the secret is intended for."),
    }),
  },
  {
    reportMissing: (node, known, { diagnostics }) =>
      diagnostics.add(node, `${toLabel(node.path)} has no kind`, `Write kind: ${known.join(", or ")}.`),
    reportUnknown: (word, node, known, { diagnostics }) =>
      diagnostics.warn(
        node,
        `Portolan does not know the kind of exposure ${quoted(word)}, and ignores this entry`,
        didYouMean(word, known),
      ),
  },
);

const SECRET = object(
  "",
  {
    slug: text("ID of the secret, such as stripe-api-key. Its name is then STRIPE_API_KEY.", {
      maxLength: 80,
      pattern: SLUG_PATTERN,
      patternHint:
        "Use small letters, digits and -, perhaps after a namespace and /: stripe-api-key, billing/api-key.",
    }).required(),
    name: NAME,
    description: DESCRIPTION,
    kind: oneOf("Format of the value.", ["opaque", "oauth", "keypair", "json"]).default("opaque"),
    backend: text(
      "URL of the secret store, such as vault://<driver>/<path>. Omit it, so that each host can choose its store.",
      { pattern: "^[a-z][a-z0-9-]*://" },
    ),
    access: object("Grants: who can use the secret.", {
      reveal: list("Callers and contracts that can read the value.", GRANT),
      bind: list("Callers and contracts for whose calls the driver's server gets the value.", GRANT),
      rotate: list("Callers that can change the value. Ignored by Portolan.", GRANT),
    }),
    audit: object("Audit requirements of the secret.", {
      retention: text("Retention time of audit records, such as 90d, 7y or P7Y.", {
        pattern: "^(P[0-9]+[YMWD]|[0-9]+(y|m|w|d|h))$",
        patternHint: "Write P7Y, 7y or 90d.",
      }),
      pii: flag("If true, the secret is personally identifiable information.").default(false),
      classification: texts("Classification labels, such as confidential."),
    }),
    tags: tags("Keywords of the secret.", "^[a-z][a-z0-9-]*$"),
    metadata: METADATA,
    exposures: list("Ways in which a program gets the secret. A hint for hosts.", EXPOSURE),
  },
  {
    check({ slug, backend }, at) {
      if (slug?.includes("--") === true)
        at.warn(
          "slug",
          `the slug ${quoted(slug)} has two dashes in a row`,
          "Use single dashes, because other hosts refuse this slug.",
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

export const SECRETS = partialObject(
  "Inventory of secrets: their names and who can use them. It never contains their values.",
  {
    secrets: list("List of secrets.", SECRET, { minItems: 1 }).required(),
  },
);

export type SecretValue = Value<typeof SECRET>;
