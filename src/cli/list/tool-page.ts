// One tool in full: its description, its arguments one by one, its result, and an example call.

import type { ToolDefinition } from "../../model/index.ts";
import { enumOf, type Property, resolveSchema, shapeOf } from "../arguments/json-schema.ts";
import { exampleCall } from "../arguments/example-call.ts";
import { printSignature, printType } from "../arguments/signature-print.ts";
import type { Output } from "../output/output.ts";
import { displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine, plainText, toJsonText } from "../terminal/safe-text.ts";
import type { ListOptions } from "./view.ts";

export interface ToolPage {
  readonly tool: ToolDefinition;
  /** The words of a call before its arguments. */
  readonly target: readonly string[];
  /** The words after the arguments: `--` and a command. */
  readonly end: readonly string[];
}

export function describeToolPage(
  { tool, target, end }: ToolPage,
  { colors, width }: Pick<Output, "colors" | "width">,
  { schema = false }: ListOptions,
): string {
  const { inputSchema, outputSchema } = tool;
  const sections: string[] = [];
  const add = (title: string, text: string): void => {
    if (text !== "") sections.push(`${colors.bold(title)}\n${indent(text)}`);
  };
  const room = width === undefined ? undefined : width - 2;
  const title = typeof tool.title === "string" ? ` ${colors.dim(plainLine(tool.title, 200))}` : "";
  const facts = annotationsOf(tool);
  sections.push(
    [`${colors.cyan(plainLine(tool.name, 200))}${title}`, ...(facts === "" ? [] : [colors.dim(facts)])].join(
      "\n",
    ),
  );
  if (typeof tool.description === "string") sections.push(wrap(plainText(tool.description).trim(), width));
  const properties = [...shapeOf(inputSchema, inputSchema).properties.values()];
  add(
    "Arguments",
    properties.length === 0
      ? "none"
      : properties.map((property) => describeArgument(property, tool, { colors, room })).join("\n"),
  );
  add("Result", outputSchema === undefined ? "" : plainText(printType(outputSchema, { all: true })));
  add("Signature", wrap(plainText(printSignature(tool, { all: true }).signature), room, 2));
  if (schema) {
    add("Input schema", toJsonText(inputSchema, 2));
    if (outputSchema !== undefined) add("Output schema", toJsonText(outputSchema, 2));
  }
  // An example is never wrapped, so that it can be copied.
  add("Example", plainLine([exampleCall(tool, target), ...end].join(" "), 4_000));
  return sections.join("\n\n");
}

function describeArgument(
  { name, required, schema }: Property,
  tool: ToolDefinition,
  { colors, room }: { colors: Output["colors"]; room: number | undefined },
): string {
  const own = resolveSchema(schema, tool.inputSchema) ?? {};
  const values = enumOf(own);
  const type =
    values === undefined ? typeText(own, tool) : values.map((value) => JSON.stringify(value)).join(" | ");
  const facts = [
    required ? "required" : "optional",
    ...(own["default"] === undefined ? [] : [`default ${plainLine(JSON.stringify(own["default"]), 100)}`]),
  ];
  const head = `${colors.cyan(plainLine(name, 100))}  ${plainLine(type, 500)}  ${colors.dim(facts.join(", "))}`;
  const description = typeof own["description"] === "string" ? plainText(own["description"]).trim() : "";
  const text = wrap(description, room === undefined ? undefined : room - 4);
  const shown = room !== undefined && displayWidth(head) > room ? wrap(head, room, 2) : head;
  return text === "" ? shown : `${shown}\n${indent(text)}`;
}

/** The type of an argument; its `$ref`s are those of the whole schema. */
function typeText(schema: Readonly<Record<string, unknown>>, { inputSchema }: ToolDefinition): string {
  const { $defs, definitions } = inputSchema;
  return printType({ $defs, definitions, ...schema }, { all: true });
}

const ANNOTATIONS: readonly (readonly [string, boolean, string])[] = [
  ["readOnlyHint", true, "read-only"],
  ["destructiveHint", true, "destructive"],
  ["idempotentHint", true, "idempotent"],
  ["openWorldHint", true, "reaches other systems"],
];

function annotationsOf({ annotations }: ToolDefinition): string {
  const given = (annotations ?? {}) as Readonly<Record<string, unknown>>;
  return ANNOTATIONS.filter(([name, value]) => given[name] === value)
    .map(([, , text]) => text)
    .join(", ");
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, "  ");
}
