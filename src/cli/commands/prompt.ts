// `portolan prompt`: one prompt, filled in.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import type { PromptDefinition } from "../../model/index.ts";
import { namedArguments, type Pair, parsePairs, type Problem } from "../arguments.ts";
import { aimAtName } from "../aim.ts";
import type { Cli, Words } from "../connect.ts";
import { findNamed, withoutServer } from "../find-named.ts";
import { setOwn } from "../json-schema.ts";
import { renderPrompt } from "../render.ts";
import { createSaver } from "../save-file.ts";
import { withAim } from "../workspace-session.ts";

export async function prompt(
  cli: Cli,
  words: Words,
  options: { out?: string; force?: boolean },
): Promise<number> {
  const missing = new PortolanError("USAGE", "No prompt is given.", {
    hint: "portolan prompt <server>.<name> key=value, or portolan prompt <target> <name> key=value; portolan list shows the names.",
  });
  const aim = await aimAtName(words, cli, missing);
  const [wanted, ...assignments] = aim.rest;
  if (wanted === undefined) throw missing;
  const saver = await createSaver({ out: options.out, force: options.force, cwd: cli.io.cwd });
  const { pairs, problems } = await parsePairs(assignments, (path) =>
    readFile(resolve(cli.io.cwd, path), "utf8"),
  );
  return withAim(cli, aim, async ({ connection, label, request, otherNames }) => {
    const prompts = (await connection.listPrompts(request("listing the prompts"))).filter(
      (candidate) => typeof candidate.name === "string",
    );
    const definition = findNamed(wanted, "prompt", prompts, otherNames);
    if (definition === undefined) {
      const name = withoutServer(wanted, label);
      const known = prompts.map((candidate) => candidate.name);
      const hint =
        didYouMean(name, known) ??
        (known.length === 0 ? "It has no prompts." : `It has: ${known.slice(0, 20).join(", ")}`);
      throw new PortolanError("PROMPT_NOT_FOUND", `${label} has no prompt ${JSON.stringify(name)}.`, {
        server: label,
        hint,
      });
    }
    const wrong = [...problems, ...checkArguments(pairs, definition, problems)];
    if (wrong.length > 0) {
      const lines = wrong.map(({ key, message }) => `${key} ${message}`);
      throw new PortolanError("INPUT_INVALID", lines.join("\n"), {
        server: label,
        hint: "Arguments of a prompt are text: key=value or key=@file.",
        data: { problems: wrong },
      });
    }
    const { name } = definition;
    const args: Record<string, string> = {};
    for (const { key, text } of pairs) setOwn(args, key, text);
    const result = await connection.getPrompt(name, args, request(`getting ${name}`));
    const { output } = cli;
    if (output.form === "json") output.json(result);
    if (output.form === "text" || options.out !== undefined) {
      const text = await renderPrompt(result, { colors: output.colors, save: saver.save });
      if (output.form === "text") output.print(text);
      else for (const path of saver.saved) output.note(`saved ${path}`);
    }
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
    if (json) problems.push({ key, message: "is text; write key=value" });
    else if (!names.includes(key))
      problems.push({
        key,
        message: `is not known. ${didYouMean(key, names) ?? (names.length === 0 ? "The prompt takes nothing." : `Known: ${names.join(", ")}.`)}`,
      });
    else if (seen.has(key)) problems.push({ key, message: "is given more than once" });
    seen.add(key);
  }
  for (const { name, required } of known)
    if (required && !seen.has(name)) problems.push({ key: name, message: "is required" });
  return problems;
}
