// Running gateways of other workspaces: a person in the wrong folder reads the option that reaches one.

import { shellWord } from "../../base/text/command-line.ts";
import { changedError, type PortolanError } from "../../errors/index.ts";
import type { CliIo } from "../context.ts";
import { pathLabeller } from "./folder.ts";

const MAX_NAMED = 3;

/** Names the gateways of other workspaces; undefined if there are none, or if one runs for the workspace at this path. */
export async function elsewhereHint(io: CliIo, path: string): Promise<string | undefined> {
  const paths = [...new Set((await io.findAllGateways()).map((gateway) => gateway.path))];
  if (paths.length === 0) return connectedHint(io, path);
  if ((await io.findGateways(path)).gateways.length > 0) return undefined;
  const options = paths.slice(0, MAX_NAMED).map((one) => workspaceOption(one, io));
  if (options.length === 1) return `A gateway runs for another workspace. To use it, add ${options[0]}.`;
  const more = paths.length > MAX_NAMED ? ` (and ${paths.length - MAX_NAMED} more)` : "";
  return `Gateways run for other workspaces. To use one of them, add ${options.join(" or ")}${more}.`;
}

/** Names the workspace that the clients of this user are connected to, if it is another one. */
async function connectedHint(io: CliIo, path: string): Promise<string | undefined> {
  const { openRecords } = await import("../connect/records.ts");
  const records = await (await openRecords()).list();
  const workspaces = [...new Set(records.map(({ workspace }) => workspace))];
  const [first] = workspaces;
  if (first === undefined || workspaces.includes(path)) return undefined;
  return `Your clients use the workspace ${pathLabeller(io)(first)}: portolan status ${workspaceOption(first, io)}.`;
}

/** `-w ~/notes`, as a shell reads it in the folder of the user. */
export function workspaceOption(path: string, io: CliIo): string {
  const label = pathLabeller(io)(path);
  // A shell does not expand ~ within quotes.
  return `-w ${shellWord(label) === label ? label : shellWord(path)}`;
}

/** The option with a space before it; empty for the folder of the user, where a command needs none. */
export function optionFor(path: string, io: CliIo): string {
  return path === io.cwd ? "" : ` ${workspaceOption(path, io)}`;
}

/** The same error, whose hint begins with the gateway of another workspace. */
export function withElsewhere(
  error: PortolanError,
  { elsewhere }: { readonly elsewhere?: string },
): PortolanError {
  if (elsewhere === undefined) return error;
  return changedError(error, { hint: `${elsewhere} ${error.hint}`.trimEnd() });
}
