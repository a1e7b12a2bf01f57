// `portolan connect` without a client: the clients of this computer, whether each is connected, and the command for each.

import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import {
  type ClientId,
  CLIENTS,
  type Computer,
  findClientFiles,
  hasEntry,
  listEntries,
} from "../../formats/clients/index.ts";
import { clientTitle } from "../arguments/client-names.ts";
import type { Cli } from "../context.ts";
import { count, displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { computerOf, pathLabel } from "../workspace/folder.ts";
import { type ConnectPlace, declaredBy } from "./place.ts";
import { declaredElsewhere, gatewayOf, readClientText, type Target } from "./plan.ts";
import { type ConnectionRecord, hashOf, realFile } from "./records.ts";
import { matchServer } from "../import/same-server.ts";

/**
 * `changed`: connected, and the file was changed since. `elsewhere`: connected to another workspace. `by-hand`: it has an entry of
 * this gateway that `connect` did not write. `removed`: the entry was taken out by hand. `gone`: the file no longer exists.
 */
export type ConnectionState =
  | "connected"
  | "changed"
  | "elsewhere"
  | "by-hand"
  | "removed"
  | "gone"
  | "not-connected"
  | "unreadable";

export interface ClientState extends Target {
  readonly state: ConnectionState;
  readonly servers: number;
  /** How many of them the workspace does not have yet. */
  readonly missing?: number;
  /** The workspace that it is connected to. */
  readonly workspace?: string;
  /** The command that connects or disconnects it. */
  readonly command: string;
}

export async function overview(cli: Cli, place: ConnectPlace): Promise<number> {
  const { output } = cli;
  const found = await foundClients(place.computer);
  const records = await place.records.list();
  const more = await Promise.all(
    records.map(async ({ client, file }) => ((await isListed(found, file)) ? [] : [{ client, file }])),
  );
  const states: ClientState[] = [];
  const inWorkspace = optionFor(place.place.workspace, cli.io);
  for (const target of [...found, ...more.flat()]) states.push(await stateOf(target, place, inWorkspace));
  const next = nextCommand(states, inWorkspace);
  if (output.form === "json") output.json({ workspace: place.place.workspace, clients: states, next });
  else output.print(describe(states, next, cli));
  return 0;
}

async function isListed(found: readonly Target[], file: string): Promise<boolean> {
  for (const target of found) if ((await realFile(target.file)) === file) return true;
  return false;
}

/** One file of the user for each client on this computer: an existing file, else the file of a client that is installed. */
export async function foundClients(computer: Computer): Promise<readonly Target[]> {
  const files = (await findClientFiles(computer)).filter(({ scope }) => scope === "user");
  const targets: Target[] = [];
  for (const client of Object.keys(CLIENTS) as ClientId[]) {
    const existing = files.find((file) => file.client === client)?.file;
    const file = existing ?? (await installedFile(client, computer));
    if (file !== undefined) targets.push({ client, file });
  }
  return targets;
}

/** A client without a file is installed if the folder of its file exists; for a file in the home folder, the folder beside it. */
async function installedFile(client: ClientId, computer: Computer): Promise<string | undefined> {
  for (const { file, scope } of CLIENTS[client].places(computer)) {
    if (scope !== "user" || file.includes("*")) continue;
    const folder = dirname(file);
    const own = resolve(folder) === resolve(computer.home) ? join(folder, basename(file, ".json")) : folder;
    const isFolder = await stat(own).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (isFolder) return file;
  }
  return undefined;
}

/** `inWorkspace` is the option for commands about a workspace of another folder. */
async function stateOf(
  { client, file }: Target,
  context: ConnectPlace,
  inWorkspace: string,
): Promise<ClientState> {
  const { records, place, computer } = context;
  const real = await realFile(file);
  const base = { client, file };
  const connectCommand = `portolan connect ${client}`;
  const disconnectCommand = `portolan disconnect ${client}`;
  try {
    const text = await readClientText(real);
    const record = await records.find(real, text === undefined ? undefined : hashOf(text));
    const entries = listEntries(text ?? "", real, client, computer);
    const servers = entries.length;
    const own = entries.flatMap(({ server }) => (server === undefined ? [] : [server]));
    const byHand = own.some((server) => gatewayOf(server, place) === "this");
    const elsewhere = await declaredElsewhere(declaredBy(context.source), real);
    const missing = own.filter(
      (server) =>
        gatewayOf(server, place) === undefined &&
        matchServer(server, elsewhere, computer.home).kind === "missing",
    ).length;
    const command = `${connectCommand}${missing > 0 ? " --import" : ""}${inWorkspace}`;
    const known = record === undefined ? undefined : recordState(record, text);
    if (record !== undefined && known !== undefined && known !== "not-connected") {
      const isHere = resolve(record.workspace) === resolve(place.workspace);
      const isConnected = known === "connected" || known === "changed";
      const state = isConnected && !isHere ? "elsewhere" : known;
      // Servers that were added to the file after it was connected.
      const isNew = state === "changed" && missing > 0;
      const next = isNew ? { missing, command } : { command: disconnectCommand };
      return { ...base, state, servers, workspace: record.workspace, ...next };
    }
    return { ...base, state: byHand ? "by-hand" : "not-connected", servers, missing, command };
  } catch {
    return { ...base, state: "unreadable", servers: 0, command: `portolan import ${client}` };
  }
}

/** Compares the text of the file with the one that `connect` wrote. */
export function recordState(
  record: ConnectionRecord,
  text: string | undefined,
): "connected" | "changed" | "removed" | "gone" | "not-connected" {
  const hash = text === undefined ? undefined : hashOf(text);
  if (hash === record.after) return "connected";
  // The write did not happen, or somebody restored the file.
  if (hash === record.before) return "not-connected";
  if (text === undefined) return "gone";
  return hasEntry(record.client, text, record) ? "changed" : "removed";
}

function openOf(states: readonly ClientState[]): readonly ClientState[] {
  return states.filter(({ state }) => state === "not-connected" || state === "by-hand");
}

/** One command that connects all clients that are not connected yet. */
function nextCommand(states: readonly ClientState[], inWorkspace: string): string | undefined {
  const open = openOf(states);
  if (open.length === 0) return undefined;
  const needsImport = open.some(({ missing = 0 }) => missing > 0);
  const clients = open.map(({ client }) => client).join(" ");
  return `portolan connect ${clients}${needsImport ? " --import" : ""}${inWorkspace}`;
}

const LABELS: Readonly<Record<ConnectionState, string>> = {
  connected: "connected",
  changed: "connected; the file was changed after portolan connect",
  elsewhere: "connected to another workspace",
  "by-hand": "connected by an entry that portolan connect did not write",
  removed: "was connected; the file no longer has the entry of the gateway",
  gone: "was connected; the file no longer exists",
  "not-connected": "not connected",
  unreadable: "the file cannot be read",
};

function describe(states: readonly ClientState[], next: string | undefined, { io, output }: Cli): string {
  const { colors, width } = output;
  if (states.length === 0)
    return wrap(
      `No MCP client was found on this computer. To connect a client anyway: portolan connect <client>. Supported clients: ${Object.keys(CLIENTS).join(", ")}.`,
      width,
    );
  // Files of the user, which a person in the home folder would take for files of a project.
  const { home } = computerOf(io, io.cwd);
  const column = Math.max(...states.map(({ client }) => displayWidth(clientTitle(client))));
  const rows = states.flatMap(({ client, file, state, servers, missing = 0, workspace, command }) => {
    const isOn = state === "connected";
    const paint = isOn ? colors.green : state === "not-connected" ? colors.dim : colors.yellow;
    const place = state === "elsewhere" ? ` ${plainLine(workspace, 300)}` : "";
    const number =
      state === "not-connected" && servers > 0
        ? `, ${count(servers, "server")}`
        : state === "changed" && missing > 0
          ? `, ${count(missing, "server")} ${missing === 1 ? "is" : "are"} not in this workspace`
          : "";
    return [
      `${colors.bold(clientTitle(client).padEnd(column))}  ${paint(LABELS[state])}${place}${number}  ${colors.dim(pathLabel(file, { home }))}`,
      `${" ".repeat(column)}  ${command}`,
    ];
  });
  const open = openOf(states).length;
  const last =
    next === undefined
      ? []
      : [
          "",
          `To connect ${open === 1 ? "one client" : `${open} clients`} to the gateway of this workspace:`,
          `  ${colors.bold(next)}`,
        ];
  return [...rows, ...last].join("\n");
}
