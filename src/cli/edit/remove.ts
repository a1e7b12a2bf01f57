// `portolan remove`: removes a server from the workspace's portolan.yaml, and from portolan.lock.

import { dirname } from "node:path";
import { type PortolanError, unknownServer } from "../../errors/index.ts";
import { parseWorkspace, removeServer } from "../../formats/workspace/index.ts";
import { parseReferences, type ServerConfig } from "../../model/index.ts";
import { lockFileOf, readLock } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { applyToGateways } from "../control/apply.ts";
import { takeOneWord } from "../options/usage-error.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { loadSource } from "../workspace/source.ts";
import { editWorkspaceFile, type WorkspaceFile } from "./workspace-file.ts";

export interface RemoveOptions {
  dryRun?: boolean;
  purge?: boolean;
}

export async function remove(cli: Cli, words: readonly string[], options: RemoveOptions): Promise<number> {
  const { output } = cli;
  const hint = "portolan remove <name>; portolan status shows the names.";
  const alias = takeOneWord(words, { command: "remove", noun: "name", hint });
  const dryRun = options.dryRun === true;
  const elsewhere = await declaredElsewhere(cli, alias);
  let secrets: readonly string[] = [];
  const change = (own: WorkspaceFile): string => {
    const servers = own.text === undefined ? [] : parseWorkspace(own.text, own.file).servers;
    if (own.text === undefined || !servers.some((server) => server.alias === alias))
      throw notThere(alias, own, elsewhere);
    secrets = packageSecrets(servers, alias);
    return removeServer(own.text, alias);
  };
  const planned = await editWorkspaceFile(cli, true, change);
  const { file, label, after } = planned;
  // A lock file that cannot be read must not lose its pins, so it is an error before anything changes.
  const lock = await readLock(lockFileOf(dirname(file)));
  const isLocked = Object.hasOwn(lock.servers, alias);
  let purged: readonly string[] = [];
  if (!dryRun) {
    if (isLocked) {
      const { saveDecision } = await import("../packages/save.ts");
      await saveDecision(cli, { alias, change, entry: undefined });
    } else await editWorkspaceFile(cli, false, change);
    if (options.purge === true && secrets.length > 0) purged = await purge(cli, secrets);
  }
  const applied = dryRun ? undefined : await applyToGateways(cli);
  const left = secrets.filter((name) => !purged.includes(name));
  if (output.form === "json")
    output.json({
      ...{ file, server: alias, written: !dryRun, text: dryRun ? after : undefined },
      ...(isLocked ? { locked: true } : {}),
      ...(secrets.length > 0 ? { secrets: { purged, left } } : {}),
      ...applied?.fields,
    });
  else if (dryRun) output.print(after);
  else {
    output.print(`Removed ${alias} from ${label}${isLocked ? " and portolan.lock" : ""}.`);
    if (purged.length > 0) output.print(`Removed its secrets: ${purged.join(", ")}.`);
    if (left.length > 0)
      output.print(
        `Its secrets stay for next time: ${left.join(", ")}. Remove them: ${left.map((name) => `portolan secrets rm ${name}`).join("; ")}`,
      );
    applied?.print();
  }
  return applied?.code ?? 0;
}

/** Secrets that `add` stored for the package of this server, and that no other server uses. */
function packageSecrets(servers: readonly ServerConfig[], alias: string): readonly string[] {
  const of = (server: ServerConfig): string[] =>
    server.endpoint.transport === "stdio"
      ? Object.values(server.endpoint.env ?? {}).flatMap((text) =>
          parseReferences(text).parts.flatMap((part) =>
            part.kind === "secret" && part.name.startsWith("package.") ? [part.name] : [],
          ),
        )
      : [];
  const others = new Set(servers.filter((server) => server.alias !== alias).flatMap(of));
  const own = servers.filter((server) => server.alias === alias).flatMap(of);
  return [...new Set(own)].filter((name) => !others.has(name)).sort();
}

async function purge(cli: Cli, names: readonly string[]): Promise<readonly string[]> {
  const { openSecrets, readPackageSettings } = await import("../registry/settings.ts");
  const store = openSecrets(cli, await readPackageSettings(cli));
  const purged: string[] = [];
  for (const name of names) if ((await store.remove(name)).length > 0) purged.push(name);
  return purged;
}

function notThere(alias: string, own: WorkspaceFile, elsewhere: string | undefined): PortolanError {
  const { text = "", file } = own;
  const names = parseWorkspace(text, file).servers.map((server) => server.alias);
  const reason = elsewhere === undefined ? undefined : `It is in ${elsewhere}: remove or disable it there.`;
  return unknownServer(alias, names, reason);
}

/** The place of a server with this name in another config file. Errors in other files are not reported here. */
async function declaredElsewhere(cli: Cli, alias: string): Promise<string | undefined> {
  const source = await loadSource(cli).catch(() => undefined);
  const found = source?.config.servers.find((server) => server.alias === alias);
  if (found === undefined || found.origin.format === "workspace") return undefined;
  const { file, line } = found.origin;
  return `${pathLabeller(cli.io)(file)}:${line}`;
}
