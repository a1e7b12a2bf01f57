// Finds connections and paths that failed, in a server's error text. A sandbox gives a program its own network and hides paths,
// so Portolan itself sees no refusal.

import { isIP } from "node:net";
import { isLocalhostName, isLoopbackHost } from "../../base/net/addresses.ts";
import { parseUrl, portOf } from "../../base/net/urls.ts";

const MAX_CHARACTERS = 8_192;
const MAX_FOUND = 8;

export interface FailedConnection {
  readonly host: string;
  readonly port: number;
}

const ADDRESS = String.raw`\[?([\da-fA-F.:]{2,45})\]?`;
const HOST = String.raw`([\w.:-]{1,255})`;
const REFUSED = String.raw`[^\n]{0,400}?(?:Errno (?:101|111|113)|[Cc]onnection refused|[Nn]etwork is unreachable)`;

const MESSAGES: readonly RegExp[] = [
  // Node.js: connect ECONNREFUSED 127.0.0.1:5432
  new RegExp(String.raw`\b(?:ECONNREFUSED|ENETUNREACH|EHOSTUNREACH) ${ADDRESS}:(\d{1,5})\b`, "g"),
  // Go: dial tcp 127.0.0.1:5432: connect: connection refused
  new RegExp(String.raw`\bdial tcp ${ADDRESS}:(\d{1,5}): connect: `, "g"),
  // Python, asyncio and aiohttp: Connect call failed ('127.0.0.1', 5432)
  new RegExp(String.raw`\bConnect call failed \('${HOST}', (\d{1,5})`, "g"),
  // Python, urllib3 and requests: HTTPConnectionPool(host='localhost', port=80): Max retries exceeded …
  new RegExp(String.raw`\bHTTPS?Connection(?:Pool)?\(host='${HOST}', port=(\d{1,5})\)${REFUSED}`, "g"),
  // PostgreSQL: connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused
  new RegExp(
    String.raw`\bconnection to server at "${HOST}"[^\n]{0,80}?, port (\d{1,5}) failed${REFUSED}`,
    "g",
  ),
  // redis-py: Error 111 connecting to localhost:6379. Connection refused.
  new RegExp(String.raw`\bError (?:101|111|113) connecting to ${HOST}:(\d{1,5})\b`, "g"),
  // curl: Failed to connect to 127.0.0.1 port 5432
  new RegExp(String.raw`\bFailed to connect to ${HOST} port (\d{1,5})\b`, "g"),
];

/** Each connection once. The loopback addresses are reported as localhost. */
export function failedConnections(text: string): FailedConnection[] {
  const read = edgesOf(text);
  const found = new Map<string, FailedConnection>();
  for (const message of MESSAGES)
    for (const [, host = "", digits] of read.matchAll(message)) {
      const port = Number(digits);
      const named = host === "127.0.0.1" || host === "::1" ? "localhost" : host;
      if (port > 0 && port < 65_536 && found.size < MAX_FOUND)
        found.set(`${named} ${port}`, { host: named, port });
    }
  return [...found.values()];
}

/**
 * Local names and IP addresses in URLs among the arguments of a call. Many servers report only "fetch failed", without the address.
 * Other names are looked up, which the egress proxy sees.
 */
export function argumentConnections(value: unknown): FailedConnection[] {
  return textsIn(value).flatMap((text) => {
    const url = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? parseUrl(text) : undefined;
    if (url === undefined) return [];
    const host = url.hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
    const port = url.port === "" && !/^(?:http|ws)s?:$/.test(url.protocol) ? 0 : portOf(url);
    if (port === 0 || (isIP(host) === 0 && !isLocalhostName(host))) return [];
    return [{ host: isLoopbackHost(host) ? "localhost" : host, port }];
  });
}

const FAILED =
  /\b(?:ENOENT|EACCES|EPERM|EROFS)\b|permission denied|operation not permitted|read-only file ?system|no such file|does ?n[o']t exist|not found|unable to open|cannot (?:open|create|access|read|write)|can't open|failed to open/i;

/** Matches quoted paths with any characters, and bare paths up to the first character that is unusual in a path. */
const PATHS =
  /(['"`])(\/[^'"`\n]{1,1000})\1|[‘“](\/[^’”\n]{1,1000})[’”]|(?<![\w/.:~-])(\/[^\s'"`‘’“”:;,()<>|*?\\]{1,1000})/g;

const REFUSED_WRITE =
  /\b(?:EACCES|EPERM|EROFS)\b|permission denied|operation not permitted|read-only file ?system/i;

const FAILED_READ =
  /\b(?:scandir|opendir|readdir|listdir)\b|(?:could ?n[o']t|cannot|can't|failed to|unable to) (?:read|list)\b/i;

const FAILED_ACCESS =
  /\b(?:ENOENT|EACCES|EPERM|EROFS|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|ETIMEDOUT)\b|permission denied|operation not permitted|read-only file ?system|no such (?:file|host)|unable to open|connection refused|unreachable|name resolution|(?:could ?n[o']t|cannot|failed to) (?:resolve|connect)|fetch failed|not a git repository/i;

/** Whether the text reports a path or a connection that failed, even if it does not say which. */
export function reportsFailedAccess(text: string): boolean {
  return FAILED_ACCESS.test(edgesOf(text));
}

/** Whether the text may report a write that was refused, and not only a path that does not exist. */
export function reportsRefusedWrite(text: string): boolean {
  return REFUSED_WRITE.test(edgesOf(text));
}

/** Whether the text reports that something could not be read. An open that failed may have been one for writing. */
export function reportsFailedRead(text: string): boolean {
  return FAILED_READ.test(edgesOf(text));
}

/** Whether the text says that the server itself refuses a path, because it was not started with that folder. */
export function reportsOwnFolders(text: string): boolean {
  return /outside (?:of )?(?:the )?allowed director/i.test(edgesOf(text));
}

/** Each path once. A text that reports no failure has none. */
export function failedPaths(text: string): string[] {
  const read = edgesOf(text);
  if (!FAILED.test(read)) return [];
  const found = new Set<string>();
  for (const [, , quoted, curly, bare] of read.matchAll(PATHS)) {
    const path = quoted ?? curly ?? bare?.replace(/[.!]+$/, "") ?? "";
    if (path.length > 1 && found.size < MAX_FOUND) found.add(path);
  }
  return [...found];
}

/** Relative paths in messages about refused writes: `EROFS: read-only file system, open 'a/b'`, `[Errno 30] …: 'a/b'`. */
const RELATIVE =
  /(?:\b(?:EROFS|EACCES|EPERM): [^\n']{0,100}, \w+|\[Errno (?:1|13|30)\][^\n']{0,100}:) '([^/'\n][^'\n]{0,1000})'/g;

/** Programs such as rm and mkdir: `cannot remove 'a/b': Read-only file system`. */
const RELATIVE_FIRST =
  /['‘]([^/'‘’\n][^'‘’\n]{0,1000})['’]: (?:Read-only file system|Permission denied|Operation not permitted)/g;

/** Each relative path once that could not be written. */
export function refusedRelativePaths(text: string): string[] {
  const read = edgesOf(text);
  const found = [...read.matchAll(RELATIVE), ...read.matchAll(RELATIVE_FIRST)];
  return [...new Set(found.map(([, path = ""]) => path))].slice(0, MAX_FOUND);
}

/** Paths among the arguments of a call: absolute, in the home folder, or a file: URL. */
export function argumentPaths(value: unknown): string[] {
  return textsIn(value).filter((text) => /^(?:~?\/|file:\/)/.test(text));
}

/** Whether an argument is `~`, the home folder itself. */
export function namesHome(value: unknown): boolean {
  return textsIn(value).includes("~");
}

/** Adds to one list, because it runs for every call. */
function textsIn(value: unknown, depth = 0, found: string[] = []): string[] {
  if (typeof value === "string") {
    if (value.length <= 4_096) found.push(value);
  } else if (typeof value === "object" && value !== null && depth <= 3) {
    const inner: unknown[] = Object.values(value);
    const count = Math.min(inner.length, 100);
    for (let index = 0; index < count; index += 1) textsIn(inner[index], depth + 1, found);
  }
  return found;
}

/** Long texts are read at the beginning and the end only, where errors are. */
function edgesOf(text: string): string {
  if (text.length <= MAX_CHARACTERS * 2) return text;
  return `${text.slice(0, MAX_CHARACTERS)}\n${text.slice(-MAX_CHARACTERS)}`;
}
