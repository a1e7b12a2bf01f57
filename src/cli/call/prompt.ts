// `portolan prompt`: gets one prompt, with its arguments filled in.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { didYouMean, invalidArguments, PortolanError, unknownPrompt } from "../../errors/index.ts";
import type { PromptDefinition } from "../../model/index.ts";
import { namedArguments, type Pair, parsePairs, type Problem } from "../arguments/arguments.ts";
import { setOwn } from "../arguments/json-schema.ts";
import type { Cli, Words } from "../context.ts";
import { findNamed, withoutServer } from "../target/find-named.ts";
import { resolveName } from "../target/resolve.ts";
import { withTarget } from "../target/session.ts";
import { openSaver, renderPrompt, type ResultOptions, showResult } from "./render.ts";

export async function prompt(cli: Cli, words: Words, options: ResultOptions): Promise<number> {
  const missing = new PortolanError("USAGE", "No prompt was given.", {
    hint: "portolan prompt <server>.<name> key=value, or portolan prompt <target> <name> key=value. To see the prompts of a server: portolan list <server>",
  });
  const target = await resolveName(words, cli, missing);
  const [wanted, ...assignments] = target.rest;
  if (wanted === undefined) throw missing;
  const saver = await openSaver(cli, options);
  const { pairs, problems } = await parsePairs(assignments, (path) =>
    readFile(resolve(cli.io.cwd, path), "utf8"),
  );
  return withTarget(cli, target, async ({ connection, label, request, otherNames }) => {
    const prompts = (await connection.listPrompts(request("listing the prompts"))).filter(
      (candidate) => typeof candidate.name === "string",
    );
    const definition = findNamed(wanted, "prompt", prompts, otherNames);
    if (definition === undefined) {
      const known = prompts.map((candidate) => candidate.name);
      throw unknownPrompt({ server: label, name: withoutServer(wanted, label), known });
    }
    const wrong = [...problems, ...checkArguments(pairs, definition, problems)];
    if (wrong.length > 0) {
      throw invalidArguments({
        ...{ server: label, tool: definition.name, data: { problems: wrong } },
        problems: wrong.map(({ key, message }) => `${key} ${message}`),
        hint: "Arguments of a prompt are text: key=value or key=@file.",
      });
    }
    const { name } = definition;
    const args: Record<string, string> = {};
    for (const { key, text } of pairs) setOwn(args, key, text);
    const result = await connection.getPrompt(name, args, request(`getting ${name}`));
    await showResult(result, renderPrompt, cli, saver, { out: options.out, saveText: false });
    return 0;
  });
}

function checkArguments(
  pairs: readonly Pair[],
  definition: PromptDefinition,
  before: readonly Problem[],
): Problem[] {
  const known = namedArguments(definition).map((argument) => ({
    name: argument.name,
    required: argument.required === true,
  }));
  const names = known.map((argument) => argument.name);
  const problems: Problem[] = [];
  const seen = new Set(before.map((problem) => problem.key));
  for (const { key, json } of pairs) {
    if (json) problems.push({ key, message: `must be text: write ${key}=value, not ${key}:=value` });
    else if (!names.includes(key))
      problems.push({
        key,
        message: `is not known. ${didYouMean(key, names) ?? (names.length === 0 ? "The prompt takes no arguments." : `Arguments of the prompt: ${names.join(", ")}.`)}`,
      });
    else if (seen.has(key)) problems.push({ key, message: "is given more than once" });
    seen.add(key);
  }
  for (const { name, required } of known)
    if (required && !seen.has(name)) problems.push({ key: name, message: "is required" });
  return problems;
}
