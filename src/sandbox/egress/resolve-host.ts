// All addresses of a name, as this machine finds them: its hosts file, then its name servers. Not by getaddrinfo, which holds a thread
// that the whole program shares for as long as a name server likes to be silent, and cannot be called off.

import { Resolver } from "node:dns/promises";
import { readFile, stat } from "node:fs/promises";
import { isIP } from "node:net";

export interface NameFiles {
  readonly hosts: string;
  readonly resolv: string;
}

const OF_THE_SYSTEM: NameFiles = { hosts: "/etc/hosts", resolv: "/etc/resolv.conf" };
/** For one name server, the first time; c-ares doubles it the second time. */
const ANSWER_MS = 1500;
const MAX_SUFFIXES = 6;

/** Throws when there are none. What was found before the signal came is kept. */
export async function lookUp(
  host: string,
  signal: AbortSignal,
  files: NameFiles = OF_THE_SYSTEM,
): Promise<readonly string[]> {
  if (/(^|\.)localhost$/.test(host)) return ["127.0.0.1", "::1"];
  const written = (await hostsOf(files.hosts)).get(host);
  if (written !== undefined) return written;
  for (const name of await fullNames(host, files.resolv)) {
    signal.throwIfAborted();
    const found = await ask(name, signal);
    if (found.length > 0) return found;
  }
  throw new Error(`${host} has no address`);
}

async function ask(name: string, signal: AbortSignal): Promise<readonly string[]> {
  // One for each: its settings are those of this moment, and calling it off calls off nothing else.
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

/** A short name stands for one of the machine's own domains, too: so it is inside of a cluster, for example. */
async function fullNames(host: string, file: string): Promise<string[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  let suffixes: string[] = [];
  let dots = 1;
  for (const line of text.split("\n")) {
    const [keyword, ...words] = line.trim().split(/\s+/);
    // The last line of this kind counts.
    if (keyword === "search" || keyword === "domain") suffixes = words;
    const number = /\sndots:(\d+)/.exec(keyword === "options" ? line : "")?.[1];
    if (number !== undefined) dots = Number(number);
  }
  if (host.split(".").length > dots) return [host];
  const own = suffixes.slice(0, MAX_SUFFIXES).map((suffix) => suffix.replace(/^\.|\.$/g, ""));
  return [...own.filter((suffix) => suffix !== "").map((suffix) => `${host}.${suffix}`), host];
}

type Hosts = ReadonlyMap<string, readonly string[]>;
let read: { readonly version: string; readonly hosts: Hosts } | undefined;

/** It may have a hundred thousand lines: read again only when it has changed. */
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
