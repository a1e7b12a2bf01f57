// Finds values in a file that look like plain secrets. Only their names are reported.

import { isPlainText } from "../references/pieces.ts";
import type { ClientServer, Path } from "../types.ts";

const NAME =
  /(?:^|[^a-z])(?:token|key|secret|passw(?:or)?d|passphrase|pwd|credentials?|authorization|auth|pat|cookie|apikey)(?:$|[^a-z])|token$|apikey$|secret$|password$/;

/** Long enough for a secret, and no switch, number, path or placeholder. */
function looksSecret(value: string): boolean {
  const text = value.replace(/^(bearer|basic|token)\s+/i, "");
  if (text.length < 8 || !isPlainText(value)) return false;
  if (/^(true|false|none|null|enabled|disabled|[\d.]+)$/i.test(text)) return false;
  if (/^(\.{0,2}\/|~|[A-Za-z]:\\|https?:)/.test(text)) return false;
  return !/^<.*>$|^\[.*\]$|^(your|my|insert|replace|change|example|xxx|\*\*\*|\.\.\.)/i.test(text);
}

function isSecretName(name: string): boolean {
  return NAME.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase());
}

/** Name and path of each value of an entry that looks like a secret. */
export function findPlainSecrets({
  endpoint,
}: Pick<ClientServer, "endpoint">): { readonly name: string; readonly at: Path }[] {
  if (endpoint.transport === "stdio") {
    const { env = {}, args = [] } = endpoint;
    return [...inMap(env, "env"), ...inArguments(args)];
  }
  return [...inMap(endpoint.headers ?? {}, "headers"), ...inUrl(endpoint.url)];
}

function inMap(map: Readonly<Record<string, string>>, field: string): { name: string; at: Path }[] {
  return Object.entries(map)
    .filter(([name, value]) => isSecretName(name) && looksSecret(value))
    .map(([name]) => ({ name, at: [field, name] }));
}

function inArguments(args: readonly string[]): { name: string; at: Path }[] {
  return args.flatMap((argument, index) => {
    const [, flag = "", joined] = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(argument) ?? [];
    const value = joined ?? args[index + 1] ?? "";
    return isSecretName(flag) && looksSecret(value) && !value.startsWith("-")
      ? [{ name: `--${flag}`, at: ["args", joined === undefined ? index + 1 : index] }]
      : [];
  });
}

function inUrl(url: string): { name: string; at: Path }[] {
  if (!URL.canParse(url)) return [];
  const { searchParams, password } = new URL(url);
  const names = [...searchParams].filter(([name, value]) => isSecretName(name) && looksSecret(value));
  return [...names.map(([name]) => name), ...(password === "" || !isPlainText(url) ? [] : ["password"])].map(
    (name) => ({ name, at: ["url"] }),
  );
}
