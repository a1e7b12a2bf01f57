// Stored secrets that only some servers of a workspace use, and that can be removed with these servers.

import { createSecretStore } from "../../secrets/index.ts";
import type { CliIo } from "../context.ts";
import { findNeeds, type NeedingConfig } from "./needs.ts";

/** Names of secrets in the keyring or the vault that these servers use, and nothing else in the workspace. */
export async function storedOnlyFor(
  io: CliIo,
  config: NeedingConfig,
  aliases: readonly string[],
): Promise<readonly string[]> {
  // A disabled server may be enabled again, so its secrets count.
  const servers = config.servers.map((server) => ({ ...server, enabled: true }));
  const namesFor = async (some: typeof servers): Promise<string[]> => {
    const needs = await findNeeds({ ...config, servers: some }, { get: async () => undefined });
    return needs.flatMap(({ kind, name }) => (kind === "name" ? [name] : []));
  };
  // A server of the same name in another file stays.
  const rest = servers.filter(
    ({ alias, origin }) => origin.format !== "workspace" || !aliases.includes(alias),
  );
  const others = new Set(await namesFor(rest));
  const own = (await namesFor(servers)).filter((name) => !others.has(name));
  if (own.length === 0) return [];
  // Without a prompt: the names of a locked vault can be read, and a store that does not work has no note.
  const stored = await createSecretStore({ env: io.env, report: () => undefined }).list();
  return own.filter(
    (name) =>
      isOfPackage(name) ||
      stored.some((one) => one.name === name && (one.source === "keyring" || one.source === "vault")),
  );
}

/** `add` itself stored the secret. */
export function isOfPackage(name: string): boolean {
  return name.startsWith("package.");
}
