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
  "Contract: inputs, outputs and side effects of a tool, independent of the server that implements it.",
  {
    name: NAME,
    id: text("Unique ID of the contract, such as fs-read. It is the name of the tool that clients see.", {
      maxLength: 80,
      pattern: "^[a-z0-9][a-z0-9.\\-]*[a-z0-9]$",
      patternHint: "Use small letters, digits, - and dots, with a letter or a digit first and last: fs-read.",
    }).required(),
    description: DESCRIPTION.describe("Description of the tool, for the model that calls it."),
    version: VERSION,
    inputs: FREE_OBJECT.describe("JSON Schema of the inputs. Its type must be object.")
      .required()
      .transform((_, node, { diagnostics }) => readToolSchema(node, diagnostics, true)),
    outputs: FREE_OBJECT.describe("JSON Schema of a successful result.")
      .required()
      .transform((_, node, { diagnostics }) => readToolSchema(node, diagnostics, false)),
    idempotent: flag(
      "If true, repeating a call has no additional effect, so that Portolan can retry it.",
    ).default(false),
    mutates: list(
      "Side effects of the tool, as <kind>:<name>, such as workspace:files. A contract with side effects needs approval.",
      text("", {
        pattern: "^[a-z]+:[^\\s]+$",
        patternHint: "Write <kind>:<name>, such as workspace:files or network:api.example.com.",
      }),
    ),
    requires: object("Requirements of the tool. Portolan checks tools and secrets at each call.", {
      network: texts("Hosts that the tool reaches."),
      secrets: texts("Slugs of secrets that must be granted to the contract and have a value."),
      tools: texts(
        "IDs of other contracts that this tool needs. A call fails if no driver serves one of them.",
      ),
    }),
    approval: text(
      "Approval of calls. auto: no approval. on-mutate: approval if the contract has mutates. always: approval of every call. policy:<name>: as always, and the request for approval names the policy.",
      {
        pattern: "^(?:auto|always|on-mutate|policy:[A-Za-z0-9_./-]+)$",
        patternHint: "Write auto, always, on-mutate, or policy: and its name.",
      },
    ).default("auto"),
    riskLevel: integer(
      "Risk level, from 0 (harmless) to 3. contracts.approve_from_risk in portolan.yaml refers to it.",
      { minimum: 0, maximum: 3 },
    ).default(0),
    costClass: COST_CLASS.default("trivial"),
    timeoutMs: integer("Maximum time of a call, in milliseconds.", { minimum: 1 }).default(30_000),
    retry: TOOL_RETRY,
    defaultImplementation: text("ID of the preferred driver.", {
      pattern: "^[a-z0-9][a-z0-9.\\-]{1,79}$",
      patternHint: "Write the id of a driver.",
    }),
    driverConstraints: object("Kinds of drivers that can serve the contract.", {
      forbid: driverKinds("Kinds of drivers that cannot serve the contract."),
      requireKind: driverKinds("Kinds of drivers that can serve the contract. Default: all kinds."),
    }),
    tags: tags("Keywords of the contract.", "^[a-z0-9][a-z0-9-]*$"),
    examples: list(
      "Example calls. Every driver must return the given output for the given input.",
      object("", {
        name: text("Name of the example.", { scalars: true }).required(),
        input: FREE_OBJECT.describe("Input of the call.").required(),
        output: anyValue("Expected output of the call."),
        note: text("Additional remarks.", { empty: true }),
      }),
    ),
    metadata: METADATA.transform(({ contextSchema: _written, ...metadata }, node, context) => ({
      metadata,
      contextSchema: readContextSchema(nodeAt(node, "contextSchema"), context),
    })),
    implements: union("Action that the contract implements. Ignored by Portolan.", [text(), FREE_OBJECT]),
  },
  {
    check({ approval }, at) {
      const implemented = at.entry("implements");
      if (implemented !== undefined)
        at.diagnostics.add(
          implemented.value,
          "Portolan ignores the key implements of a contract",
          undefined,
          "info",
        );
      const mutates = at.entry("mutates")?.value;
      if (approval !== "auto" || mutates?.kind !== "list" || mutates.items.length === 0) return;
      const written = at.entry("approval")?.value;
      at.diagnostics.add(
        written ?? mutates,
        written === undefined
          ? "the contract changes something (mutates), but approval is missing, so calls would run without approval"
          : "the contract changes something (mutates), but approval is auto, so calls would run without approval",
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
