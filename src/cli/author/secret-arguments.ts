// Secrets among the arguments and in the address of a server: found by their names and their forms, and replaced by references.

import { isHttpUrl } from "../../base/net/urls.ts";
import { isSecretName, looksRandom } from "../output/endpoint-label.ts";

/** Gives the reference that takes the place of a value; `what` is how the server gets it, such as `--password`. */
export type Refer = (what: string, value: string) => string;

/** A flag about a secret whose value is none: where it is, what kind it is, how long it is good. */
const ABOUT_SECRETS =
  /(?:file|path|dir|folder|name|mode|type|kind|method|env|var|url|uri|host|header|prefix|ttl|expiry|length|size|count)$/i;
/** Values that say how, not what. */
const SETTING =
  /^(?:true|false|yes|no|on|off|none|null|auto|basic|bearer|oauth2?|oidc|token|api-?key|iam|\d{1,3})$/i;
const LOGIN_FLAG = /^(?:u|user|login|auth|basic-?auth|credentials?)$/i;
const PAIRS = /(?:^|;)\s*(?:password|pwd|accountkey|sharedaccesskey|secret)\s*=/i;

/** The words of a command line, with references in place of what may be secret. */
export function withoutSecrets(words: readonly string[], refer: Refer): string[] {
  return words.map((word, index) => {
    const flag = /^--?([A-Za-z][\w.-]*)$/.exec(words[index - 1] ?? "")?.[1];
    return (
      (flag === undefined || word.startsWith("-") ? undefined : valueOf(flag, word, `--${flag}`, refer)) ??
      wordOf(word, refer)
    );
  });
}

/** The address of a remote server; a user and a password in it are not expected here. */
export function urlWithoutSecrets(url: string, refer: Refer): string {
  const [, path = "", rest] = /^([^?]*)(?:\?(.*))?$/s.exec(url) ?? [];
  // The first three parts are the scheme, an empty part and the host.
  const place = path
    .split("/")
    .map((part, index) => (index > 2 && looksRandom(part) ? refer("key", part) : part))
    .join("/");
  if (rest === undefined) return place;
  const [query = "", ...fragment] = rest.split("#");
  const parts = query.split("&").map((part) => {
    const [, name, value] = /^([^=]+)=(.+)$/s.exec(part) ?? [];
    if (name === undefined || value === undefined) return part;
    const isNamed = isSecretName(name) || /^(?:code|sig|signature)$/i.test(name);
    const isSecret = (isNamed && !isSetting(name, value)) || looksRandom(value);
    return isSecret ? `${name}=${refer(name, value)}` : part;
  });
  return `${place}?${[parts.join("&"), ...fragment].join("#")}`;
}

/** Replaces the secret in a named value by a reference; undefined when the value contains no secret. */
function valueOf(name: string, value: string, what: string, refer: Refer): string | undefined {
  if (isSecretName(name) && !isSetting(name, value)) {
    const [, scheme = "", rest = value] = /^((?:bearer|basic|token)\s+)(.+)$/is.exec(value) ?? [];
    return `${scheme}${refer(what, rest)}`;
  }
  if (LOGIN_FLAG.test(name) && /^[^\s:/@]+:[^\s@]+$/.test(value)) return refer(what, value);
  return isWholeSecret(value) ? refer(what, value) : undefined;
}

function wordOf(word: string, refer: Refer): string {
  const [, dashes = "", name, mark = "", value = ""] =
    /^(-{0,2})([A-Za-z][\w.-]*)(=|:\s+)(.+)$/s.exec(word) ?? [];
  if (name !== undefined && !PAIRS.test(word)) {
    const what = `${dashes}${name}`;
    const replaced = valueOf(name, value, what, refer) ?? inAddress(value, refer);
    if (replaced !== value) return `${what}${mark}${replaced}`;
    if (looksRandom(value)) return `${what}${mark}${refer(what, value)}`;
    return word;
  }
  const [, scheme, rest] = /^((?:bearer|basic)\s+)(.+)$/is.exec(word) ?? [];
  if (scheme !== undefined && rest !== undefined) return `${scheme}${refer(scheme.trim(), rest)}`;
  if (isWholeSecret(word)) return refer(kindOf(word), word);
  return looksRandom(word) ? refer("key", word) : inAddress(word, refer);
}

function inAddress(text: string, refer: Refer): string {
  return isHttpUrl(text) ? urlWithoutSecrets(text, refer) : text;
}

/** A connection string, or a document with a secret in it: of these no part is a value by itself. */
function isWholeSecret(text: string): boolean {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*:[^/?#]*@/i.test(text)) return true;
  if (
    /^[a-z][a-z0-9+.-]*:\/\//i.test(text) &&
    !isHttpUrl(text) &&
    /[?&;](?:password|pwd|token|secret)=/i.test(text)
  )
    return true;
  return PAIRS.test(text) || isSecretDocument(text);
}

function isSecretDocument(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false;
  let found = false;
  try {
    JSON.parse(text, (key, value: unknown) => {
      if (typeof value === "string" && value !== "" && (isSecretName(key) || looksRandom(value)))
        found = true;
      return value;
    });
  } catch {
    return false;
  }
  return found;
}

function kindOf(text: string): string {
  const scheme = /^([a-z][a-z0-9]*)[a-z0-9+.-]*:\/\//i.exec(text)?.[1];
  if (scheme !== undefined) return `${scheme.toLowerCase()} url`;
  return /^\s*[{[]/.test(text) ? "configuration" : "connection string";
}

function isSetting(name: string, value: string): boolean {
  if (ABOUT_SECRETS.test(name) || SETTING.test(value) || value.includes("${")) return true;
  // A key may be a file; a password or a token is none.
  return /key|cert|credentials?$/i.test(name) && /^(?:[~.]{0,2}[/\\]|[A-Za-z]:[/\\])/.test(value);
}
