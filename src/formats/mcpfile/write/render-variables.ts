// Names for the variables of a command, which the data no longer has: each its own, and none that a plain gap has.

import { isDeepStrictEqual } from "node:util";
import type { CliInvocation, CliPart, CliVariable } from "../../../model/index.ts";

export interface NamedVariables {
  readonly nameOf: (variable: CliVariable) => string;
  readonly variables: readonly (readonly [string, CliVariable])[];
}

export function nameVariables({ words, shell }: CliInvocation): NamedVariables {
  const parts: readonly CliPart[] = [
    ...words.flatMap((word) => (word.kind === "variable" ? [word] : word.parts)),
    ...(shell?.script ?? []),
  ];
  const taken = new Set(parts.flatMap((part) => (part.kind === "input" ? [part.path.join(".")] : [])));
  const variables: (readonly [string, CliVariable])[] = [];
  for (const part of parts) {
    if (part.kind !== "variable" || find(variables, part.variable) !== undefined) continue;
    const plain = part.variable.path.join(".");
    let name = plain;
    for (let count = 2; taken.has(name); count += 1) name = `${plain}_${count}`;
    taken.add(name);
    variables.push([name, part.variable]);
  }
  return { nameOf: (variable) => find(variables, variable) ?? variable.path.join("."), variables };
}

function find(variables: NamedVariables["variables"], variable: CliVariable): string | undefined {
  return variables.find(([, known]) => isDeepStrictEqual(known, variable))?.[0];
}
