// Resolves a host name with the hosts file and the name servers of this machine. It avoids getaddrinfo, which
// blocks a thread of the shared pool for as long as a name server is silent and cannot be cancelled.

import { Resolver } from "node:dns/promises";
import { readFile, stat } from "node:fs/promises";
import { isIP } from "node:net";
import { isLocalhostName } from "../../base/net/addresses.ts";

export interface NameFiles {
  readonly hosts: string;
  readonly resolv: string;
}

const OF_THE_SYSTEM: NameFiles = { hosts: "/etc/hosts", resolv: "/etc/resolv.conf" };
/** Timeout of the first query to a name server; c-ares doubles it for the second. */
const ANSWER_MS = 1500;
const MAX_SUFFIXES = 6;

/** Throws if the name has no address. Addresses found before the signal are returned. */
export async function lookUp(
  host: string,
  signal: AbortSignal,
  files: NameFiles = OF_THE_SYSTEM,
): Promise<readonly string[]> {
  if (isLocalhostName(host)) return ["127.0.0.1", "::1"];
  const written = (await hostsOf(files.hosts)).get(host);
  if (written !== undefined) return written;
  for (const name of await fullNames(host, files.resolv)) {
    signal.throwIfAborted();
    const found = await query(name, signal);
    if (found.length > 0) return found;
  }
  throw new Error(`${host} has no address`);
}

async function query(name: string, signal: AbortSignal): Promise<readonly string[]> {
  // One resolver per query: it reads the current settings, and cancelling it affects no other query.
  const resolver = new Resolver({ timeout: ANSWER_MS, tries: 2 });
  const cancel = (): void => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** A short name may belong to one of the machine's search domains, for example inside of a cluster. */
async function fullNames(host: string, file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  let suffixes: string[] = [];
  let dots = 1;
  for (const line of text.split("\n")) {
    const [keyword, ...words] = line.trim().split(/\s+/);
    // The last such line wins.
    if (keyword === "search" || keyword === "domain") suffixes = words;
    const number = /\sndots:(\d+)/.exec(keyword === "options" ? line : "")?.[1];
    if (number !== undefined) dots = Number(number);
  }
  if (host.split(".").length > dots) return [host];
  const own = suffixes.slice(0, MAX_SUFFIXES).map((suffix) => suffix.replace(/^\.|\.$/g, ""));
  return [...own.filter((suffix) => suffix !== "").map((suffix) => `${host}.${suffix}`), host];
}

type Hosts = ReadonlyMap<string, readonly string[]>;
/** The hosts file of this machine, until it changes. */
let read: { readonly version: string; readonly hosts: Hosts } | undefined;

/** The hosts file may have a hundred thousand lines, so that it is read again only if it has changed. */
async function hostsOf(file: string): Promise<Hosts> {
  try {
    const { ino, size, mtimeMs } = await stat(file);
    const version = [file, ino, size, mtimeMs].join(" ");
    if (read?.version !== version) read = { version, hosts: parseHosts(await readFile(file, "utf8")) };
    return read.hosts;
  } catch {
    return new Map();
  }
}

function parseHosts(text: string): Hosts {
  const hosts = new Map<string, string[]>();
  for (const line of text.split("\n")) {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, "");
      const known = hosts.get(key);
      if (known === undefined) hosts.set(key, [address]);
      else known.push(address);
    }
  }
  return hosts;
}
