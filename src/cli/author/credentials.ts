// Credentials of a server: the values of --env and --header, and likely secrets in its arguments and URL.
// The driver's files refer to them by name and never contain a value.

import { isHttpUrl } from "../../base/net/urls.ts";
import { slugOfEnv } from "../../formats/driver/index.ts";
import type { DriverServer } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { isSecretName, looksRandom } from "../output/endpoint-label.ts";
import type { NamedSecret, SecretNames } from "./existing.ts";

export interface Credentials {
  readonly server: DriverServer;
  /** The secrets in the driver's references. */
  readonly secrets: readonly NamedSecret[];
  /** Their values, which no file may contain. */
  readonly values: readonly string[];
}

/** `base` is the name of the server. */
export function withCredentials(
  server: DriverServer,
  base: string,
  names: SecretNames,
  { options }: Pick<Cli, "options">,
): Credentials {
  const found = new Map<string, NamedSecret>();
  const refer: Refer = (what, value) => {
    const secret = found.get(value) ?? names.take(nameFor(what, base), what);
    found.set(value, secret);
    return reference(secret.name);
  };
  if (server.kind === "remote") {
    const given = remote(server, base, names, options.headers);
    const url = urlWithoutSecrets(server.url, refer);
    return {
      server: { ...given.server, url },
      secrets: [...given.secrets, ...found.values()],
      values: [...Object.values(options.headers), ...found.keys()],
    };
  }
  const secrets = Object.keys(options.env).map((name) => names.take(name, name));
  const env = Object.fromEntries(secrets.map(({ as, name }) => [as, reference(name)]));
  const args = withoutSecrets(server.args, refer);
  return {
    server: { ...server, args, env },
    secrets: [...secrets, ...found.values()],
    values: [...Object.values(options.env), ...found.keys()],
  };
}

/** A variable keeps its name; the name of an option gets the name of the server as a prefix. */
function nameFor(what: string, base: string): string {
  const plain = what.replace(/^-+/, "");
  const isOwn = /^[A-Z][A-Z0-9_]+$/.test(plain) || plain.toLowerCase().includes(base.toLowerCase());
  return isOwn ? plain : `${base}_${plain}`;
}

function remote(
  server: DriverServer & { kind: "remote" },
  base: string,
  names: SecretNames,
  given: Readonly<Record<string, string>>,
): { readonly server: DriverServer & { kind: "remote" }; readonly secrets: readonly NamedSecret[] } {
  const take = (header: string, what: string): NamedSecret => names.take(`${base}_${what}`, header);
  const [first, ...others] = Object.keys(given);
  if (first === undefined) return { server, secrets: [] };
  const isBearer = first.toLowerCase() === "authorization" && /^bearer\s/i.test(given[first] ?? "");
  const main = take(first, isBearer ? "token" : first.replace(/^x-/i, ""));
  const env = main.name;
  const secret = `\${secrets.${env}}`;
  const auth = isBearer ? { token: secret } : { header: first, key: secret };
  const more = others.map((name) => take(name, name.replace(/^x-/i, "")));
  const headers = Object.fromEntries(more.map(({ as, name }) => [as, reference(name)]));
  return {
    server: { ...server, auth, ...(more.length === 0 ? {} : { headers }) },
    secrets: [main, ...more],
  };
}

function reference(name: string): string {
  return `\${secrets.${name}}`;
}

/** The SECRETS.md beside the driver: the secrets, granted to these contracts. */
export function writeSecrets(
  secrets: readonly NamedSecret[],
  driver: string,
  contracts: readonly string[],
): string {
  const grants = contracts.map((id) => `        - { tool: ${asText(id)} }`).join("\n");
  const entries = secrets.map(
    ({ name, as }) => `  - slug: ${slugOfEnv(name)}
    name: ${name}
    description: Value of ${as} for the server of ${driver}.
    access:
      bind:
${grants}
    metadata: { bindings: { env: [${name}] } }`,
  );
  return `---\nsecrets:\n${entries.join("\n")}\n---\n\nThis file contains no secret values. Store each value: ${secrets.map(({ name }) => `portolan secrets set ${name}`).join(", ")}\n`;
}

/** Quotes an id such as 12 or true, which YAML would read as another type. */
function asText(id: string): string {
  return /^[a-z][a-z0-9]*[.-]/.test(id) ? id : JSON.stringify(id);
}

/** Notes about the secrets that the user has to store. */
export function secretNotes({ server, secrets }: Credentials, label: (file: string) => string): string[] {
  return secrets.flatMap(({ name, as, entry, taken }) => {
    if (entry !== undefined)
      return [
        `The value of ${as} comes from the existing secret ${entry.slug}, which ${label(entry.origin.file)} grants to the contracts of the driver.`,
      ];
    const token = server.kind === "remote" ? server.auth?.token : undefined;
    // Portolan itself adds the word before this token.
    const what = token === reference(name) ? "only the token, without the word Bearer" : "it";
    const stored = `The value of ${as} is a secret, so the new files do not contain it. Store ${what}: portolan secrets set ${name}`;
    return taken === undefined
      ? [stored]
      : [
          stored,
          `The new secret has the name ${name}, because ${label(taken.origin.file)} already uses the shorter name for the secret ${taken.slug}. If both secrets have the same value, ${taken.slug} is enough: add the contracts of this driver to access.bind of ${taken.slug} in ${label(taken.origin.file)}, and refer to ${taken.slug} in DRIVER.md.`,
        ];
  });
}

/** Returns the reference that replaces a value; `what` is the option or parameter of the value, such as `--password`. */
type Refer = (what: string, value: string) => string;

/** Options about a secret whose value is not secret: its file, its kind, its lifetime. */
const ABOUT_SECRETS =
  /(?:file|path|dir|folder|name|mode|type|kind|method|env|var|url|uri|host|header|prefix|ttl|expiry|length|size|count)$/i;
/** Values that are modes, not secrets. */
const SETTING =
  /^(?:true|false|yes|no|on|off|none|null|auto|basic|bearer|oauth2?|oidc|token|api-?key|iam|\d{1,3})$/i;
const LOGIN_FLAG = /^(?:u|user|login|auth|basic-?auth|credentials?)$/i;
const PAIRS = /(?:^|;)\s*(?:password|pwd|accountkey|sharedaccesskey|secret)\s*=/i;

/** The words of a command line, with references in place of likely secrets. */
export function withoutSecrets(words: readonly string[], refer: Refer): string[] {
  return words.map((word, index) => {
    const flag = /^--?([A-Za-z][\w.-]*)$/.exec(words[index - 1] ?? "")?.[1];
    return (
      (flag === undefined || word.startsWith("-") ? undefined : valueOf(flag, word, `--${flag}`, refer)) ??
      wordOf(word, refer)
    );
  });
}

/** The URL of a remote server, with references in place of secrets in its query. */
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

/** A connection string, or a document with a secret in it: they are secret as a whole. */
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
  // A key may be a path; a password or a token is none.
  return /key|cert|credentials?$/i.test(name) && /^(?:[~.]{0,2}[/\\]|[A-Za-z]:[/\\])/.test(value);
}
