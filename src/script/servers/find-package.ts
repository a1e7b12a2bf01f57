// Finds the server of a package among the server configs of a workspace.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import { type ServerConfig, parseProgram } from "../../model/index.ts";

/**
 * The server that runs the npm package of this name, else the one whose alias is the module part: `github-mcp` or `github` for
 * `@alice/github-mcp`.
 */
export function findPackageServer(packageName: string, servers: readonly ServerConfig[]): ServerConfig {
  const usable = servers.filter(({ endpoint }) => endpoint.transport !== "contracts");
  const module = packageName.replace(/^@[^/]*\//, "");
  const aliases = [module, module.replace(/-mcp$/, "")];
  const rules: readonly ((server: ServerConfig) => boolean)[] = [
    (server) => npmNameOf(server) === packageName,
    ({ alias }) => aliases.includes(alias),
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
    hint: `Add it: portolan add ${aliases.at(-1)} -- npx -y ${packageName}${near === undefined ? "" : `. ${near}`}`,
  });
}

function aliasRank({ alias }: ServerConfig, aliases: readonly string[]): number {
  const rank = aliases.indexOf(alias);
  return rank === -1 ? aliases.length : rank;
}

function npmNameOf({ endpoint }: ServerConfig): string | undefined {
  if (endpoint.transport !== "stdio") return undefined;
  try {
    const found = parseProgram(endpoint);
    return found.kind === "npm" ? found.name : undefined;
  } catch {
    // A command that a package runner cannot run has no package; its start reports why.
    return undefined;
  }
}
