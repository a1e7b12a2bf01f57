// Schema of one value: the single source for reading it, its TypeScript type, its JSON Schema and its row in the docs.

import { type Diagnostics, type TextNode, toLabel } from "../document/index.ts";

export type JsonSchemaObject = { [key: string]: unknown };

/** Passed down through all schemas while one file is read. */
export interface ReadContext {
  readonly diagnostics: Diagnostics;
  /** Relative paths in the file start at this folder. */
  readonly folder: string;
}

type NodeKind = TextNode["kind"];

/** The behaviour of a schema. Builders such as `text()` and `object()` create it. */
export interface SchemaRules<Out> {
  /** Whole sentences, for editors and for the hint about a missing key: what the field sets, its unit, its default. */
  readonly description: string;
  /** Names the right kind of value in messages: "text", "a list". */
  readonly expected: string;
  /** `read` is called only for nodes of these kinds. */
  readonly accepts: readonly NodeKind[];
  /** Returns undefined when the value cannot be used; the reason is then among the diagnostics. */
  read(node: TextNode, context: ReadContext): Out | undefined;
  toJsonSchema(): JsonSchemaObject;
  /** The hint for a node of another kind. */
  readonly wrongKindHint?: (node: TextNode) => string | undefined;
  /** The fields of an object schema, by their names in the code, and the keys that the file uses for them. */
  readonly fields?: Fields;
  readonly keys?: ReadonlyMap<string, string>;
}

/** The properties of a schema as a field of an object. */
interface FieldOptions {
  readonly required?: boolean;
  readonly default?: unknown;
  readonly key?: string;
  readonly aliases?: readonly string[];
}

type Presence = "required" | "default" | "optional";

/** `Key` is the key of the file where `key()` has set it, and "" otherwise. */
export class Schema<Out, In = Out, P extends Presence = "optional", Key extends string = ""> {
  /** Exists only for the compiler. */
  declare readonly types: {
    readonly out: Out;
    readonly in: In;
    readonly presence: P;
    readonly key: Key;
  };
  readonly rules: SchemaRules<Out>;
  readonly field: FieldOptions;

  constructor(rules: SchemaRules<Out>, field: FieldOptions = {}) {
    this.rules = rules;
    this.field = field;
  }

  required(): Schema<Out, In, "required", Key> {
    return new Schema(this.rules, { ...this.field, required: true });
  }

  optional(): Schema<Out, In, "optional", Key> {
    return new Schema(this.rules, { ...this.field, required: false });
  }

  default(value: Out): Schema<Out, In, "default", Key> {
    return new Schema(this.rules, { ...this.field, default: value });
  }

  /** Sets the key that the file uses, where it is not the field's name in snake_case, and further keys with the same meaning. */
  key<const K extends string>(key: K, ...aliases: readonly string[]): Schema<Out, In, P, K> {
    return new Schema(this.rules, { ...this.field, key, aliases });
  }

  describe(description: string): Schema<Out, In, P, Key> {
    return new Schema({ ...this.rules, description }, this.field);
  }

  /** Converts the value after reading. `convert` is called only for values without errors. */
  transform<Next>(
    convert: (value: Out, node: TextNode, context: ReadContext) => Next | undefined,
  ): Schema<Next, In, P, Key> {
    const { rules } = this;
    const read = (node: TextNode, context: ReadContext): Next | undefined => {
      const value = rules.read(node, context);
      return value === undefined || context.diagnostics.hasErrorIn(node)
        ? undefined
        : convert(value, node, context);
    };
    return new Schema<Next, In, P, Key>({ ...rules, read }, this.field);
  }

  /** Leaves the inside of the value to the caller: reading returns the node, if it is of the right kind. */
  deferred(): Schema<TextNode, In, P, Key> {
    return new Schema<TextNode, In, P, Key>({ ...this.rules, read: (node) => node }, this.field);
  }

  /** Changes the JSON Schema for editors, to state rules that a builder cannot express. */
  withJsonSchema(change: (schema: JsonSchemaObject) => JsonSchemaObject): Schema<Out, In, P, Key> {
    const { rules } = this;
    return new Schema({ ...rules, toJsonSchema: () => change(rules.toJsonSchema()) }, this.field);
  }

  read(node: TextNode, context: ReadContext): Out | undefined {
    const { accepts, expected, wrongKindHint } = this.rules;
    if (accepts.includes(node.kind)) return this.rules.read(node, context);
    const label = toLabel(node.path) || "the file";
    context.diagnostics.add(
      node,
      `${label} must be ${expected}, not ${describeActual(node)}`,
      wrongKindHint?.(node),
    );
    return undefined;
  }

  toJsonSchema(): JsonSchemaObject {
    const { description } = this.rules;
    const { default: usual } = this.field;
    return {
      ...(description === "" ? {} : { description }),
      ...(usual === undefined ? {} : { default: usual }),
      ...this.rules.toJsonSchema(),
    };
  }
}

// oxlint-disable-next-line no-explicit-any -- matches a schema of any value
export type AnySchema = Schema<any, any, any, any>;
export type Fields = Readonly<Record<string, AnySchema>>;

/** The type of the value that reading returns. */
export type Value<S extends AnySchema> = S["types"]["out"];
/** The type of the value as a file writes it: under the keys of the file, durations also as texts, defaults left out. */
export type Input<S extends AnySchema> = S["types"]["in"];

/** A whole JSON Schema document for editors. */
export function toJsonSchemaDocument(schema: AnySchema, title: string): JsonSchemaObject {
  return { $schema: "https://json-schema.org/draft/2020-12/schema", title, ...schema.toJsonSchema() };
}

/** Describes a value of the wrong kind. Texts are not repeated, because they may contain secrets. */
function describeActual(node: TextNode): string {
  if (node.kind === "object") return "an object";
  if (node.kind === "list") return "a list";
  if (node.kind === "null") return "nothing";
  if (node.kind === "string") return "text";
  return `the ${node.kind} ${node.source}`;
}

export function describeRange(minimum: number | undefined, maximum: number | undefined): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (maximum !== undefined) return ` of at most ${maximum}`;
  return minimum === undefined ? "" : ` of at least ${minimum}`;
}

/** Markdown table of a format's keys, for the reference pages. The fields of inner objects follow below their row. */
export function toDocsTable(schema: AnySchema): string {
  const rows = rowsOf(schema, "").map((cells) => `| ${cells.join(" | ")} |`);
  return ["| Key | Value | Meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

function rowsOf({ rules }: AnySchema, prefix: string): string[][] {
  const { fields = {}, keys } = rules;
  return Object.entries(fields).flatMap(([name, schema]) => {
    const { aliases = [], required, default: usual } = schema.field;
    const key = `${prefix}${keys?.get(name) ?? name}`;
    const notes = [
      ...(required === true ? ["Required."] : []),
      ...(usual === undefined ? [] : [`Default: \`${JSON.stringify(usual)}\`.`]),
      ...aliases.map((alias) => `Also written \`${alias}\`.`),
    ];
    const meaning = [schema.rules.description, ...notes].filter((part) => part !== "").join(" ");
    const cells = [`\`${key}\``, schema.rules.expected, meaning];
    return [cells.map((cell) => cell.replaceAll("|", "\\|")), ...rowsOf(schema, `${key}.`)];
  });
}
