// Describes plans and results of `connect` for a terminal and as JSON. Values of servers are never shown.

import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { hasEntry } from "../../formats/clients/index.ts";
import { DEFAULT_NAMING, type ServerConfig } from "../../model/index.ts";
import { clientTitle } from "../arguments/client-names.ts";
import type { Cli } from "../context.ts";
import { describeOpenGrants, type OpenGrant } from "../grants/open-grants.ts";
import type { CopyPlan } from "../import/copy.ts";
import type { StoredSecrets } from "../import/secrets.ts";
import { describeStored } from "../import/view.ts";
import { cut, displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { ENTRY_NAME, TOKEN_VARIABLE, usesHttp } from "./gateway-server.ts";
import type { ConnectPlace } from "./place.ts";
import type { OldRules } from "./permission-rules.ts";
import type { FilePlan, PlannedServer } from "./plan.ts";

export interface Shown {
  readonly plans: readonly FilePlan[];
  readonly copy: CopyPlan | undefined;
  readonly place: ConnectPlace;
  readonly declared: readonly ServerConfig[];
  readonly stored?: StoredSecrets;
  /** The backup of the workspace's own file. */
  readonly backup?: string;
}

export function describePlans({ plans, copy, place }: Shown, { io, output }: Cli): string {
  const { colors, width } = output;
  const label = pathLabeller(io);
  const sections = plans.map((plan) => describePlan(plan, copy, { io, output }));
  // The full path: a person may be in another folder than they think.
  const head = (file: string): string => `${colors.bold("This workspace")} ${file}`;
  if (copy === undefined || copy.added.length === 0)
    return [head(place.place.workspace), ...sections].join("\n\n");
  const lines = copy.added.flatMap(({ alias, from, notes }) => [
    `  ${colors.green("+")} ${colors.cyan(plainLine(alias, 100))} ${colors.dim(`from ${label(from)}`)}`,
    ...notes.map((note) => wrap(`    ${colors.yellow("warning")} ${plainLine(note, 500)}`, width, 4)),
  ]);
  if (copy.added.some(({ notes }) => notes.some((note) => note.includes("secret"))))
    lines.push(
      wrap(
        "  Store secrets outside of this file, and refer to them as ${NAME}: portolan secrets set NAME.",
        width,
        2,
      ),
    );
  const title = `${head(copy.file)}${copy.basis === undefined ? " (will be created)" : ""}`;
  return [[title, ...lines].join("\n"), ...sections].join("\n\n");
}

function describePlan(
  plan: FilePlan,
  copy: CopyPlan | undefined,
  { io, output }: Pick<Cli, "io" | "output">,
): string {
  const { colors, width } = output;
  const { client, file, text, after, servers, replacement, runs, notes } = plan;
  const head = `${colors.bold(clientTitle(client))} ${pathLabeller(io)(file)}`;
  const isSame = text === after;
  const isMissing = text === undefined && !existsSync(dirname(file));
  const { name } = replacement.entry;
  const isThere = text !== undefined && hasEntry(client, text, replacement);
  const column = Math.min(24, Math.max(...[name, ...servers.map((own) => own.alias)].map(displayWidth)));
  const line = (mark: string, alias: string, about: string): string => {
    const shown = plainLine(alias, 100).padEnd(column);
    const before = displayWidth(shown) + 6;
    const room = width === undefined ? undefined : Math.max(20, width - before);
    // A command may be cut, a reason not.
    const text =
      room === undefined
        ? about
        : about.startsWith(STAYS)
          ? wrap(about, room).replaceAll("\n", `\n${" ".repeat(before)}`)
          : cut(about, room);
    return `  ${mark} ${colors.cyan(shown)}  ${text}`;
  };
  const listed = isSame ? servers.filter(({ change }) => change !== "replaced") : servers;
  return [
    head,
    isSame
      ? `  ${colors.dim("already connected; nothing to change")}`
      : line(isThere ? colors.dim("=") : colors.green("+"), name, plainLine(runs, 1_000)),
    ...listed.map((server) =>
      line(markOf(server, output), server.alias, aboutServer(server, whyNotCopied(server, file, copy))),
    ),
    ...(isMissing
      ? [
          wrap(
            `  ${colors.yellow("note")} ${clientTitle(client)} was not found on this computer. Portolan creates the folder of its file.`,
            width,
            4,
          ),
        ]
      : []),
    ...(isSame ? [] : notes).map(({ message }) =>
      wrap(`  ${colors.yellow("note")} ${plainLine(message, 500)}`, width, 4),
    ),
  ].join("\n");
}

const STAYS = "stays: ";

function markOf({ change }: PlannedServer, { colors }: Cli["output"]): string {
  return change === "replaced" ? colors.red("-") : colors.dim("=");
}

/** The reason why the import left out a server of this file. */
function whyNotCopied(
  { alias }: PlannedServer,
  file: string,
  copy: CopyPlan | undefined,
): string | undefined {
  return copy?.skipped.find((one) => one.alias === alias && one.from === file)?.message;
}

function aboutServer({ change, reason, runs }: PlannedServer, notCopied: string | undefined): string {
  const command = plainLine(runs, 1_000);
  if (change === "replaced") return reason === undefined ? command : `${plainLine(reason, 300)}: ${command}`;
  if (change === "missing")
    return `${STAYS}${plainLine(notCopied ?? `${reason ?? "it is not in this workspace"} (--import adds it)`, 300)}`;
  return `${STAYS}${plainLine(reason ?? "", 300)}`;
}

interface DoneView extends Pick<Cli, "io" | "output"> {
  readonly isRunning: boolean;
  /** Grants that the servers still need; their tools fail without them. */
  readonly grants: readonly OpenGrant[];
  readonly rules: readonly OldRules[];
  /** Whether a server needs a secret of the vault, which must be unlocked for it. */
  readonly isLocked: boolean;
}

/** Lists the written files, the next step for each client, and the grants that are still needed. */
export function describeDone(
  { plans, copy, place, declared, stored, backup }: Shown,
  { io, output, isRunning, grants, rules, isLocked }: DoneView,
): string {
  const { colors, width } = output;
  const label = pathLabeller(io);
  const titles = plans.map(({ client }) => clientTitle(client));
  const list = new Intl.ListFormat("en").format(titles);
  const lines: string[] = [];
  if (copy !== undefined && copy.added.length > 0)
    lines.push(`Added ${copy.added.map(({ alias }) => alias).join(", ")} to ${label(copy.file)}.`);
  if (backup !== undefined) lines.push(`Backup: ${label(backup)}`);
  if (stored !== undefined) lines.push(describeStored(stored));
  if (plans.some(keepsSecrets))
    lines.push(
      `For portolan disconnect, Portolan keeps each client's file as it was, with its secrets in plain text, in ${label(place.records.folder)}. Only you can read this folder.`,
    );
  lines.push(
    `Connected ${list} to this workspace. Restart ${plans.length === 1 ? "the client" : "these clients"} to use the gateway.`,
  );
  const inFolder = optionFor(place.place.workspace, io);
  lines.push(...toolLines({ plans, place, declared }, { inFolder, rules, label }));
  const http = plans.filter(({ client }) => usesHttp(client, place.place));
  if (http.length > 0) lines.push(...httpLines(http, inFolder, place, isRunning));
  if (isLocked)
    lines.push(
      `A client cannot enter the passphrase of the vault. Unlock the vault before you start the client: ${colors.bold(`portolan secrets unlock ${io.platform === "win32" ? "--keep" : "--for 8h"}`)}`,
    );
  if (http.length < plans.length && !isRunning)
    lines.push(
      `To run each server only once, for all clients together: ${colors.bold(`portolan serve${inFolder} --daemon`)}`,
      `To start this gateway at every login: ${colors.bold(`portolan service install${inFolder}`)}`,
    );
  lines.push(
    `To undo the connection: ${colors.bold(`portolan disconnect ${plans.map(({ client }) => client).join(" ")}`)}`,
    `To start and check the servers: ${colors.bold(`portolan status${inFolder}`)}`,
  );
  return [...lines.map((line) => wrap(line, width)), ...describeOpenGrants(grants, width)].join("\n");
}

/** Says that the models of the clients see more tools, under other names. */
function toolLines(
  { plans, place, declared }: Pick<Shown, "plans" | "place" | "declared">,
  {
    inFolder,
    rules,
    label,
  }: Pick<DoneView, "rules"> & { readonly inFolder: string; readonly label: (file: string) => string },
): string[] {
  const names = declared.flatMap(({ alias, enabled }) => (enabled ? [alias] : []));
  const servers = names.length === 1 ? `the server ${names[0]}` : `all ${names.length} servers`;
  const { naming = DEFAULT_NAMING } = place.source.config;
  const form = naming.replace("{alias}", "<server>").replace("{tool}", "<tool>");
  const isMoved = plans.some((plan) => plan.servers.some(({ change }) => change === "replaced"));
  const about = isMoved ? "; permission rules of a client that name the earlier tools no longer apply" : "";
  return [
    `${plans.length === 1 ? "The client sees" : "The clients see"} the tools of ${servers} of this workspace. What they cost in a model's context: portolan tokens${inFolder}`,
    `The names of these tools have the form ${form}${about}.`,
    ...rules.map(
      ({ file, rules: old }) =>
        `${label(file)} has rules for earlier tools: ${plainLine(old.join(", "), 500)}. Write mcp__${ENTRY_NAME}__${form} in these rules.`,
    ),
  ];
}

/** Whether the copy of the client's file for `disconnect` contains plain secrets. */
function keepsSecrets({ text, after, base, diagnostics }: FilePlan): boolean {
  return text !== after && base !== undefined && diagnostics.some((one) => one.literalSecret !== undefined);
}

function httpLines(
  plans: readonly FilePlan[],
  inFolder: string,
  { place }: ConnectPlace,
  isRunning: boolean,
): string[] {
  const serve = isRunning
    ? []
    : [`Start the gateway, so that the client can reach it: portolan serve${inFolder}`];
  if (place.settings.auth === "none") return serve;
  const token = `portolan token${inFolder}`;
  const byVariable = plans.filter(({ client }) => client !== "vscode");
  const titles = byVariable.map(({ client }) => clientTitle(client)).join(", ");
  return [
    ...serve,
    ...(byVariable.length === 0
      ? []
      : [
          `${titles}: start the client with the token in its environment: export ${TOKEN_VARIABLE}="$(${token})"`,
        ]),
    ...(byVariable.length === plans.length ? [] : [`VS Code asks for the token once. To print it: ${token}`]),
  ];
}

/** The output of `connect --json`. */
export function toJson(
  { plans, copy, place }: Shown,
  { written, grants }: { readonly written: boolean; readonly grants?: readonly OpenGrant[] },
): object {
  return {
    workspace: place.place.workspace,
    written,
    needsGrant: grants,
    imported: copy && { file: copy.file, servers: copy.added, skipped: copy.skipped },
    clients: plans.map((plan) => ({
      client: plan.client,
      file: plan.realFile,
      changed: plan.text !== plan.after,
      entry: { name: plan.replacement.entry.name, runs: plan.runs },
      servers: plan.servers,
      notes: plan.notes.map(({ message }) => message),
      backup: written && plan.base !== undefined ? place.records.folder : undefined,
    })),
  };
}
