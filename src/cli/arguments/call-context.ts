// Context of a contract call: the values of `--context key=value`, checked against the contract's contextSchema.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import type { Contract, JsonObject } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { parsePairs, toArguments } from "./arguments.ts";

/** Converts the values by the contract's schema; undefined when none is given. */
export async function readContext(
  words: readonly string[] | undefined,
  { id, contextSchema }: Pick<Contract, "id" | "contextSchema">,
  { io }: Pick<Cli, "io">,
): Promise<JsonObject | undefined> {
  if (words === undefined || words.length === 0) return undefined;
  if (contextSchema === undefined)
    throw new PortolanError("USAGE", `The contract ${id} takes no context.`, {
      hint: "A contract that does has metadata.contextSchema in its TOOL.md.",
    });
  const { pairs, problems } = await parsePairs(words, (path) => readFile(resolve(io.cwd, path), "utf8"));
  const read = toArguments(pairs, contextSchema, {});
  const wrong = [...problems, ...read.problems].map(({ key, message }) => `${key} ${message}`.trim());
  if (wrong.length === 0) return read.value;
  throw new PortolanError("INPUT_INVALID", `--context: ${[...new Set(wrong)].join("; ")}`, {
    tool: id,
    hint: `It takes ${JSON.stringify(contextSchema).slice(0, 500)}`,
  });
}
