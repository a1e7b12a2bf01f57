// Grants that the servers of a workspace still need, with the hints that `portolan status` prints for the same servers.

import { grantCommand, type NamedHost, type ServerConfig, ungrantedHosts } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { count, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { needHints } from "./known-needs.ts";

export interface OpenGrant {
  readonly server: string;
  /** One for each problem. */
  readonly hints: readonly string[];
}

/** By alias: hosts that a new server is started with. Its config may have references in place of the values that name them. */
export type OpenHosts = ReadonlyMap<string, readonly NamedHost[] | undefined>;

/** `folder` is the working folder of servers whose config names none. */
export async function openGrants(
  { io }: Cli,
  servers: readonly ServerConfig[],
  folder: string,
  openHosts: OpenHosts = new Map(),
): Promise<OpenGrant[]> {
  const { checkHiddenPaths } = await import("../../launch/index.ts");
  const { chooseMode } = await import("../../sandbox/index.ts");
  const open: OpenGrant[] = [];
  for (const server of servers) {
    const { alias, launch, enabled } = server;
    if (!enabled || chooseMode(launch, process.env).mode === "off") continue;
    const hidden = await checkHiddenPaths(server, folder).catch(() => []);
    const hints = [
      // The command of a hint about a denied path names the path; other hints need their message.
      ...hidden.map(({ code, message, hint = "" }) =>
        code === "SANDBOX_DENIED" ? hint : `${message} ${hint}`,
      ),
      ...(await needHints(
        { io },
        server,
        grantCommand(server, io.cwd),
        openHosts.get(alias) ?? ungrantedHosts(server),
      )),
    ];
    if (hints.length > 0) open.push({ server: alias, hints });
  }
  return open;
}

/** The open grants of servers that were just written to the workspace's own file. */
export async function openGrantsOfNew(
  cli: Cli,
  added: { readonly file: string; readonly text: string; readonly aliases: readonly string[] },
  folder: string,
  openHosts?: OpenHosts,
): Promise<OpenGrant[]> {
  const { parseWorkspace } = await import("../../formats/workspace/index.ts");
  const { servers } = parseWorkspace(added.text, added.file);
  return openGrants(
    cli,
    servers.filter(({ alias }) => added.aliases.includes(alias)),
    folder,
    openHosts,
  );
}

/** The last lines of a command; none if nothing is open. */
export function describeOpenGrants(grants: readonly OpenGrant[], width: number | undefined): string[] {
  if (grants.length === 0) return [];
  const whose = grants.length === 1 ? "its" : "their";
  return [
    `${count(grants.length, "server")} may need a change of ${whose} config. Without the change, some of ${whose} tools may fail:`,
    ...grants.flatMap(({ server, hints }) =>
      hints.map((hint) => wrap(`  ${plainLine(server, 80)}: ${plainLine(hint, 1_000)}`, width, 4)),
    ),
  ];
}

/** Prints them after the result; in JSON output, the result has a field for programs. */
export function printOpenGrants({ output }: Cli, grants: readonly OpenGrant[]): void {
  const isText = output.form === "text";
  for (const line of describeOpenGrants(grants, isText ? output.width : undefined))
    if (isText) output.print(line);
    else output.note(line);
}
