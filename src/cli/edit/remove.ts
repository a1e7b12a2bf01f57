// `portolan remove`: removes servers from the workspace's portolan.yaml, and from portolan.lock.

import { dirname } from "node:path";
import { PortolanError, unknownServer } from "../../errors/index.ts";
import { parseWorkspace, removeServer } from "../../formats/workspace/index.ts";
import { lockFileOf, readLock } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { applyToGateways } from "../control/apply.ts";
import type { NeedingConfig } from "../secrets/needs.ts";
import { isOfPackage, storedOnlyFor } from "../secrets/stored-only-for.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { loadSource, type Source } from "../workspace/source.ts";
import { editWorkspaceFile, type WorkspaceFile } from "./workspace-file.ts";

export interface RemoveOptions {
  dryRun?: boolean;
  purge?: boolean;
}

export async function remove(cli: Cli, words: readonly string[], options: RemoveOptions): Promise<number> {
  const { output } = cli;
  const aliases = [...new Set(words)];
  if (aliases.length === 0)
    throw new PortolanError("USAGE", "No name was given.", {
      hint: "portolan remove <name...>. To see the names of the servers: portolan status",
    });
  const dryRun = options.dryRun === true;
  const source = await loadSource(cli).catch(() => undefined);
  const elsewhere = source?.config.servers.filter(({ origin }) => origin.format !== "workspace") ?? [];
  let config: NeedingConfig = { servers: elsewhere };
  const change = (own: WorkspaceFile): string => {
    const { servers, settings } = parseWorkspace(own.text ?? "", own.file);
    const names = servers.map((server) => server.alias);
    for (const alias of aliases)
      if (!names.includes(alias))
        throw unknownServer(
          alias,
          names,
          declaredElsewhere(cli, alias, source) ??
            (names.length === 0 ? `${own.label} has no servers.` : undefined),
        );
    const { gateway, registries } = settings;
    config = { servers: [...servers, ...elsewhere], gateway, registries };
    return aliases.reduce(removeServer, own.text ?? "");
  };
  const planned = await editWorkspaceFile(cli, true, change);
  const { file, label, after } = planned;
  // A lock file that cannot be read must not lose its pins, so it is an error before anything changes.
  const lock = await readLock(lockFileOf(dirname(file)));
  const locked = aliases.filter((alias) => Object.hasOwn(lock.servers, alias));
  const secrets = await storedOnlyFor(cli.io, config, aliases);
  let purged: readonly string[] = [];
  if (!dryRun) {
    if (locked.length > 0) {
      const { saveDecision } = await import("../packages/save.ts");
      await saveDecision(cli, { change, entries: new Map(locked.map((alias) => [alias, undefined])) });
    } else await editWorkspaceFile(cli, false, change);
    const ofPackages = secrets.filter(isOfPackage);
    if (options.purge === true && ofPackages.length > 0) purged = await purge(cli, ofPackages);
  }
  const applied = dryRun ? undefined : await applyToGateways(cli);
  const left = secrets.filter((name) => !purged.includes(name));
  if (output.form === "json")
    output.json({
      ...{ file, servers: aliases, written: !dryRun, text: dryRun ? after : undefined },
      ...(locked.length > 0 ? { locked } : {}),
      ...(secrets.length > 0 ? { secrets: { purged, left } } : {}),
      ...applied?.fields,
    });
  else if (dryRun) output.print(after);
  else {
    const fromLock =
      locked.length === 0
        ? ""
        : locked.length === aliases.length
          ? " and portolan.lock"
          : `, and ${locked.join(", ")} from portolan.lock`;
    const whose = aliases.length === 1 ? "its" : "their";
    output.print(`Removed ${aliases.join(", ")} from ${label}${fromLock}.`);
    if (purged.length > 0) output.print(`Removed ${whose} secrets: ${purged.join(", ")}.`);
    if (left.length > 0)
      output.print(
        `No other server of this workspace uses ${left.length === 1 ? "this stored secret" : "these stored secrets"}: ${left.join(", ")}. To remove ${left.length === 1 ? "it" : "them"}: portolan secrets rm ${left.join(" ")}`,
      );
    applied?.print();
  }
  return applied?.code ?? 0;
}

async function purge(cli: Cli, names: readonly string[]): Promise<readonly string[]> {
  const { openSecrets, readPackageSettings } = await import("../registry/settings.ts");
  const store = openSecrets(cli, await readPackageSettings(cli));
  const purged: string[] = [];
  for (const name of names) if ((await store.remove(name)).length > 0) purged.push(name);
  return purged;
}

/** Says where another config file declares a server with this name. Errors in other files are not reported here. */
function declaredElsewhere(cli: Cli, alias: string, source: Source | undefined): string | undefined {
  const found = source?.config.servers.find((server) => server.alias === alias);
  if (found === undefined || found.origin.format === "workspace") return undefined;
  const { file, line } = found.origin;
  return `The server is declared in ${pathLabeller(cli.io)(file)}:${line}. Remove or disable it there.`;
}
