// `portolan serve`: serves the workspace as one MCP server until it is stopped.

import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import process from "node:process";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import {
  type Access,
  createAccess,
  type OpenedGateway,
  openAccess,
  openGateway,
} from "../../gateway/index.ts";
import type { HubEvent } from "../../hub/index.ts";
import { type ServerConfig, GATEWAY_DEFAULTS, type GatewaySettings } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { createPassphrasePrompt } from "../input/secret-input.ts";
import { describeDiagnostic, diagnosticLine, noteDiagnostic } from "../output/diagnostic.ts";
import { withSpinner } from "../output/progress.ts";
import { formatDownload } from "../terminal/layout.ts";
import { aborted } from "../terminal/interrupt.ts";
import { plainLine, toJsonText } from "../terminal/safe-text.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { createServeEvents } from "./event-log.ts";
import { greetingJson, greetingText, reachable, servedServers, tokenCommand } from "./greeting.ts";
import { overSettings, parseServeOptions, type RawServeOptions, type ServeOptions } from "./options.ts";
import { ownGateway, type OwnPlace } from "./own-gateway.ts";
import { findServed } from "./served.ts";

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
  // Without a token nothing is stored: a key of this process signs states and task ids.
  const needsToken = !options.stdio && settings.auth !== "none";
  const access = needsToken
    ? await openAccess(served.folder, { renew: options.newToken, report })
    : await openAccess(served.folder).catch(() => createAccess());
  const say = (text: string): void => {
    if (!troubleOnly) output.note(text);
  };
  if (served.note !== undefined) say(output.noteColors.dim(served.note));
  const events = createServeEvents(cli, troubleOnly);
  const all = served.config.servers.filter(({ enabled }) => enabled).length;
  let ready = 0;
  const gateway = await withSpinner(cli, (spinner) => {
    spinner.start(all === 1 ? `starting ${served.config.servers[0]?.alias}` : `starting ${all} servers`);
    return openGateway(served.source, {
      access,
      settings,
      http: !options.stdio,
      only: options.only,
      bare: served.bare,
      // A config file of a client on this computer may point at this very gateway, now or later.
      leaveOut: (server) => isOwn(server, own, say),
      waitMs: cli.options.waitMs,
      signal: interrupt.signal,
      onDiagnostic: report,
      snapshots: served.keepsNothing ? false : undefined,
      sandbox: served.sandbox,
      driverCode: cli.options.driverCode,
      onEvent: (event: HubEvent) => {
        if (event.type === "mcp.server_ready" && all > 1)
          spinner.update(`${(ready += 1)} of ${all} servers are ready`);
        if (event.type === "mcp.server_installing" && event.bytes !== undefined)
          spinner.update(`${plainLine(event.server, 40)} ${formatDownload(event.bytes)}`);
        events.record(event);
      },
      // Without --verbose no call is shown, and measuring it would only cost time.
      callEvents: cli.options.verbose && !output.quiet,
      promptPassphrase: options.stdio ? undefined : createPassphrasePrompt(cli).prompt,
    });
  }).catch(async (error: unknown) => {
    // The user has not seen the new token: the next start creates and shows another.
    if (access.created && access.file !== undefined) await rm(access.file, { force: true });
    throw error;
  });
  try {
    if (interrupt.signal.aborted) return 0;
    if (options.stdio) {
      noteFailures(gateway, cli);
      events.begin(servedServers(gateway.workspace));
      await Promise.race([gateway.serveStdio(process.stdin, process.stdout), aborted(interrupt.signal)]);
      return 0;
    }
    const { url } = await gateway.listen();
    if (port === 0) {
      // With --port 0, the port is known only now.
      own.port = Number(new URL(url).port);
      const { hub } = gateway.workspace;
      for (const { alias, config } of hub.members) if (isOwn(config, own, say)) void hub.remove(alias);
    }
    greet(cli, gateway, { ...options, access, settings, url, folder: served.folder });
    events.begin(servedServers(gateway.workspace));
    await aborted(interrupt.signal);
    return 0;
  } finally {
    events.end();
    await gateway.close();
  }
}

function isOwn(server: ServerConfig, own: OwnPlace, say: (text: string) => void): boolean {
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

function greet(cli: Cli, { workspace }: OpenedGateway, known: Known): void {
  const { io, output } = cli;
  const { access, settings } = known;
  const greeting = {
    url: reachable(known.url, settings),
    settings,
    servers: servedServers(workspace),
    tags: [...new Set(workspace.hub.members.flatMap(({ config }) => config.tags ?? []))].toSorted(),
    token:
      settings.auth === "none"
        ? undefined
        : {
            value: access.token,
            // Outside of a terminal, the token would stay in a log or in another program's memory.
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

/** Clients show the stderr of a stdio server as errors, so it gets only failures. */
function noteFailures({ workspace }: OpenedGateway, { output }: Cli): void {
  for (const { alias, error } of servedServers(workspace))
    if (error !== undefined)
      output.note(
        `${plainLine(alias, 100)} is not running: ${plainLine(error.message, 500)} [${error.code}]`,
      );
}

/** A gateway runs for days, so it shows warnings too. */
function noteProblem(diagnostic: Diagnostic, { stdio }: ServeOptions, cli: Cli): void {
  const { io, output, options } = cli;
  const { severity, file, line } = diagnostic;
  if (severity !== "error" && !options.verbose && (stdio || severity === "info")) return;
  if (file !== undefined && line !== undefined) {
    // For an error in a saved config file, the place matters most.
    const label = pathLabeller(io);
    return output.note(
      describeDiagnostic(diagnostic, { colors: output.noteColors, width: undefined, label }),
    );
  }
  if (severity !== "warning" || stdio) return noteDiagnostic(diagnostic, cli);
  const hint = diagnostic.hint === undefined ? "" : ` ${plainLine(diagnostic.hint, 300)}`;
  output.note(`${diagnosticLine(diagnostic, output.noteColors.yellow)}${hint}`);
}

/** Throws when the port cannot be listened at, before anything is started for it. */
function checkPort(host: string, port: number): Promise<void> {
  if (port === 0) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const [why, hint] = EXPLAINED[cause.code ?? ""] ?? [cause.message, "Check --host and --port."];
      reject(new PortolanError("USAGE", `Cannot listen at ${host}:${port}: ${why}.`, { hint, cause }));
    });
    server.listen(port, host, () => server.close(() => resolve()));
  });
}

const EXPLAINED: Readonly<Record<string, readonly [string, string]>> = {
  EADDRINUSE: [
    "the port is taken",
    "A gateway may be running already. Otherwise choose another port: --port 7421, or --port 0 for any free one.",
  ],
  EACCES: ["this user may not", "Ports below 1024 belong to the system; choose a higher one with --port."],
  EADDRNOTAVAIL: [
    "this computer does not have that address",
    "Use --host 127.0.0.1 for this computer alone, or 0.0.0.0 for every address it has.",
  ],
  ENOTFOUND: ["there is no such host", "Give an address of this computer: --host 127.0.0.1"],
};
