// Running gateways of other workspaces: a person in the wrong folder reads the option that reaches one.

import { shellWord } from "../../base/text/command-line.ts";
import { changedError, type PortolanError } from "../../errors/index.ts";
import type { CliIo } from "../context.ts";
import { pathLabeller } from "./folder.ts";

const MAX_NAMED = 3;

/** Workspaces that the gateways or the clients of this user use, while none of them uses the workspace in question. */
interface Elsewhere {
  readonly users: "gateways" | "clients";
  readonly paths: readonly [string, ...string[]];
}

/** Running gateways come first. Without one, the workspaces that the clients of this user are connected to. */
async function findElsewhere(io: CliIo, path: string): Promise<Elsewhere | undefined> {
  const [running, ...others] = new Set((await io.findAllGateways()).map((gateway) => gateway.path));
  if (running !== undefined) {
    const isHere = (await io.findGateways(path)).gateways.length > 0;
    return isHere ? undefined : { users: "gateways", paths: [running, ...others] };
  }
  const { openRecords } = await import("../connect/records.ts");
  const records = await (await openRecords()).list();
  const [first, ...rest] = new Set(records.map(({ workspace }) => workspace));
  if (first === undefined || [first, ...rest].includes(path)) return undefined;
  return { users: "clients", paths: [first, ...rest] };
}

/** Names the workspaces that are used instead of the one at this path; undefined if there are none. */
export async function elsewhereHint(io: CliIo, path: string): Promise<string | undefined> {
  const found = await findElsewhere(io, path);
  if (found === undefined) return undefined;
  const { users, paths } = found;
  const [first] = paths;
  if (users === "clients")
    return `Your clients use the workspace ${pathLabeller(io)(first)}. To see its servers: portolan status ${workspaceOption(first, io)}.`;
  const options = paths.slice(0, MAX_NAMED).map((one) => workspaceOption(one, io));
  if (options.length === 1) return `A gateway runs for another workspace. To use it, add ${options[0]}.`;
  const more = paths.length > MAX_NAMED ? ` (and ${paths.length - MAX_NAMED} more)` : "";
  return `Gateways run for other workspaces. To use one of them, add ${options.join(" or ")}${more}.`;
}

/** For a server in a new portolan.yaml: the gateways or clients that do not get it, with the command that adds it there. */
export async function addedHereNote(io: CliIo, path: string, server: string): Promise<string | undefined> {
  const found = await findElsewhere(io, path);
  if (found === undefined) return undefined;
  const [first] = found.paths;
  const label = pathLabeller(io)(first);
  const who =
    found.users === "clients"
      ? `Your clients use the workspace ${label}`
      : `A gateway runs for the workspace ${label}`;
  return `${who}, which does not have the new server. To add the server there too, run the same command with this option: portolan add ${workspaceOption(first, io)} ${shellWord(server)} …`;
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
