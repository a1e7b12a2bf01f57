// Decides whether a server of the workspace replaces a server of a client: the same program or address, compared by meaning.

import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ClientServer } from "../../formats/clients/index.ts";
import {
  knownServer,
  parseReferences,
  programWords,
  type ServerConfig,
  toCommandLine,
  unsetDataFile,
} from "../../model/index.ts";

export type Match =
  /** The workspace declares the same server. */
  | { readonly kind: "replaced"; readonly by: string }
  /** The workspace has the same program or address, and something else differs. */
  | { readonly kind: "differs"; readonly by: string; readonly reason: string }
  | { readonly kind: "missing" };

/**
 * `declared` are the servers of the workspace, without those that it reads from the client's own file. `home` is the home folder of
 * the user, where Portolan suggests data files.
 */
export function matchServer(server: ClientServer, declared: readonly ServerConfig[], home: string): Match {
  let near: Match = { kind: "missing" };
  const sameNameFirst = declared.toSorted(
    (a, b) => Number(b.alias === server.alias) - Number(a.alias === server.alias),
  );
  for (const ours of sameNameFirst) {
    if (!runsTheSame(server, ours)) continue;
    const reason = difference(server, ours, suggestedData(server, home));
    if (reason === undefined) return { kind: "replaced", by: ours.alias };
    if (near.kind === "missing") near = { kind: "differs", by: ours.alias, reason };
  }
  return near;
}

/** How a server differs from the one of the same name in the workspace, if that is another program or address. */
export function namesakeDifference(
  { alias, endpoint: theirs }: ClientServer,
  declared: readonly ServerConfig[],
): string | undefined {
  const ours = declared.find((one) => one.alias === alias)?.endpoint;
  if (ours === undefined) return undefined;
  const isLocal = theirs.transport === "stdio" && ours.transport === "stdio";
  const what = isLocal
    ? fits(toCommandLine(theirs).command, toCommandLine(ours).command)
      ? "arguments differ"
      : "command differs"
    : theirs.transport === ours.transport
      ? "address differs"
      : "transport differs";
  return `it is not the server ${alias} of this workspace: its ${what}`;
}

/** True for two entries of clients' files that have the same program or address and the same settings; names may differ. */
export function isSameServer(a: ClientServer, b: ClientServer): boolean {
  const replaces = (one: ClientServer, other: ClientServer): boolean =>
    runsTheSame(one, other) && difference({ ...one, envFile: undefined }, other, {}) === undefined;
  // A reference replaces a plain value, but is not the same.
  return a.envFile === b.envFile && replaces(a, b) && replaces(b, a);
}

function runsTheSame({ endpoint: theirs }: ClientServer, { endpoint: ours }: ServerConfig): boolean {
  if (theirs.transport !== ours.transport) return false;
  if (theirs.transport === "stdio" && ours.transport === "stdio") {
    const [a, b] = [toWords(toCommandLine(theirs)), toWords(toCommandLine(ours))];
    return a.length === b.length && b.every((word, index) => fits(a[index] ?? "", word));
  }
  if (!("url" in theirs && "url" in ours)) return false;
  return toUrl(theirs.url) === toUrl(ours.url) || fits(theirs.url, ours.url);
}

/** A reference in a text of the workspace stands for any plain value of the client: `Bearer ${KEY}` for `Bearer x`. */
function fits(theirs: string, ours: string): boolean {
  if (theirs === ours) return true;
  const { parts } = parseReferences(ours);
  const isOpen = (index: number): boolean => parts.at(index)?.kind !== "text";
  const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  if (texts.length === parts.length) return false;
  let from = 0;
  for (const text of texts) {
    const at = theirs.indexOf(text, from);
    if (at < 0 || (from === 0 && at > 0 && !isOpen(0))) return false;
    from = at + text.length;
  }
  return isOpen(-1) || theirs.endsWith(texts.at(-1) ?? "");
}

/** Flags that only stop questions of npx say nothing about the server. */
function toWords({ command, args }: { command: string; args: readonly string[] }): readonly string[] {
  const isNpx = /(?:^|[\\/])npx(?:\.cmd)?$/.test(command);
  const cut = args.findIndex((word) => !/^(?:-y|--yes|-q|--quiet)$/.test(word));
  return isNpx ? ["npx", ...args.slice(Math.max(0, cut))] : [command, ...args];
}

function toUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}

/** Variables by name. */
type Values = Readonly<Record<string, string>>;

/** The variable that Portolan adds if the user agrees to the suggested place for the server's data; empty for other servers. */
function suggestedData(server: ClientServer, home: string): Values {
  const known = knownServer(programWords(server));
  const data = known && unsetDataFile(server, known, home);
  return data === undefined ? {} : { [data.variable]: data.file };
}

/** A setting in which the servers differ; values are never named. `added` are variables that only the workspace may have. */
function difference(theirs: ClientServer, ours: ServerConfig, added: Values): string | undefined {
  if (theirs.enabled && !ours.enabled) return `${ours.alias} is disabled in the workspace`;
  if (!theirs.enabled && ours.enabled) return "it is disabled in the client, but enabled in the workspace";
  if (theirs.envFile !== undefined) return "its variables come from a file that only this client reads";
  const values = valuesDifference(theirs, ours, added);
  if (values !== undefined) return values;
  if (!isDeepStrictEqual(theirs.allowTools ?? [], ours.allowTools ?? []))
    return "its list of allowed tools differs from the workspace";
  const blocked = new Set(ours.blockTools);
  if (theirs.blockTools?.some((tool) => !blocked.has(tool)) === true)
    return "it blocks tools that the workspace does not block";
  return undefined;
}

function valuesDifference(theirs: ClientServer, ours: ServerConfig, added: Values): string | undefined {
  const [a, b] = [theirs.endpoint, ours.endpoint];
  if (a.transport === "stdio" && b.transport === "stdio") {
    const isOther = a.cwd !== undefined && !isSameFolder(a.cwd, ours);
    if (isOther) return "its working directory differs from the workspace";
    const own = Object.entries(b.env ?? {}).filter(([name, text]) => added[name] !== text);
    const name = otherValue(a.env, Object.fromEntries(own), (key) => key);
    return name === undefined ? undefined : `its variable ${name} differs from the workspace`;
  }
  if (!("url" in a) || !("url" in b)) return undefined;
  const name = otherValue(a.headers, b.headers, (key) => key.toLowerCase());
  return name === undefined ? undefined : `its header ${name} differs from the workspace`;
}

function isSameFolder(cwd: string, ours: ServerConfig): boolean {
  const own = ours.endpoint.transport === "stdio" ? ours.endpoint.cwd : undefined;
  return own !== undefined && resolve(own) === resolve(cwd);
}

/** The first name that only one of the two has, or whose values differ. */
function otherValue(
  theirs: Values = {},
  ours: Values = {},
  fold: (name: string) => string,
): string | undefined {
  const folded = (values: Values): Map<string, string> =>
    new Map(Object.entries(values).map(([name, text]) => [fold(name), text]));
  const [a, b] = [folded(theirs), folded(ours)];
  return [...Object.keys(theirs), ...Object.keys(ours)].find((name) => {
    const [value, own] = [a.get(fold(name)), b.get(fold(name))];
    return value === undefined || own === undefined || !fits(value, own);
  });
}
