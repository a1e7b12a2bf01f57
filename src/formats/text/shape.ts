// What a declaration may look like, as data: one description for the checker and for the JSON Schema that editors use.

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
  /** A regular expression without flags. What breaks it is told by the format, which knows the reason. */
  readonly pattern?: string;
}

export interface NumberShape extends About {
  readonly type: "number";
  readonly integer?: true;
  readonly minimum?: number;
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

export interface ListShape extends About {
  readonly type: "list";
  readonly items: Shape;
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
}

/** One of several shapes, told apart by the type of the value. */
export interface UnionShape extends About {
  readonly type: "union";
  readonly options: readonly Shape[];
}

export type Shape =
  | StringShape
  | NumberShape
  | BooleanShape
  | DurationShape
  | ListShape
  | MapShape
  | ObjectShape
  | UnionShape;
