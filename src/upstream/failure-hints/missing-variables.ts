// Hint for a server that ends because variables are not set, which a sandbox does not pass on unless they are granted.

import type { PortolanError } from "../../errors/index.ts";
import { DRIVER_PLACE, IN_DRIVER, IN_PROGRAM } from "../../model/index.ts";

const MAX_NAMED = 4;
/** A name with an underscore, such as SLACK_BOT_TOKEN: other words in capitals are rarely variables. */
const NAME = /(?<![\w/.-])[A-Z][A-Z\d]{0,40}(?:_[A-Z\d]{1,40}){1,8}(?![\w(/])/g;
const MISSING =
  /\b(?:set|missing|required?|requires|environment|undefined|unset|provide)\b|not (?:set|found|provided)|env(?:ironment)? var/i;
/** Codes of errors in capitals: ERR_MODULE_NOT_FOUND, MODULE_NOT_FOUND. */
const CODE = /^(?:ERR|ERROR|E)_|_(?:ERR|ERROR|NOT_FOUND|FAILED)$|^(?:NODE|PYTHON|NPM|UV)_/;

/** The variables in a line; of `A or B` only the first. */
function namesIn(line: string): string[] {
  const found: string[] = [];
  let end: number | undefined;
  for (const { 0: name, index } of line.matchAll(NAME)) {
    if (CODE.test(name)) continue;
    const isOther = end !== undefined && /\bor\b/i.test(line.slice(end, index));
    end = index + name.length;
    if (!isOther) found.push(name);
  }
  return found;
}

/** The commands that store the variables and pass them to the server. `has`: the server gets this variable already. */
export function missingVariablesHint(
  { code, stderr = "" }: PortolanError,
  command: string | undefined,
  has: (name: string) => boolean,
): string | undefined {
  if (code !== "SERVER_START_FAILED" && code !== "SERVER_CRASHED") return undefined;
  const names = new Set<string>();
  for (const line of stderr.slice(-8_192).split("\n"))
    if (line.length <= 1_000 && MISSING.test(line))
      for (const name of namesIn(line)) if (!has(name) && names.size < MAX_NAMED) names.add(name);
  if (names.size === 0) return undefined;
  const all = [...names];
  const fact = `The server may need ${all.join(", ")}, which its config does not set.`;
  const values = all.map((name) => `${name}: \${${name}}`).join(", ");
  if (command === IN_PROGRAM) return `${fact} Set env of the server.`;
  if (command === IN_DRIVER) {
    const secrets = all.map((name) => `${name}: \${secrets.${name}}`).join(", ");
    return `${fact} Add env: { ${secrets} } to server ${DRIVER_PLACE}, and an entry for each secret to a SECRETS.md.`;
  }
  const store = all.map((name) => `portolan secrets set ${name}`).join("; ");
  const pass = `env: { ${values} } in the config of the server`;
  const options = all.map((name) => `--env ${name}`).join(" ");
  return command === undefined
    ? `${fact} On the command line, pass variables of your environment with ${options}. In a config file: store each value (${store}), then add ${pass}.`
    : `${fact} Store each value: ${store}. Then add ${pass}. Or, for variables of your environment: ${command} ${options}`;
}
