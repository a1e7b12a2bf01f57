// `portolan serve`: the workspace as one MCP server, until it is told to stop.

import { rm } from "node:fs/promises";
import process from "node:process";
import type { Diagnostic } from "../../errors/index.ts";
import { type Access, createAccess, type Gateway, openAccess, openGateway } from "../../gateway/index.ts";
import type { HubEvent } from "../../hub/index.ts";
import { type DeclaredServer, GATEWAY_DEFAULTS, type GatewaySettings } from "../../model/index.ts";
import { describeBytes } from "../bytes.ts";
import { checkPort } from "../check-port.ts";
import { tokenCommand } from "../client-lines.ts";
import { type Cli, noteDiagnostic, spinnerOf, type Words } from "../connect.ts";
import { describeDiagnostic } from "../diagnostic.ts";
import { describeFinding } from "../finding.ts";
import { type OwnPlace, ownGateway } from "../own-gateway.ts";
import { plainLine, toJsonText } from "../plain-text.ts";
import { createPassphrasePrompt } from "../secret-input.ts";
import { createServeEvents } from "../serve-events.ts";
import { greetingJson, greetingText, reachable, servedServers } from "../serve-greeting.ts";
import {
  overSettings,
  parseServeOptions,
  type RawServeOptions,
  type ServeOptions,
} from "../serve-options.ts";
import { findServed } from "../served.ts";
import { computerOf, pathLabel } from "../workspace-folder.ts";

export async function serve(cli: Cli, words: Words, raw: RawServeOptions): Promise<number> {
  const { io, output, interrupt } = cli;
  const options = parseServeOptions(raw, io.cwd);
  const troubleOnly = options.stdio && !cli.options.verbose;
  const served = await findServed(cli, words, options.only);
  const settings = overSettings(served.config.gateway, options.settings);
  const { host = GATEWAY_DEFAULTS.host, port = GATEWAY_DEFAULTS.port, allowedHosts } = settings;
  const own: OwnPlace = { host, port, allowedHosts, script: process.argv[1] };
  if (!options.stdio) await checkPort(host, port);
  const report = (diagnostic: Diagnostic): void => noteProblem(diagnostic, options, cli);
  // Without a token there is nothing to keep: states and task ids are then signed with a key of this process.
  const needsToken = !options.stdio && settings.auth !== "none";
  const access = needsToken
    ? await openAccess(served.folder, { renew: options.newToken, report })
    : await openAccess(served.folder).catch(() => createAccess());
  const say = (text: string): void => {
    if (!troubleOnly) output.note(text);
  };
  if (served.note !== undefined) say(output.noteColors.dim(served.note));
  const spinner = spinnerOf(cli);
  output.around(spinner);
  const events = createServeEvents(cli, troubleOnly);
  const all = served.config.servers.filter(({ enabled }) => enabled).length;
  let there = 0;
  spinner.start(all === 1 ? `starting ${served.config.servers[0]?.alias}` : `starting ${all} servers`);
  const gateway = await openGateway(served.source, {
    access,
    settings,
    only: options.only,
    bare: served.bare,
    // A client of this computer may be pointed at this very gateway, now or while it runs.
    leaveOut: (server) => isOwn(server, own, say),
    waitMs: cli.options.waitMs,
    signal: interrupt.signal,
    onDiagnostic: report,
    ...(served.keepsNothing ? { snapshots: false } : {}),
    ...(served.sandbox === undefined ? {} : { sandbox: served.sandbox }),
    driverCode: cli.options.driverCode,
    onEvent: (event: HubEvent) => {
      if (event.type === "mcp.server_ready" && all > 1)
        spinner.update(`${(there += 1)} of ${all} servers are there`);
      if (event.type === "mcp.server_installing" && event.bytes !== undefined)
        spinner.update(`${plainLine(event.server, 40)} ${describeBytes(event.bytes)}`);
      events.heard(event);
    },
    // Measuring calls that nobody sees would only cost them time.
    callEvents: cli.options.verbose && !output.quiet,
    promptPassphrase: options.stdio ? undefined : createPassphrasePrompt(cli).prompt,
  }).catch(async (error: unknown) => {
    spinner.stop();
    // A token that was never shown is nobody's: the next start makes one and shows it.
    if (access.created && access.file !== undefined) await rm(access.file, { force: true });
    throw error;
  });
  try {
    spinner.stop();
    if (interrupt.signal.aborted) return 0;
    if (options.stdio) {
      noteFailures(gateway, cli);
      events.begin(servedServers(gateway.workspace));
      await Promise.race([gateway.serveStdio(process.stdin, process.stdout), aborted(interrupt.signal)]);
      return 0;
    }
    const { url } = await gateway.listen();
    if (port === 0) {
      // Any free port was asked for: only now is it known which.
      own.port = Number(new URL(url).port);
      const { hub } = gateway.workspace;
      for (const { alias, declared } of hub.members) if (isOwn(declared, own, say)) void hub.remove(alias);
    }
    greet(cli, gateway, { ...options, access, settings, url, folder: served.folder });
    events.begin(servedServers(gateway.workspace));
    await aborted(interrupt.signal);
    return 0;
  } finally {
    spinner.stop();
    output.around(undefined);
    events.end();
    await gateway.close();
  }
}

function isOwn(server: DeclaredServer, own: OwnPlace, say: (text: string) => void): boolean {
  const reason = ownGateway(server, own);
  if (reason !== undefined) say(`${plainLine(server.alias, 100)} is left out: ${reason}.`);
  return reason !== undefined;
}

interface Known extends ServeOptions {
  readonly access: Pick<Access, "token" | "created">;
  readonly settings: GatewaySettings;
  readonly url: string;
  readonly folder: string;
}

function greet(cli: Cli, { workspace }: Gateway, known: Known): void {
  const { io, output } = cli;
  const { access, settings } = known;
  const greeting = {
    url: reachable(known.url, settings),
    settings,
    servers: servedServers(workspace),
    tags: [...new Set(workspace.hub.members.flatMap(({ declared }) => declared.tags ?? []))].toSorted(),
    token:
      settings.auth === "none"
        ? undefined
        : {
            value: access.token,
            // Anywhere else it would stay in a log, or in another program's memory.
            shown: (access.created || known.showToken) && (known.json ? io.stdout : io.stderr).isTTY === true,
            created: access.created,
            wanted: known.showToken,
            command: tokenCommand(process.argv[1], io.cwd, known.folder),
          },
  };
  if (known.json) return output.print(toJsonText(greetingJson(greeting)));
  const columns = io.stderr.isTTY === true ? io.stderr.columns : undefined;
  output.note(greetingText(greeting, output.noteColors, columns), true);
  if (io.stderr.isTTY === true) output.note(output.noteColors.dim("\nCtrl-C stops it."));
}

/** A client shows what a server says on stderr as trouble, so there only trouble is said. */
function noteFailures({ workspace }: Gateway, { output }: Cli): void {
  for (const { alias, error } of servedServers(workspace))
    if (error !== undefined)
      output.note(`${plainLine(alias, 100)} is not there: ${plainLine(error.message, 500)} [${error.code}]`);
}

/** What runs for days tells of warnings too. */
function noteProblem(diagnostic: Diagnostic, { stdio }: ServeOptions, cli: Cli): void {
  const { io, output, options } = cli;
  const { severity, file, line } = diagnostic;
  if (severity !== "error" && !options.verbose && (stdio || severity === "info")) return;
  if (file !== undefined && line !== undefined) {
    // A declaration that was saved with a mistake: where it is matters most.
    const label = (path: string): string => pathLabel(path, computerOf(io, io.cwd));
    return output.note(describeFinding(diagnostic, { colors: output.noteColors, width: undefined, label }));
  }
  if (severity !== "warning" || stdio) return noteDiagnostic(diagnostic, cli);
  const hint = diagnostic.hint === undefined ? "" : ` ${plainLine(diagnostic.hint, 300)}`;
  output.note(`${describeDiagnostic(diagnostic, output.noteColors.yellow)}${hint}`);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
