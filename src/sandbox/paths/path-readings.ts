// All paths that a program could read from a text: with its URI decoded, its escapes decoded, its ends trimmed, or
// as it is.

import { expandHome } from "./paths.ts";

const MAX_LENGTH = 4096;
const SCHEME = /^[a-z][\d+.a-z-]+:/i;
const FILE = /^file:/i;
/** `jar:file:/…`, `view-source:file:/…`, `git+file:/…`: some programs remove the outer scheme. */
const NESTED_FILE = /^(?:[\d.a-z-]*[:+])+(file:[/\\].*)$/is;
const ENCODED_SEPARATOR = /%(?:2f|5c|00)/i;
/** An encoded percent sign before another escape. */
const ENCODED_TWICE = /%25[\da-f]{2}/i;
/** All control characters except those that URL parsers remove. */
const CONTROL = /[^\P{Cc}\t\n\r]/u;

/** Returns the possible paths; none if the text is no path; a text with the reason if it is refused. */
export function readings(value: string, home: string): string[] | string {
  if (value.length > MAX_LENGTH) return "is too long for a path";
  if (CONTROL.test(value)) return "has a control character in it";
  const plain = asInUrls(value);
  const uri = NESTED_FILE.exec(plain)?.[1] ?? (FILE.test(plain) ? plain : undefined);
  if (uri === undefined) {
    const whole = decode(plain) ?? plain;
    if (FILE.test(whole) || NESTED_FILE.test(whole)) return "has an encoded scheme in it";
    // If a program reads this URI as a path nevertheless, it must not lead upwards.
    if (SCHEME.test(plain)) return leadsUp(whole) ? "leads out of its folder" : [];
  }
  if (ENCODED_SEPARATOR.test(plain)) return "has an encoded separator in it";
  if (ENCODED_TWICE.test(plain)) return "is encoded twice";
  if (/^~[a-z_]/i.test(plain)) return "names the home of a user";
  if (uri === undefined) return pathsOf([value, plain], home);
  const path = pathOfUri(uri);
  if (path === undefined) return "is not a file URI of this machine";
  return decode(path) === undefined ? "is not a well-formed URI" : pathsOf([path], home);
}

function pathsOf(written: readonly string[], home: string): string[] | string {
  const decoded = written.map((one) => decode(one) ?? one);
  if (decoded.some((one) => CONTROL.test(one))) return "has a control character in it";
  const all = [...written, ...decoded, ...decoded.map(asInUrls)];
  const slashed = [...all, ...all.map((one) => one.replaceAll("\\", "/"))];
  return [...new Set([...slashed, ...slashed.map((one) => expandHome(one, home))])];
}

/** URL parsers ignore spaces around a URL, and tabs and line ends anywhere in it. */
function asInUrls(text: string): string {
  const joined = text.replace(/[\t\n\r]+/g, "");
  let [start, end] = [0, joined.length];
  while (joined[start] === " ") start += 1;
  while (end > start && joined[end - 1] === " ") end -= 1;
  return joined.slice(start, end);
}

/**
 * `file:/path`, `file:///path`, `file://localhost/path`. A query or a fragment counts as part of the name, as
 * simple programs read it.
 */
function pathOfUri(uri: string): string | undefined {
  const rest = uri.slice("file:".length);
  const path = rest.startsWith("//") ? /^\/\/(?:localhost)?(\/.*)$/is.exec(rest)?.[1] : rest;
  // With four slashes or more, some programs read a host name.
  return path?.startsWith("/") === true && !path.startsWith("//") ? path : undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Whether the text contains more `..` than names before them. */
function leadsUp(value: string): boolean {
  let depth = 0;
  for (const name of value.split(/[/\\]+/)) {
    depth += name === ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}
