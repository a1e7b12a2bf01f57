// What a declaration may look like, as data: one description for the checker and for the JSON Schema that editors use.

import type { AnySchema } from "../schema-builder/schema.ts";

interface About {
  readonly description?: string;
  /** Only for fields of an object: the key must be there. */
  readonly required?: true;
  /** Only for fields of an object: other names for the key. */
  readonly aliases?: readonly string[];
  /** What holds when nothing is written; filled in by the checker. */
  readonly default?: string | number | boolean;
}

export interface StringShape extends About {
  readonly type: "string";
  readonly enum?: readonly string[];
  /** Other words for members of `enum`. */
  readonly synonyms?: Readonly<Record<string, string>>;
  /** Numbers and booleans are taken as they are written. */
  readonly scalars?: true;
  /** May be the empty string. */
  readonly empty?: true;
  /** A regular expression without flags. What breaks it is told by the format, which knows the reason, or by `says`. */
  readonly pattern?: string;
  /** What `pattern` asks for, as a hint: with it the checker tells what breaks the pattern. */
  readonly says?: string;
  /** In characters, as people count them. */
  readonly maxLength?: number;
}

export interface NumberShape extends About {
  readonly type: "number";
  readonly integer?: true;
  readonly minimum?: number;
  readonly maximum?: number;
  /** The only numbers allowed. */
  readonly oneOf?: readonly number[];
}

export interface BooleanShape extends About {
  readonly type: "boolean";
}

/** `30`, `"30s"`, `"500ms"`; the checker gives milliseconds. */
export interface DurationShape extends About {
  readonly type: "duration";
  /** No time at all is allowed. */
  readonly zero?: true;
}

/** `512MB`, `1GiB`, `4096`; the checker gives bytes. */
export interface SizeShape extends About {
  readonly type: "size";
}

export interface ListShape extends About {
  readonly type: "list";
  readonly items: Shape;
  /** Nothing stands in it twice; for texts and numbers. */
  readonly unique?: true;
  /** It has at least one item. */
  readonly filled?: true;
}

/** An object with any keys and values of one shape. */
export interface MapShape extends About {
  readonly type: "map";
  readonly values: Shape;
  readonly keyPattern?: string;
}

/** An object with named fields. Keys that begin with `x-` are the writer's own. */
export interface ObjectShape extends About {
  readonly type: "object";
  readonly fields: Readonly<Record<string, Shape>>;
  /** Other keys are allowed, and left out of the checked value. */
  readonly open?: true;
}

/** Any value; the checker gives it without its places. */
export interface AnyShape extends About {
  readonly type: "any";
}

/** One of several shapes, told apart by the type of the value. */
export interface UnionShape extends About {
  readonly type: "union";
  readonly options: readonly Shape[];
}

/** A part of the file that a schema of the schema builder describes. */
export interface BuiltShape extends About {
  readonly type: "built";
  readonly schema: AnySchema;
}

export type Shape =
  | BuiltShape
  | StringShape
  | NumberShape
  | BooleanShape
  | DurationShape
  | SizeShape
  | ListShape
  | MapShape
  | ObjectShape
  | AnyShape
  | UnionShape;
