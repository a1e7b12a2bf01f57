// A policy for contracts from the command line: a file that has one, or a few words.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import { parseWorkspace } from "../../formats/workspace/index.ts";
import type { ContractPolicy } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { configError } from "../output/diagnostic.ts";

const WORDS = "allow=<tag>, deny=<tag>, region=<region>, strict-region";

/** In place of what the workspace says: the `contracts` block of a portolan.yaml, or words such as `allow=pii-safe,deny=beta`. */
export async function readPolicy(text: string, cli: Cli): Promise<ContractPolicy> {
  const isFile = /\.ya?ml$/i.test(text) || /^[./~]/.test(text);
  return isFile ? readPolicyFile(text, cli) : parsePolicy(text);
}

async function readPolicyFile(name: string, cli: Cli): Promise<ContractPolicy> {
  const file = resolve(cli.io.cwd, name);
  const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new PortolanError("FILE_FAILED", `--policy ${name} cannot be read (${cause.code}).`, {
      cause,
      hint: `Name a portolan.yaml, or write it out: ${WORDS}.`,
    });
  });
  const { settings, diagnostics } = parseWorkspace(text, file);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw configError(errors, cli);
  if (settings?.contracts === undefined)
    throw new PortolanError("USAGE", `--policy ${name} says nothing under contracts.`);
  return settings.contracts;
}

/** A word without a name belongs to the name before it: `allow=a,b`. */
export function parsePolicy(text: string): ContractPolicy {
  const lists: Record<"allow" | "deny", string[]> = { allow: [], deny: [] };
  let region: string | undefined;
  let strictRegion: true | undefined;
  let current: "allow" | "deny" | undefined;
  for (const word of text.split(",").map((one) => one.trim())) {
    const [, name, value = ""] = /^(allow|deny|region)=(.+)$/.exec(word) ?? [];
    if (name === "allow" || name === "deny") lists[(current = name)].push(value);
    else if (name === "region") [region, current] = [value, undefined];
    else if (word === "strict-region") [strictRegion, current] = [true, undefined];
    else if (current !== undefined && /^[a-z0-9][a-z0-9-]*$/.test(word)) lists[current].push(word);
    else
      throw new PortolanError("USAGE", `--policy: ${JSON.stringify(word)} is not understood.`, {
        hint: `Name a portolan.yaml, or write ${WORDS}, with commas between them.`,
      });
  }
  return {
    ...(lists.allow.length === 0 ? {} : { allowTags: lists.allow }),
    ...(lists.deny.length === 0 ? {} : { denyTags: lists.deny }),
    ...(region === undefined ? {} : { region }),
    ...(strictRegion === undefined ? {} : { strictRegion }),
  };
}
