// Finds the server of a package among the server configs of a workspace.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import { type DeclaredServer, recognise } from "../../model/index.ts";

/** A server config that says which package it was added from. */
type PackagedServer = DeclaredServer & { readonly package?: unknown };

/**
 * The server whose `package` is this name, else the one that runs the npm package of this name, else the one whose alias is the
 * module part: `github-mcp` or `github` for `@alice/github-mcp`.
 */
export function findPackageServer(packageName: string, servers: readonly DeclaredServer[]): DeclaredServer {
  const usable = servers.filter(({ endpoint }) => endpoint.transport !== "contracts");
  const module = packageName.replace(/^@[^/]*\//, "");
  const aliases = [module, module.replace(/-mcp$/, "")];
  const rules: readonly ((server: DeclaredServer) => boolean)[] = [
    (server) => withoutVersion((server as PackagedServer).package) === packageName,
    (server) => npmNameOf(server) === packageName,
    // A server of another package must not answer for this one, whatever its alias is.
    (server) => aliases.includes(server.alias) && isUnnamed(server),
  ];
  for (const rule of rules) {
    const found = usable.filter(rule).toSorted((a, b) => aliasRank(a, aliases) - aliasRank(b, aliases));
    const [first, second] = found;
    if (first === undefined) continue;
    if (second === undefined || aliasRank(first, aliases) < aliasRank(second, aliases)) return first;
    throw new PortolanError("NAME_AMBIGUOUS", `Several servers of this workspace are ${packageName}.`, {
      hint: `They are ${found.map(({ alias }) => alias).join(", ")}. Name one of them ${aliases.at(-1)}.`,
    });
  }
  const near = didYouMean(
    aliases.at(-1) ?? module,
    usable.map(({ alias }) => alias),
  );
  throw new PortolanError("SERVER_UNKNOWN", `No server of this workspace is ${packageName}.`, {
    hint: `Add it: portolan add ${packageName}${near === undefined ? "" : `. ${near}`}`,
  });
}

function aliasRank({ alias }: DeclaredServer, aliases: readonly string[]): number {
  const rank = aliases.indexOf(alias);
  return rank === -1 ? aliases.length : rank;
}

function withoutVersion(name: unknown): string | undefined {
  return typeof name === "string" ? name.replace(/(?<=.)@.*$/, "") : undefined;
}

/** True if nothing but the alias says which package a server is. */
function isUnnamed(server: DeclaredServer): boolean {
  return (server as PackagedServer).package === undefined;
}

function npmNameOf({ endpoint }: DeclaredServer): string | undefined {
  if (endpoint.transport !== "stdio") return undefined;
  try {
    const found = recognise(endpoint);
    return found.kind === "npm" ? found.name : undefined;
  } catch {
    // A command that a package runner cannot run has no package; its start reports why.
    return undefined;
  }
}
