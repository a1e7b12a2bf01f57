// The shape of a TOOL.md: what a tool promises, whoever implements it.

import type { ObjectShape, Shape } from "../document/index.ts";
import {
  COST_CLASS,
  type CheckedRetry,
  DESCRIPTION,
  KINDS,
  METADATA,
  NAME,
  retryShape,
  tags,
  TEXTS,
  VERSION,
  whole,
} from "./fields.ts";

/** A JSON Schema: its inside is checked apart, and written into the JSON Schema of the file by hand. */
const schema = (description: string): Shape => ({
  type: "map",
  required: true,
  values: { type: "any" },
  description,
});

const DRIVER_KINDS: Shape = { type: "list", unique: true, items: { type: "string", enum: KINDS } };

export const TOOL_SHAPE: ObjectShape = {
  type: "object",
  description: "A contract: what a tool takes, what it gives and what it changes.",
  fields: {
    name: NAME,
    id: {
      type: "string",
      required: true,
      maxLength: 80,
      pattern: "^[a-z0-9][a-z0-9.\\-]*[a-z0-9]$",
      says: "Use small letters, digits, - and dots, with a letter or a digit first and last: fs-read.",
      description: "its id, such as fs-read",
    },
    description: { ...DESCRIPTION, description: "what it does, for the model that calls it" },
    version: VERSION,
    inputs: schema("what it takes, as a JSON Schema of an object"),
    outputs: schema("what it gives when it succeeds, as a JSON Schema"),
    idempotent: { type: "boolean", default: false, description: "Calling it twice is as good as once." },
    mutates: {
      type: "list",
      items: {
        type: "string",
        pattern: "^[a-z]+:[^\\s]+$",
        says: "Write what kind of thing it is, a colon and which: workspace:files, network:api.example.com.",
      },
      description: "What it changes, such as workspace:files.",
    },
    requires: {
      type: "object",
      description: "What it needs.",
      fields: {
        network: { ...TEXTS, description: "Hosts." },
        secrets: { ...TEXTS, description: "Secrets, by slug." },
        tools: { ...TEXTS, description: "Other contracts, by id." },
      },
    },
    approval: {
      type: "string",
      default: "auto",
      pattern: "^(?:auto|always|on-mutate|policy:[A-Za-z0-9_./-]+)$",
      says: "Write auto, always, on-mutate, or policy: and its name.",
      description: "Whether somebody has to agree: auto, always, on-mutate, or policy:<name>.",
    },
    risk_level: { ...whole(0, "From 0 for harmless to 3.", 3), default: 0 },
    cost_class: { ...COST_CLASS, default: "trivial" },
    timeout_ms: { ...whole(1, "How long a call may take at most, in milliseconds."), default: 30_000 },
    retry: retryShape(20, true),
    default_implementation: {
      type: "string",
      pattern: "^[a-z0-9][a-z0-9.\\-]{1,79}$",
      says: "Write the id of a driver.",
      description: "The driver that is preferred, by id.",
    },
    driver_constraints: {
      type: "object",
      description: "Which drivers may serve it.",
      fields: {
        forbid: { ...DRIVER_KINDS, description: "Kinds that may not." },
        require_kind: { ...DRIVER_KINDS, description: "The only kinds that may; any when empty." },
      },
    },
    tags: tags("Words to find it by.", "^[a-z0-9][a-z0-9-]*$"),
    examples: {
      type: "list",
      items: {
        type: "object",
        fields: {
          name: { type: "string", required: true, scalars: true, description: "what it shows" },
          input: {
            type: "map",
            required: true,
            values: { type: "any" },
            description: "what is given to the tool",
          },
          output: { type: "any", description: "What it gives." },
          note: { type: "string", empty: true, description: "What is worth knowing." },
        },
      },
      description: "Calls that every driver must answer as shown.",
    },
    metadata: METADATA,
    implements: {
      type: "union",
      options: [{ type: "string" }, { type: "map", values: { type: "any" } }],
      description: "The action that it stands for; not used here.",
    },
  },
};

export interface CheckedTool {
  readonly name?: string;
  readonly id?: string;
  readonly description?: string;
  readonly version?: string;
  readonly idempotent: boolean;
  readonly mutates?: readonly string[];
  readonly requires?: {
    readonly network?: readonly string[];
    readonly secrets?: readonly string[];
    readonly tools?: readonly string[];
  };
  readonly approval: string;
  readonly risk_level: number;
  readonly cost_class: "trivial" | "metered" | "expensive";
  readonly timeout_ms: number;
  readonly retry?: CheckedRetry;
  readonly default_implementation?: string;
  readonly driver_constraints?: {
    readonly forbid?: readonly ("cli" | "http" | "mcp" | "sdk" | "builtin")[];
    readonly require_kind?: readonly ("cli" | "http" | "mcp" | "sdk" | "builtin")[];
  };
  readonly tags?: readonly string[];
  readonly examples?: readonly {
    readonly name: string;
    readonly input: Readonly<Record<string, unknown>>;
    readonly output?: unknown;
    readonly note?: string;
  }[];
  readonly metadata?: Readonly<Record<string, unknown>>;
}
