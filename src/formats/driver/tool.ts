// A TOOL.md: text in, a contract out, with every problem of the file.

import type { Diagnostic } from "../../errors/index.ts";
import type {
  Contract,
  ContractExample,
  DriverOrigin,
  Json,
  JsonSchema,
  TextPlace,
} from "../../model/index.ts";
import { definedOnly } from "../manifest/index.ts";
import {
  checkShape,
  nodeAt,
  type ObjectNode,
  Diagnostics,
  type TextNode,
  toLabel,
  toPlain,
} from "../document/index.ts";
import { placeOf, toRetry } from "./bindings.ts";
import { checkVersion } from "./fields.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { type Moved, takeMoved } from "./strict-keys.ts";
import { readToolSchema } from "./tool-schema.ts";
import { type CheckedTool, TOOL_SHAPE } from "./tool-shape.ts";

export interface ToolFile {
  /** Nothing when something in it is wrong. */
  readonly contract?: Contract | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

const DRIVER = "A contract does not say how it is carried out; a DRIVER.md does";
const MOVED: Readonly<Record<string, Moved>> = {
  ...Object.fromEntries(
    ["code", "run", "runner", "entry", "execute"].map((key) => [
      key,
      { hint: `${DRIVER}: write one that lists this file under implements.` },
    ]),
  ),
  secrets: {
    hint: `${DRIVER}, with server.env and auth. What is needed stands here under requires.secrets.`,
  },
  network: { hint: `${DRIVER}, with network.egress. What is needed stands here under requires.network.` },
  ...Object.fromEntries(
    ["kind", "server", "transport", "auth", "install"].map((key) => [
      key,
      { hint: `${DRIVER}, and this key belongs there.` },
    ]),
  ),
  default_driver: { hint: "It is called default_implementation." },
};

export function parseTool(text: string, file: string): ToolFile {
  const { root: written, diagnostics: syntax } = readFrontmatter(text, file);
  if (written === undefined) return { diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const root = takeMoved(written, MOVED, diagnostics);
  const checked = (checkShape(TOOL_SHAPE, root, diagnostics) ?? {}) as CheckedTool;
  checkVersion(checked.version, nodeAt(root, "version"), diagnostics);
  checkApproval(checked, root, diagnostics);
  const implemented = nodeAt(root, "implements");
  if (implemented !== undefined && implemented.kind !== "null")
    diagnostics.add(implemented, "implements is not used here", undefined, "info");
  const inputs = readToolSchema(nodeAt(root, "inputs"), diagnostics, true);
  const outputs = readToolSchema(nodeAt(root, "outputs"), diagnostics, false);
  const contextSchema = readContextSchema(root, diagnostics);
  if (inputs === undefined || outputs === undefined || diagnostics.hasErrorIn(root))
    return { diagnostics: diagnostics.sorted() };
  const contract = toContract(checked, { inputs, outputs, contextSchema }, root, file);
  return { contract, diagnostics: diagnostics.sorted() };
}

/** What changes something is not done without anybody's leave. */
function checkApproval(checked: CheckedTool, root: ObjectNode, diagnostics: Diagnostics): void {
  const mutates = nodeAt(root, "mutates");
  if (checked.approval !== "auto" || mutates?.kind !== "list" || mutates.items.length === 0) return;
  const approval = nodeAt(root, "approval");
  const absent = approval === undefined || approval.kind === "null";
  diagnostics.add(
    absent ? mutates : approval,
    absent
      ? "it changes something (mutates), and approval is missing, which stands for auto"
      : "it changes something (mutates), and approval is auto",
    "Write approval: on-mutate, always, or policy:<name>.",
  );
}

function readContextSchema(root: ObjectNode, diagnostics: Diagnostics): JsonSchema | undefined {
  const node = nodeAt(root, "metadata", "contextSchema");
  if (node === undefined || node.kind === "null") return undefined;
  if (node.kind === "object") return readToolSchema(node, diagnostics, true);
  diagnostics.add(node, `${toLabel(node.path)} must be a JSON Schema of an object`);
  return undefined;
}

interface Schemas {
  readonly inputs: JsonSchema;
  readonly outputs: JsonSchema;
  readonly contextSchema: JsonSchema | undefined;
}

function toContract(checked: CheckedTool, schemas: Schemas, root: ObjectNode, file: string): Contract {
  const { requires, driver_constraints: constraints } = checked;
  const { contextSchema: _own, ...metadata } = checked.metadata ?? {};
  return definedOnly<Contract>({
    id: checked.id ?? "",
    name: checked.name ?? "",
    description: checked.description ?? "",
    version: checked.version ?? "",
    ...schemas,
    idempotent: checked.idempotent,
    mutates: checked.mutates ?? [],
    requires: {
      network: requires?.network ?? [],
      secrets: requires?.secrets ?? [],
      tools: requires?.tools ?? [],
    },
    approval: checked.approval,
    riskLevel: checked.risk_level,
    costClass: checked.cost_class,
    timeoutMs: checked.timeout_ms,
    retry: toRetry(checked.retry),
    defaultImplementation: checked.default_implementation,
    driverConstraints: {
      forbid: constraints?.forbid ?? [],
      requireKind: constraints?.require_kind ?? [],
    },
    tags: checked.tags ?? [],
    examples: (checked.examples ?? []).map((example, index) =>
      toExample(example, nodeAt(root, "examples", index)),
    ),
    metadata,
    origin: definedOnly<DriverOrigin>({
      ...{ file, line: root.line, column: root.column, format: "tool" },
      places: placesIn(root),
    }),
  });
}

/** Of names whose owners are in other files. */
function placesIn(root: ObjectNode): Record<string, TextPlace> | undefined {
  const places: Record<string, TextPlace> = {};
  const preferred = nodeAt(root, "default_implementation");
  if (preferred?.kind === "string") places.default_implementation = placeOf(preferred);
  for (const field of ["secrets", "tools"]) {
    const list = nodeAt(root, "requires", field);
    for (const item of list?.kind === "list" ? list.items : [])
      places[`requires.${field}:${String(toPlain(item))}`] = placeOf(item);
  }
  return Object.keys(places).length === 0 ? undefined : places;
}

/** `output: null` is an output; without the key there is none. */
function toExample(
  example: NonNullable<CheckedTool["examples"]>[number],
  node: TextNode | undefined,
): ContractExample {
  const output = nodeAt(node, "output");
  return definedOnly<ContractExample>({
    name: example.name,
    input: example.input,
    output: output === undefined ? undefined : (toPlain(output) as Json),
    note: example.note,
  });
}
