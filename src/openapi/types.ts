// Types of the converter: options, result, and the types that its parts share.

import type { Diagnostic } from "../errors/index.ts";
import type { JsonObject } from "../model/index.ts";

export interface ConvertOptions {
  /** Path or URL of the text. It selects the syntax, and diagnostics and the result name it. */
  readonly file: string;
  /** Replaces every absolute server URL in the description; relative ones are relative to it. */
  readonly baseUrl?: string;
  /** The URL that the description was read from. Without a base URL, relative ones are relative to it. */
  readonly documentUrl?: string;
  /** Patterns with `*` for tool names, `GET /path`, `/path` and `tag:name`. Default: everything. */
  readonly only?: readonly string[];
  /** Name of the server, and the first part of the names of its secrets. Default: made from the title. */
  readonly name?: string;
  /** `tag`: one file for each tag. `size`: as few files as possible. Default: one file, or one for each tag if that is too large. */
  readonly split?: "tag" | "size";
}

/** One mcpfile of a conversion. */
export interface ConvertedFile {
  /** The file name: `mcpfile.yaml`, or `<tag>.mcpfile.yaml` if there are several files. */
  readonly name: string;
  readonly text: string;
  readonly tools: number;
}

export interface SkippedOperation {
  /** As `GET /pets/{id}`. */
  readonly operation: string;
  readonly reason: string;
  readonly line: number;
  readonly column: number;
}

export interface ConvertedApi {
  /** The mcpfiles; none if there is no tool. */
  readonly files: readonly ConvertedFile[];
  /** The text of the only file; empty if there are none or several. */
  readonly mcpfile: string;
  /** Number of tools in all of them. */
  readonly tools: number;
  readonly skipped: readonly SkippedOperation[];
  /** Secrets that the tools refer to, by name. */
  readonly needs: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Keys and indexes from the root of the description. */
export type Path = readonly (string | number)[];

/** A value of the description with its path. */
export interface At {
  readonly value: unknown;
  readonly path: Path;
}

/** A JSON Schema as it is written; booleans are schemas too. */
export type Schema = boolean | JsonObject;

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The reason why one operation cannot be a tool. Never leaves this room. */
export class Unusable extends Error {
  readonly path: Path;

  constructor(message: string, path: Path) {
    super(message);
    this.path = path;
  }
}
