// Schema of a TOOL.md: what a tool promises, whichever driver implements it.

import type { JsonSchema } from "../../../model/index.ts";
import { nodeAt, type TextNode, toLabel } from "../../document/index.ts";
import {
  anyValue,
  flag,
  integer,
  list,
  map,
  object,
  oneOf,
  type ReadContext,
  text,
  union,
  type Value,
} from "../../schema-builder/index.ts";
import { readToolSchema } from "../read/contract-json-schema.ts";
import {
  COST_CLASS,
  DESCRIPTION,
  KINDS,
  METADATA,
  NAME,
  tags,
  texts,
  TOOL_RETRY,
  VERSION,
} from "./shared-fields.ts";

const FREE_OBJECT = map("", anyValue());

const driverKinds = (description: string) => list(description, oneOf("", KINDS), { unique: true });

export const TOOL = object(
  "A contract: what a tool takes, what it gives and what it changes.",
  {
    name: NAME,
    id: text("its id, such as fs-read", {
      maxLength: 80,
      pattern: "^[a-z0-9][a-z0-9.\\-]*[a-z0-9]$",
      patternHint: "Use small letters, digits, - and dots, with a letter or a digit first and last: fs-read.",
    }).required(),
    description: DESCRIPTION.describe("what it does, for the model that calls it"),
    version: VERSION,
    inputs: FREE_OBJECT.describe("what it takes, as a JSON Schema of an object")
      .required()
      .transform((_, node, { diagnostics }) => readToolSchema(node, diagnostics, true)),
    outputs: FREE_OBJECT.describe("what it gives when it succeeds, as a JSON Schema")
      .required()
      .transform((_, node, { diagnostics }) => readToolSchema(node, diagnostics, false)),
    idempotent: flag("Calling it twice is as good as once.").default(false),
    mutates: list(
      "What it changes, such as workspace:files.",
      text("", {
        pattern: "^[a-z]+:[^\\s]+$",
        patternHint:
          "Write what kind of thing it is, a colon and which: workspace:files, network:api.example.com.",
      }),
    ),
    requires: object("What it needs.", {
      network: texts("Hosts."),
      secrets: texts("Secrets, by slug."),
      tools: texts("Other contracts, by id."),
    }),
    approval: text("Whether somebody has to agree: auto, always, on-mutate, or policy:<name>.", {
      pattern: "^(?:auto|always|on-mutate|policy:[A-Za-z0-9_./-]+)$",
      patternHint: "Write auto, always, on-mutate, or policy: and its name.",
    }).default("auto"),
    riskLevel: integer("From 0 for harmless to 3.", { minimum: 0, maximum: 3 }).default(0),
    costClass: COST_CLASS.default("trivial"),
    timeoutMs: integer("How long a call may take at most, in milliseconds.", { minimum: 1 }).default(30_000),
    retry: TOOL_RETRY,
    defaultImplementation: text("The driver that is preferred, by id.", {
      pattern: "^[a-z0-9][a-z0-9.\\-]{1,79}$",
      patternHint: "Write the id of a driver.",
    }),
    driverConstraints: object("Which drivers may serve it.", {
      forbid: driverKinds("Kinds that may not."),
      requireKind: driverKinds("The only kinds that may; any when empty."),
    }),
    tags: tags("Words to find it by.", "^[a-z0-9][a-z0-9-]*$"),
    examples: list(
      "Calls that every driver must answer as shown.",
      object("", {
        name: text("what it shows", { scalars: true }).required(),
        input: FREE_OBJECT.describe("what is given to the tool").required(),
        output: anyValue("What it gives."),
        note: text("What is worth knowing.", { empty: true }),
      }),
    ),
    metadata: METADATA.transform(({ contextSchema: _written, ...metadata }, node, context) => ({
      metadata,
      contextSchema: readContextSchema(nodeAt(node, "contextSchema"), context),
    })),
    implements: union("The action that it stands for; not used here.", [text(), FREE_OBJECT]),
  },
  {
    check({ approval }, at) {
      const implemented = at.entry("implements");
      if (implemented !== undefined)
        at.diagnostics.add(implemented.value, "implements is not used here", undefined, "info");
      const mutates = at.entry("mutates")?.value;
      if (approval !== "auto" || mutates?.kind !== "list" || mutates.items.length === 0) return;
      const written = at.entry("approval")?.value;
      at.diagnostics.add(
        written ?? mutates,
        written === undefined
          ? "it changes something (mutates), and approval is missing, which stands for auto"
          : "it changes something (mutates), and approval is auto",
        "Write approval: on-mutate, always, or policy:<name>.",
      );
    },
  },
);

function readContextSchema(node: TextNode | undefined, { diagnostics }: ReadContext): JsonSchema | undefined {
  if (node === undefined || node.kind === "null") return undefined;
  if (node.kind === "object") return readToolSchema(node, diagnostics, true);
  diagnostics.add(node, `${toLabel(node.path)} must be a JSON Schema of an object`);
  return undefined;
}

export type ToolValue = Value<typeof TOOL>;
