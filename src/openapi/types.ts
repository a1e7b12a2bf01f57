// What the converter is given and gives back, and the few types that its parts share.

import type { Diagnostic } from "../errors/index.ts";
import type { JsonObject } from "../model/index.ts";

export interface ConvertOptions {
  /** Where the text comes from: chooses the syntax, and is named in diagnostics and in the result. */
  readonly file: string;
  /** Takes the place of every absolute server URL in the description; relative ones are relative to it. */
  readonly baseUrl?: string;
  /** The URL that the description was read from. Without a base URL, relative ones are relative to it. */
  readonly documentUrl?: string;
  /** Patterns with `*` for tool names, `GET /path`, `/path` and `tag:name`. Absent, everything. */
  readonly only?: readonly string[];
  /** The server's name, and the first part of the names of its secrets. Absent, made from the title. */
  readonly name?: string;
}

export interface SkippedOperation {
  /** As `GET /pets/{id}`. */
  readonly operation: string;
  readonly reason: string;
  readonly line: number;
  readonly column: number;
}

export interface ConvertedApi {
  /** The YAML text of a mcpfile; empty when there is nothing to write. */
  readonly mcpfile: string;
  /** How many tools are in it. */
  readonly tools: number;
  readonly skipped: readonly SkippedOperation[];
  /** Secrets that the tools refer to, by name. */
  readonly needs: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

/** Keys and indexes from the root of the description. */
export type Path = readonly (string | number)[];

/** A value of the description that knows where it stands. */
export interface At {
  readonly value: unknown;
  readonly path: Path;
}

/** A JSON Schema as it is written; booleans are schemas too. */
export type Schema = boolean | JsonObject;

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What makes one operation unusable while the others are fine. Never leaves this folder. */
export class Unusable extends Error {
  readonly path: Path;

  constructor(message: string, path: Path) {
    super(message);
    this.path = path;
  }
}
