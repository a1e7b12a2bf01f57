// Finds values in a file that look like plain secrets, and puts references in their place. Values are never part of a message.

import { isSecretName } from "../../../base/text/secret-text.ts";
import { isPlainText } from "../references/pieces.ts";
import type { ClientServer, Path } from "../types.ts";

/** The name of an authentication scheme before the secret itself. */
const SCHEME = /^(?:bearer|basic|token)\s+/i;

/** A text in two parts, the second of which is the secret. */
export interface PlainSecret {
  /** The variable, the header, the option or the parameter. */
  readonly name: string;
  readonly at: Path;
  /** Offsets of the secret in the text at that path. */
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/** Long enough for a secret, and no switch, number, path or placeholder. */
function looksSecret(value: string): boolean {
  const text = value.replace(SCHEME, "");
  if (text.length < 8 || !isPlainText(value)) return false;
  if (/^(true|false|none|null|enabled|disabled|[\d.]+)$/i.test(text)) return false;
  if (/^(\.{0,2}\/|~|[A-Za-z]:\\|https?:)/.test(text)) return false;
  return !/^<.*>$|^\[.*\]$|^(your|my|insert|replace|change|example|xxx|\*\*\*|\.\.\.)/i.test(text);
}

/** Each value of an entry that looks like a secret. */
export function findPlainSecrets({ endpoint }: Pick<ClientServer, "endpoint">): PlainSecret[] {
  if (endpoint.transport === "stdio") {
    const { env = {}, args = [] } = endpoint;
    return [...inMap(env, "env"), ...inArguments(args)];
  }
  return [...inMap(endpoint.headers ?? {}, "headers"), ...inUrl(endpoint.url)];
}

/** The rest of `text` from `from` on, without a scheme such as `Bearer`. */
function secretIn(name: string, at: Path, text: string, from: number): PlainSecret {
  const start = from + (SCHEME.exec(text.slice(from))?.[0].length ?? 0);
  return { name, at, start, end: text.length, value: plainValue(text.slice(start)) };
}

/** The value that a server gets: `$${` stands for `${`. */
function plainValue(text: string): string {
  return text.replaceAll("$${", () => "${");
}

function inMap(map: Readonly<Record<string, string>>, field: string): PlainSecret[] {
  return Object.entries(map).flatMap(([name, value]) =>
    isSecretName(name) && looksSecret(value)
      ? [secretIn(name, [field, name], value, 0)]
      : passwordOf(value, `${name}_PASSWORD`, [field, name]),
  );
}

/** The password of a URL such as `postgres://me:password@db.example.com/x`. */
function passwordOf(url: string, name: string, at: Path): PlainSecret[] {
  const [before = "", password = ""] = /^[a-z][\w+.-]*:\/\/[^/?#@:]*:([^/?#@]*)@/i.exec(url) ?? [];
  if (password === "" || !isPlainText(url)) return [];
  const start = before.length - password.length - 1;
  return [{ name, at, start, end: start + password.length, value: plainValue(password) }];
}

function inArguments(args: readonly string[]): PlainSecret[] {
  const named = args.flatMap((argument, index) => {
    const [, flag = "", joined] = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(argument) ?? [];
    const value = joined ?? args[index + 1] ?? "";
    if (!isSecretName(flag) || !looksSecret(value) || value.startsWith("-")) return [];
    return [
      joined === undefined
        ? secretIn(`--${flag}`, ["args", index + 1], value, 0)
        : secretIn(`--${flag}`, ["args", index], argument, argument.length - joined.length),
    ];
  });
  const others = args.flatMap((argument, index) =>
    named.some(({ at }) => at[1] === index) ? [] : passwordOf(argument, "password", ["args", index]),
  );
  return [...named, ...others];
}

/** Values stay encoded, because a reference in a URL is filled in as it is. */
function inUrl(url: string): PlainSecret[] {
  if (!URL.canParse(url)) return [];
  const found: PlainSecret[] = [];
  const add = (name: string, raw: string, start: number): void =>
    void found.push({ name, at: ["url"], start, end: start + raw.length, value: plainValue(raw) });
  const query = url.split("#", 1)[0]?.indexOf("?") ?? -1;
  if (query >= 0)
    for (const { index, 1: key = "", 2: raw = "" } of url.matchAll(/[?&]([^=&#]+)=([^&#]*)/g)) {
      const name = decoded(key);
      if (index >= query && isSecretName(name) && looksSecret(decoded(raw)))
        add(name, raw, index + 1 + key.length + 1);
    }
  return [...found, ...passwordOf(url, "password", ["url"])];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

/** The endpoint with a reference in place of each secret that `reference` names one for. */
export function withSecretReferences(
  endpoint: ClientServer["endpoint"],
  reference: (secret: PlainSecret) => string | undefined,
): ClientServer["endpoint"] {
  // From the last to the first: the offsets of those before stay as they are.
  const found = findPlainSecrets({ endpoint }).toSorted((a, b) => b.start - a.start);
  let changed = endpoint;
  for (const secret of found) {
    const text = reference(secret);
    if (text !== undefined) changed = replaced(changed, secret, text);
  }
  return changed;
}

function replaced(
  endpoint: ClientServer["endpoint"],
  { at: [field, step], start, end }: PlainSecret,
  text: string,
): ClientServer["endpoint"] {
  const put = (old: string): string => `${old.slice(0, start)}${text}${old.slice(end)}`;
  const inRecord = (
    record: Readonly<Record<string, string>> | undefined,
  ): Readonly<Record<string, string>> | undefined =>
    record &&
    Object.fromEntries(Object.entries(record).map(([key, old]) => [key, key === step ? put(old) : old]));
  if (endpoint.transport === "stdio")
    return field === "env"
      ? { ...endpoint, env: inRecord(endpoint.env) }
      : { ...endpoint, args: endpoint.args?.map((old, index) => (index === step ? put(old) : old)) };
  return field === "headers"
    ? { ...endpoint, headers: inRecord(endpoint.headers) }
    : { ...endpoint, url: put(endpoint.url) };
}
