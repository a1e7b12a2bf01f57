// Reads a TOOL.md: text in, a contract and diagnostics out.

import type { Diagnostic } from "../../../errors/index.ts";
import type { Contract, ContractExample, DriverOrigin, Json, TextPlace } from "../../../model/index.ts";
import { definedOnly } from "../../manifest/index.ts";
import { nodeAt, type ObjectNode, Diagnostics, type TextNode, toPlain } from "../../document/index.ts";
import { placeOf } from "../schema/shared-fields.ts";
import { readFrontmatter } from "./frontmatter.ts";
import { type Moved, takeMoved } from "./moved-keys.ts";
import { TOOL, type ToolValue } from "../schema/tool-schema.ts";

export interface ToolFile {
  /** Absent when the file has an error. */
  readonly contract?: Contract;
  readonly diagnostics: readonly Diagnostic[];
}

const DRIVER = "A contract does not describe its implementation; a DRIVER.md does";
const MOVED: Readonly<Record<string, Moved>> = {
  ...Object.fromEntries(
    ["code", "run", "runner", "entry", "execute"].map((key) => [
      key,
      { hint: `${DRIVER}: write one that lists this file under implements.` },
    ]),
  ),
  secrets: {
    hint: `${DRIVER}, with server.env and auth. Declare what the tool needs here, under requires.secrets.`,
  },
  network: {
    hint: `${DRIVER}, with network.egress. Declare what the tool needs here, under requires.network.`,
  },
  ...Object.fromEntries(
    ["kind", "server", "transport", "auth", "install"].map((key) => [
      key,
      { hint: `${DRIVER}, and this key belongs there.` },
    ]),
  ),
  default_driver: { hint: "Rename it to default_implementation." },
};

export function parseTool(text: string, file: string): ToolFile {
  const { root: written, diagnostics: syntax } = readFrontmatter(text, file);
  if (written === undefined) return { diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const root = takeMoved(written, MOVED, diagnostics);
  const tool = TOOL.read(root, { diagnostics, folder: "" });
  if (tool === undefined || diagnostics.hasErrorIn(root)) return { diagnostics: diagnostics.sorted() };
  return { contract: toContract(tool, root, file), diagnostics: diagnostics.sorted() };
}

function toContract(tool: ToolValue, root: ObjectNode, file: string): Contract {
  const { requires = {}, driverConstraints = {}, metadata: written, implements: _, ...fields } = tool;
  const { network = [], secrets = [], tools = [] } = requires;
  const { forbid = [], requireKind = [] } = driverConstraints;
  return definedOnly<Contract>({
    ...fields,
    contextSchema: written?.contextSchema,
    mutates: tool.mutates ?? [],
    requires: { network, secrets, tools },
    driverConstraints: { forbid, requireKind },
    tags: tool.tags ?? [],
    examples: (tool.examples ?? []).map((example, index) =>
      toExample(example, nodeAt(root, "examples", index)),
    ),
    metadata: written?.metadata ?? {},
    origin: definedOnly<DriverOrigin>({
      ...{ file, line: root.line, column: root.column, format: "tool" },
      places: placesIn(root),
    }),
  });
}

/** The places of names that other files define. */
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

/** `output: null` is an output; only an absent key means no output. */
function toExample(
  example: NonNullable<ToolValue["examples"]>[number],
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
