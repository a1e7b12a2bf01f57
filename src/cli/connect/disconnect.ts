// `portolan disconnect`: restores the config files of MCP clients as they were before `connect`.

import { existsSync } from "node:fs";
import { rm, rmdir } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import {
  type ClientId,
  CLIENTS,
  listEntries,
  restoreServers,
  writeClientFile,
} from "../../formats/clients/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { clientTitle, parseClient } from "../arguments/client-names.ts";
import type { Cli } from "../context.ts";
import { matchServer } from "../import/same-server.ts";
import { answersRequests } from "../input/handlers.ts";
import { count, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { computerOf, pathLabeller } from "../workspace/folder.ts";
import { requireAgreement } from "./agreement.ts";
import { describeLeft, findLeft, type LeftRequest } from "./left-behind.ts";
import { recordState } from "./overview.ts";
import { named, readClientText } from "./plan.ts";
import { type ConnectionRecord, hashOf, openRecords, type Records } from "./records.ts";

export interface DisconnectOptions {
  all?: boolean;
  yes?: boolean;
  dryRun?: boolean;
}

/**
 * The change of one file. `restored`: it becomes byte for byte as before. `removed`: `connect` had created it. `merged`: somebody
 * changed it since, so only the entry goes and the servers come back. `unchanged`: it is as before already. `gone`: it does not exist.
 */
interface Undo {
  readonly record: ConnectionRecord;
  readonly change: "restored" | "removed" | "merged" | "unchanged" | "gone";
  /** The text now; undefined if there is no file. */
  readonly text: string | undefined;
  readonly after: string | undefined;
  /** False if the merged file has no entry of the gateway any more. */
  readonly hasEntry?: boolean;
  /** The names of servers that come back. */
  readonly restored: readonly string[];
  /** The arguments and variables of the restored servers. */
  readonly used?: ReadonlySet<string>;
  /** Notes about entries that stay because the person changed them, and about data that the client's servers do not use. */
  readonly notes: readonly string[];
}

export async function disconnect(
  cli: Cli,
  words: readonly string[],
  options: DisconnectOptions,
): Promise<number> {
  const { output } = cli;
  const records = await openRecords();
  const { chosen, missing } = await chooseRecords(records, words, options);
  const plans: Undo[] = [];
  for (const record of chosen) plans.push(await withUnusedPaths(cli, await planUndo(record, records)));
  const isDry = options.dryRun === true;
  if (!isDry && plans.some(({ change }) => change === "merged")) await confirm(cli, words, options, plans);
  const backups: (string | undefined)[] = [];
  for (const plan of plans) backups.push(isDry ? undefined : await undo(cli, plan, records));
  const request = await leftRequest(records, plans);
  const left = isDry ? [] : await findLeft(cli, request);
  if (output.form === "json")
    output.json({
      written: !isDry,
      clients: plans.map(({ record, change, restored, notes }, index) => ({
        ...{ client: record.client, file: record.file, change, servers: restored, notes },
        backup: backups[index],
      })),
      ...(missing.length === 0 ? {} : { notConnected: missing }),
      left,
    });
  else {
    const done = plans.map((plan, index) => describe(plan, backups[index], isDry, cli));
    if (missing.length > 0) output.note(`${output.noteColors.cyan("note")} ${notConnectedText(missing)}`);
    output.print([...done, ...(isDry ? [] : describeLeft(cli, left, request))].join("\n"));
  }
  return 0;
}

async function leftRequest(records: Records, plans: readonly Undo[]): Promise<LeftRequest> {
  return {
    workspaces: new Set(plans.map(({ record }) => record.workspace)),
    connected: await records.list(),
    isUsed: (file) => plans.some(({ used }) => used?.has(file)),
  };
}

interface ChosenRecords {
  readonly chosen: readonly ConnectionRecord[];
  /** The clients that were named and are not connected. */
  readonly missing: readonly ClientId[];
}

async function chooseRecords(
  records: Records,
  words: readonly string[],
  { all }: DisconnectOptions,
): Promise<ChosenRecords> {
  const known = await records.list();
  const connected = [...new Set(known.map(({ client }) => client))];
  const which = connected.length === 0 ? "No client is connected." : `Connected: ${connected.join(", ")}.`;
  if (all === true) {
    if (words.length > 0)
      throw new PortolanError(
        "USAGE",
        "--all disconnects every connected client, so that no client names are allowed with it.",
        { hint: "Leave out --all to disconnect only the named clients, or leave out the names." },
      );
    if (known.length === 0)
      throw new PortolanError("USAGE", which, {
        hint: "portolan connect shows the clients and their state.",
      });
    return { chosen: await current(records, known), missing: [] };
  }
  if (words.length === 0)
    throw new PortolanError("USAGE", "No client was given.", {
      hint: `portolan disconnect <client>. ${which}`,
    });
  const clients = [...new Set(words.map((word) => parseClient(word)))];
  const missing = clients.filter((client) => !connected.includes(client));
  if (missing.length === clients.length) throw notConnected(missing, which);
  const wanted = known.filter(({ client }) => clients.includes(client));
  return { chosen: await current(records, wanted), missing };
}

/** After a crash during a second `connect`, the record before may be the one that counts. */
async function current(
  records: Records,
  known: readonly ConnectionRecord[],
): Promise<readonly ConnectionRecord[]> {
  return Promise.all(
    known.map(async (record) => {
      const text = await readClientText(record.file);
      return (await records.find(record.file, text === undefined ? undefined : hashOf(text))) ?? record;
    }),
  );
}

function notConnected(clients: readonly ClientId[], which: string): PortolanError {
  return new PortolanError("USAGE", notConnectedText(clients), {
    hint: `${which} portolan connect shows the clients and their state.`,
  });
}

function notConnectedText(clients: readonly ClientId[]): string {
  return `${clients.map(clientTitle).join(", ")} ${clients.length === 1 ? "is" : "are"} not connected.`;
}

async function planUndo(record: ConnectionRecord, records: Records): Promise<Undo> {
  const text = await readClientText(record.file);
  const names = record.removed.map(({ name }) => name);
  const common = { record, text, notes: [] };
  switch (recordState(record, text)) {
    case "connected": {
      const before = await records.readBefore(record);
      return record.before === undefined
        ? { ...common, change: "removed", after: undefined, restored: [] }
        : {
            ...{ ...common, after: before, restored: names },
            change: record.merged === true ? "merged" : "restored",
          };
    }
    case "not-connected":
      return { ...common, change: "unchanged", after: text, restored: [] };
    case "gone":
      return { ...common, change: "gone", after: text, restored: [] };
    default: {
      const before = await records.readBefore(record);
      const done = named(() => restoreServers(record.client, text ?? "", before, record), record.file);
      const notes = [
        ...(done.entry === "changed"
          ? [
              `the entry ${record.entry.name} stays, because it was changed: it no longer points to this gateway`,
            ]
          : []),
        ...done.kept.map(
          ({ name }) =>
            `the server ${name} was not restored, because the file has a server with this name again`,
        ),
      ];
      return {
        ...common,
        change: "merged",
        hasEntry: done.entry === "removed",
        after: done.text,
        restored: done.restored.map(({ name }) => name),
        notes,
      };
    }
  }
}

/** Adds a note for each path that only the workspace's config of a restored server names: its data may be there. */
async function withUnusedPaths({ io }: Cli, plan: Undo): Promise<Undo> {
  const { record, after = "", restored } = plan;
  if (restored.length === 0) return plan;
  const computer = computerOf(io, record.workspace);
  const catalog = await io.loadCatalog(record.workspace, { home: computer.home }).catch(() => undefined);
  const own = (catalog?.servers ?? []).filter(({ origin }) => origin.format === "workspace");
  const used = new Set<string>();
  const notes = listEntries(after, record.file, record.client, computer).flatMap(({ place, server }) => {
    if (server === undefined || !restored.includes(place.name)) return [];
    for (const { value } of namedValues(server)) used.add(value);
    const match = matchServer(server, ofClient(own, server.alias, record.client), computer.home);
    const alias = match.kind === "missing" ? server.alias : match.by;
    const ours = own.find((one) => one.alias === alias);
    const theirs = new Set(namedValues(server).map(({ value }) => value));
    return (ours === undefined ? [] : namedValues(ours))
      .filter(({ value }) => isAbsolute(value) && !theirs.has(value) && existsSync(value))
      .map(
        ({ where, value }) =>
          `the restored server ${place.name} does not use ${pathLabeller(io)(value)}; only the server ${alias} of the workspace uses this path (${where})`,
      );
  });
  return { ...plan, used, notes: [...plan.notes, ...notes] };
}

/** Without the servers that `connect --import` named after another client because their entries differ: `memory-claude-code`. */
function ofClient(own: readonly ServerConfig[], name: string, client: ClientId): readonly ServerConfig[] {
  const isNamedAfter = (one: string, alias: string): boolean =>
    alias.startsWith(`${name}-${one}`) && /^(?:-\d+)?$/.test(alias.slice(`${name}-${one}`.length));
  const ofThis = own.filter(({ alias }) => isNamedAfter(client, alias));
  if (ofThis.length > 0) return ofThis;
  return own.filter(({ alias }) => !Object.keys(CLIENTS).some((one) => isNamedAfter(one, alias)));
}

/** The arguments and variables of a local server. */
function namedValues({
  endpoint,
}: Pick<ServerConfig, "endpoint">): { readonly where: string; readonly value: string }[] {
  if (endpoint.transport !== "stdio") return [];
  const { args = [], env = {} } = endpoint;
  return [
    ...args.map((value, index) => ({ where: `args[${index}]`, value })),
    ...Object.entries(env).map(([name, value]) => ({ where: `env.${name}`, value })),
  ];
}

/** A file that was changed since is merged only after the person agrees. */
async function confirm(
  cli: Cli,
  words: readonly string[],
  { yes }: DisconnectOptions,
  plans: readonly Undo[],
): Promise<void> {
  if (yes === true) return;
  const label = pathLabeller(cli.io);
  const changed = plans.filter(({ change }) => change === "merged");
  const files = changed.map(({ record }) => label(record.file)).join(", ");
  const were = changed.length === 1 ? "was" : "were";
  if (!answersRequests(cli, false))
    throw new PortolanError(
      "USAGE",
      `${files} ${were} changed after portolan connect, so nothing was restored.`,
      {
        hint: `Portolan would keep these changes, remove the gateway's entry, and add the servers again. If you agree: portolan disconnect ${words.length === 0 ? "--all" : words.join(" ")} --yes`,
      },
    );
  for (const plan of changed) cli.output.note(describe(plan, undefined, true, cli));
  await requireAgreement(
    cli,
    `${files} ${were} changed after portolan connect. These changes stay. Disconnect?`,
  );
}

/** Writes the file, then forgets the record. Returns the path of a backup that stays. */
async function undo(cli: Cli, plan: Undo, records: Records): Promise<string | undefined> {
  const { record, change, text, after } = plan;
  return records.locked(
    record.file,
    async () => {
      let backup: string | undefined;
      if (change === "removed") {
        if ((await readClientText(record.file)) !== text)
          throw new PortolanError(
            "FILE_FAILED",
            `Another program changed ${record.file} while this command ran.`,
            {
              hint: "Run the command again.",
            },
          );
        await rm(record.file, { force: true });
        // A folder with other files is in use, and stays.
        for (const folder of record.folders ?? []) await rmdir(folder).catch(() => {});
      } else if (after !== undefined && after !== text)
        ({ backup } = await writeClientFile(record.file, after, {
          basis: text,
          // A merge is a guess about the person's changes, so the file before it stays beside it.
          backup: change === "merged",
        }));
      if (change === "gone") backup = records.backupOf(record);
      await records.remove(record, change === "gone");
      return backup;
    },
    cli.interrupt.signal,
  );
}

function describe(
  { record, change, restored, notes, hasEntry = true }: Undo,
  backup: string | undefined,
  isDry: boolean,
  { io, output }: Cli,
): string {
  const { colors, width } = output;
  const label = pathLabeller(io);
  const title = colors.bold(clientTitle(record.client));
  const file = label(record.file);
  const servers =
    restored.length === 0
      ? ""
      : ` ${count(restored.length, "server")} ${isDry ? "would be " : ""}restored: ${plainLine(restored.join(", "), 500)}.`;
  const would = isDry ? "would be" : "was";
  const text = {
    restored: `${file} ${isDry ? "would be" : "is"} byte for byte as before portolan connect.${servers}`,
    removed: `${file} ${would} removed: it did not exist before portolan connect.`,
    merged: `${hasEntry ? `The gateway's entry ${would} removed from ${file}` : `${file} no longer has an entry of the gateway`}; your later changes stay.${servers}`,
    unchanged: `${file} no longer has an entry of the gateway, so Portolan does not change the file.`,
    gone: `${file} no longer exists, so nothing is restored.`,
  }[change];
  return [
    wrap(`${title}  ${text}`, width, 2),
    ...notes.map((note) => wrap(`  ${colors.yellow("note")} ${plainLine(note, 500)}`, width, 4)),
    ...(backup === undefined
      ? []
      : [`  ${change === "gone" ? "Its content before portolan connect" : "Backup"}: ${label(backup)}`]),
  ].join("\n");
}
