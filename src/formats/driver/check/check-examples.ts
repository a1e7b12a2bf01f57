// Checks the examples of a contract against its own schemas, because no driver could pass an invalid example.

import type { Diagnostic } from "../../../errors/index.ts";
import { type Contract, isObject, type JsonObject, type JsonSchema } from "../../../model/index.ts";
import { closedSchema, createValidator, formatProblem, type SchemaValidator } from "../../../schema/index.ts";
import { nodeAt, Diagnostics, quoted, type TextNode } from "../../document/index.ts";
import { readFrontmatter } from "../read/frontmatter.ts";

/** `text` is the file that the contract was read from. Schemas that cannot be checked are skipped. */
export async function checkExamples(contract: Contract, text: string): Promise<readonly Diagnostic[]> {
  const { examples, inputs, outputs, origin } = contract;
  if (examples.length === 0) return [];
  const { root } = readFrontmatter(text, origin.file);
  const diagnostics = new Diagnostics(origin.file);
  const [input, output] = await Promise.all([
    createValidator(closedSchema(inputs)),
    createValidator(outputs),
  ]);
  examples.forEach((example, index) => {
    const node = nodeAt(root, "examples", index);
    if (node === undefined) return;
    const common = { name: example.name, node, diagnostics };
    compare(input, withDefaults(example.input, inputs), { ...common, part: "input" });
    if (example.output !== undefined) compare(output, example.output, { ...common, part: "output" });
  });
  return diagnostics.sorted();
}

interface ExamplePart {
  readonly name: string;
  readonly node: TextNode;
  readonly part: "input" | "output";
  readonly diagnostics: Diagnostics;
}

function compare(
  validator: SchemaValidator,
  value: unknown,
  { name, node, part, diagnostics }: ExamplePart,
): void {
  const result = validator.check(value);
  if (result.valid !== false) return;
  for (const problem of result.problems)
    diagnostics.add(
      nearest(nodeAt(node, part) ?? node, problem.path),
      `the ${part} of the example ${quoted(name)} does not match ${part}s: ${formatProblem(problem)}`,
      `Correct the example, or correct ${part}s.`,
    );
}

/** The input with the defaults that a call would get. */
function withDefaults(input: JsonObject, { properties }: JsonSchema): JsonObject {
  if (!isObject(properties)) return input;
  const defaults = Object.entries(properties).flatMap(([name, property]) =>
    isObject(property) && property.default !== undefined ? [[name, property.default] as const] : [],
  );
  return { ...Object.fromEntries(defaults), ...input };
}

/** The node that a JSON Pointer leads to, or the last one on the way. */
function nearest(node: TextNode, pointer: string): TextNode {
  let at = node;
  for (const step of pointer.split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    const next = nodeAt(at, at.kind === "list" ? Number(name) : name);
    if (next === undefined) return at;
    at = next;
  }
  return at;
}
