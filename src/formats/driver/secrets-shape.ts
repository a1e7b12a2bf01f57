// The shape of a SECRETS.md: which secrets there are and who may have them, never what they are.

import type { SecretEntry, SecretGrant } from "../../model/index.ts";
import type { ObjectShape, Shape } from "../document/index.ts";
import { DESCRIPTION, METADATA, NAME, tags, whole } from "./fields.ts";
import { ENV_PATTERN, SLUG_PATTERN } from "./secret-names.ts";

export const GRANTS = ["role", "userId", "cap", "tool", "workflow"] as const;

const grants = (description: string): Shape => ({
  type: "list",
  description,
  items: {
    type: "object",
    fields: {
      role: { type: "string", description: "Everybody with this role." },
      userId: { type: "string", description: "This user." },
      cap: {
        type: "string",
        pattern: "^cap://",
        says: "Write an address that begins with cap://.",
        description: "Whoever has this capability.",
      },
      tool: { type: "string", description: "This contract, by id." },
      workflow: { type: "string", description: "This workflow." },
    },
  },
});

const variable = (description: string): Shape => ({
  type: "string",
  required: true,
  pattern: ENV_PATTERN,
  says: "Use capital letters, digits and _, such as STRIPE_API_KEY.",
  description,
});

const exposure = (kind: string, fields: ObjectShape["fields"]): ObjectShape => ({
  type: "object",
  fields: {
    kind: { type: "string", required: true, enum: [kind], description: "how it reaches a program" },
    ...fields,
  },
});

/** By `kind`; others are for other hosts. */
export const EXPOSURES: Readonly<Record<string, ObjectShape>> = {
  env: exposure("env", {
    name: variable("the variable"),
    field: { type: "string", required: true, description: "the part of the secret" },
  }),
  file: exposure("file", {
    path: { type: "string", required: true, description: "the file" },
    field: { type: "string", description: "The part of the secret." },
    mode: whole(0, "Who may read it, as a number (default 384, which is 0600).", 511),
  }),
  "egress-substitute": exposure("egress-substitute", {
    placeholderName: variable("the name that stands for it"),
    allowedByDefault: { type: "boolean", required: true, description: "whether it is replaced unasked" },
    intendedProviders: { type: "list", items: { type: "string" }, description: "Whom it is meant for." },
  }),
};

const ENTRY: ObjectShape = {
  type: "object",
  fields: {
    slug: {
      type: "string",
      required: true,
      maxLength: 80,
      pattern: SLUG_PATTERN,
      says: "Use small letters, digits and -, perhaps after a namespace and /: stripe-api-key, billing/api-key.",
      description: "its name here, such as stripe-api-key",
    },
    name: NAME,
    description: DESCRIPTION,
    kind: {
      type: "string",
      enum: ["opaque", "oauth", "keypair", "json"],
      default: "opaque",
      description: "What its value looks like.",
    },
    backend: {
      type: "string",
      pattern: "^[a-z][a-z0-9-]*://",
      description: "Where it is kept; better left to the host.",
    },
    access: {
      type: "object",
      description: "Who may have it.",
      fields: {
        reveal: grants("Who may see it."),
        bind: grants("For whom it is put into a program's environment."),
        rotate: grants("Who may change it; not used here."),
      },
    },
    audit: {
      type: "object",
      description: "What is noted of its use.",
      fields: {
        retention: {
          type: "string",
          pattern: "^(P[0-9]+[YMWD]|[0-9]+(y|m|w|d|h))$",
          says: "Write P7Y, 7y or 90d.",
          description: "How long notes are kept, such as 90d.",
        },
        pii: { type: "boolean", default: false, description: "It is about a person." },
        classification: { type: "list", items: { type: "string" }, description: "How secret it is." },
      },
    },
    tags: tags("Words to find it by.", "^[a-z][a-z0-9-]*$"),
    metadata: METADATA,
    exposures: {
      type: "list",
      items: { type: "map", values: { type: "any" } },
      description: "How it reaches a program; a hint for hosts.",
    },
  },
};

export const SECRETS_SHAPE: ObjectShape = {
  type: "object",
  description: "An inventory of secrets: that they exist, and who may have them.",
  fields: {
    secrets: { type: "list", required: true, filled: true, items: ENTRY, description: "the secrets" },
  },
};

export interface CheckedSecret {
  readonly slug?: string;
  readonly name?: string;
  readonly description?: string;
  readonly kind: SecretEntry["kind"];
  readonly backend?: string;
  readonly access?: Readonly<Partial<Record<"reveal" | "bind" | "rotate", readonly SecretGrant[]>>>;
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}
