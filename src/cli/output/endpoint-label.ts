// Labels for server endpoints: the command line or URL, with values that may be secret hidden.

import {
  type ContractsEndpoint,
  type ConfiguredEndpoint,
  type Invocation,
  type InvokedServer,
  type LocalProgram,
  type Template,
  toCommandLine,
} from "../../model/index.ts";
import { count } from "../terminal/layout.ts";

const HIDDEN = "…";
const MOST_HOSTS = 3;
const SECRET_NAME =
  /(?:^|[^a-z])(?:token|key|secret|passw(?:or)?d|passphrase|pwd|credentials?|authorization|auth|pat|cookie|bearer)(?:$|[^a-z])|(?:token|key|secret|password)$|(?:^|[^a-z])(?:pass|pw|passcode)$/;
/** Prefixes of the API keys of well-known services. */
const KEY_PREFIX =
  /^(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[a-z]|npm|AKIA|ASIA|AIza|ya29|eyJ|hf|ntn|secret|lin_api)[-_.A-Za-z0-9]{12,}$/;

/** The command line or URL. Values that may be secret are shown as `…`; references such as `${NAME}` stay. */
export function endpointLabel(endpoint: ConfiguredEndpoint): string {
  if (endpoint.transport === "invoke") return invokedLabel(endpoint.server);
  if (endpoint.transport === "contracts") return contractsLabel(endpoint);
  if (endpoint.transport !== "stdio")
    return endpoint.program === undefined ? urlLabel(endpoint.url) : programLabel(endpoint.program);
  return programLabel(endpoint);
}

function contractsLabel({ contracts, drivers }: ContractsEndpoint): string {
  return `${count(contracts.length, "contract")}, served by ${drivers.map(({ driver }) => driver.id).join(", ")}`;
}

/** `my-tools 1.0.0: 2 commands, 1 HTTP request to https://api.example.com` */
function invokedLabel(server: InvokedServer): string {
  const { info, tools, prompts, resources, resourceTemplates } = server;
  const all = [...tools, ...prompts, ...resources, ...resourceTemplates].map(({ invocation }) => invocation);
  const hosts = [...new Set(all.flatMap(hostOf))];
  const requests = all.filter(({ kind }) => kind === "http").length;
  const more = hosts.length > MOST_HOSTS ? ` and ${hosts.length - MOST_HOSTS} more` : "";
  const parts = [
    ...(requests === all.length ? [] : [count(all.length - requests, "command")]),
    ...(requests === 0
      ? []
      : [`${count(requests, "HTTP request")} to ${hosts.slice(0, MOST_HOSTS).join(", ")}${more}`]),
  ];
  return `${info.name} ${info.version}: ${parts.length === 0 ? "nothing" : parts.join(", ")}`;
}

/** Scheme and host of an HTTP request, which never hold a value of a call. User names and passwords are left out. */
function hostOf(invocation: Invocation): string[] {
  if (invocation.kind !== "http") return [];
  const text = textOf(invocation.url);
  const [, scheme = "", host = ""] = /^([a-z]+:\/\/)?(?:[^/?#]*@)?([^/?#]*)/i.exec(text) ?? [];
  return [`${scheme}${host}`];
}

function textOf(url: Template): string {
  return url
    .map((part) => (part.kind === "text" ? part.text : part.kind === "env" ? `\${${part.name}}` : "/"))
    .join("");
}

function programLabel(program: LocalProgram): string {
  if (program.kind === "package")
    return [program.package, ...maskedWords(program.args ?? [])].map(quoteWord).join(" ");
  const { command, args } = toCommandLine(program);
  return [wordLabel(command), ...args.map((word, index) => argumentLabel(word, args[index - 1]))]
    .map(quoteWord)
    .join(" ");
}

/** The words of a command line, with values that may be secret hidden. */
export function maskedWords(words: readonly string[]): string[] {
  return words.map((word, index) =>
    words[index - 2] === "--setenv" ? HIDDEN : argumentLabel(word, words[index - 1]),
  );
}

/** The URL without user, query and fragment, and without path segments that look like keys. */
function urlLabel(url: string): string {
  const [, scheme = "", place = "", rest = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?(?:[^/?#]*@)?([^?#]*)(.*)$/is.exec(withoutDefaults(url)) ?? [];
  const shown = place
    .split("/")
    .map((segment, index) => (index > 0 && looksRandom(segment) ? HIDDEN : segment))
    .join("/");
  return `${scheme}${shown}${rest === "" ? "" : `${rest[0]}${HIDDEN}`}`;
}

function argumentLabel(word: string, before: string | undefined): string {
  const flag = /^--?([A-Za-z][\w.-]*)$/.exec(before ?? "")?.[1];
  if (flag !== undefined && isSecretName(flag) && !word.startsWith("-")) return maskText(word);
  return wordLabel(word);
}

function wordLabel(word: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word)) return urlLabel(word);
  const [, name, mark = "", value = ""] = /^(-{0,2}[A-Za-z][\w.-]*)(=|:\s*)(.+)$/s.exec(word) ?? [];
  if (name !== undefined && (isSecretName(name) || looksRandom(value)))
    return `${name}${mark}${maskText(value)}`;
  if (name !== undefined && mark === "=" && /^[a-z][a-z0-9+.-]*:\/\//i.test(value))
    return `${name}=${urlLabel(value)}`;
  return looksRandom(word) || /^(?:bearer|basic)\s/i.test(word) ? maskText(word) : withoutDefaults(word);
}

/** Hides literal values; references only name the place of a value. */
function maskText(text: string): string {
  const references = withoutDefaults(text).match(/(?<!\$)\$\{[^{}]*\}/g) ?? [];
  const literal = text.replace(/(?<!\$)\$\{[^{}]*\}/g, "").replace(/^(?:bearer|basic|token)\s*/i, "");
  return references.length > 0 && literal.trim() === "" ? withoutDefaults(text) : HIDDEN;
}

function withoutDefaults(text: string): string {
  return text.replace(/(\$\{[^{}]*?:-)[^{}]+\}/g, `$1${HIDDEN}}`);
}

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase());
}

/** True for long text of letters and digits that does not consist of words, a path, a version or a package name. */
export function looksRandom(text: string): boolean {
  if (text.includes("${")) return false;
  if (KEY_PREFIX.test(text)) return true;
  return /^[A-Za-z0-9_+=-]{20,}$/.test(text) && /\d/.test(text) && /[A-Za-z]/.test(text) && !isWords(text);
}

/** True for words and numbers such as `server-everything-2025`. */
function isWords(text: string): boolean {
  return text.split(/[-_]/).every((part) => /^(?:[A-Za-z]{0,16}|v?\d{1,4}|[a-z]{2,12}\d{1,2})$/.test(part));
}

export function quoteWord(word: string): string {
  return word === "" || /[\s"'\\]/.test(word) ? JSON.stringify(word) : word;
}
