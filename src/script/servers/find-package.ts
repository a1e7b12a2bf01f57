// Finds the server of a package among the server configs of a workspace.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import { type ServerConfig, parseProgram } from "../../model/index.ts";
import type { LockedServerPackage } from "./locked-packages.ts";

/**
 * The server that the lock file or the config says is this package; else the one that runs the npm package of this name; else the
 * one whose alias is the module part: `github-mcp` or `github` for `@alice/github-mcp`.
 */
export function findPackageServer(
  packageName: string,
  servers: readonly ServerConfig[],
  locked: ReadonlyMap<string, LockedServerPackage> = new Map(),
): ServerConfig {
  const usable = servers.filter(({ endpoint }) => endpoint.transport !== "contracts");
  const module = packageName.replace(/^@[^/]*\//, "");
  const aliases = [module, module.replace(/-mcp$/, "")];
  const rules: readonly ((server: ServerConfig) => boolean)[] = [
    ({ alias }) => locked.get(alias)?.name === packageName,
    (server) => nameOf(server, "package") === packageName,
    (server) => nameOf(server, "npm") === packageName,
    // A server that is another package is not meant, whatever its alias is.
    (server) =>
      aliases.includes(server.alias) && !locked.has(server.alias) && nameOf(server, "package") === undefined,
  ];
  for (const rule of rules) {
    const found = usable.filter(rule).toSorted((a, b) => aliasRank(a, aliases) - aliasRank(b, aliases));
    const [first, second] = found;
    if (first === undefined) continue;
    if (second === undefined || aliasRank(first, aliases) < aliasRank(second, aliases)) return first;
    throw new PortolanError(
      "NAME_AMBIGUOUS",
      `Several servers of this workspace run the package ${packageName}.`,
      {
        hint: `The servers are ${found.map(({ alias }) => alias).join(", ")}. Give one of them the alias ${aliases.at(-1)}.`,
      },
    );
  }
  const near = didYouMean(
    aliases.at(-1) ?? module,
    usable.map(({ alias }) => alias),
  );
  throw new PortolanError("SERVER_UNKNOWN", `No server of this workspace runs the package ${packageName}.`, {
    hint: `Add it: portolan add ${packageName}, or portolan add ${aliases.at(-1)} -- npx -y ${packageName}${near === undefined ? "" : `. ${near}`}`,
  });
}

function aliasRank({ alias }: ServerConfig, aliases: readonly string[]): number {
  const rank = aliases.indexOf(alias);
  return rank === -1 ? aliases.length : rank;
}

function nameOf({ endpoint }: ServerConfig, kind: "npm" | "package"): string | undefined {
  if (endpoint.transport !== "stdio") return undefined;
  try {
    const found = parseProgram(endpoint);
    if (found.kind === "package" && kind === "package")
      return found.reference.kind === "package" ? found.reference.name : undefined;
    return found.kind === "npm" && kind === "npm" ? found.name : undefined;
  } catch {
    // A command that a package runner cannot run has no package; its start reports why.
    return undefined;
  }
}
