// Serves the workspace with servers of this process, over HTTP or on the streams of one client, until it is stopped.

import { rm } from "node:fs/promises";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import {
  type Access,
  createAccess,
  type OpenedGateway,
  openAccess,
  openGateway,
} from "../../gateway/index.ts";
import type { HubEvent } from "../../hub/index.ts";
import { type ServerConfig, GATEWAY_DEFAULTS, type GatewaySettings } from "../../model/index.ts";
import { clientTitle } from "../arguments/client-names.ts";
import { connectedClients } from "../connect/connected.ts";
import type { Cli, Words } from "../context.ts";
import { createPassphrasePrompt } from "../input/secret-input.ts";
import { withSpinner } from "../output/progress.ts";
import { errorLine } from "../output/server-state.ts";
import { formatDownload } from "../terminal/layout.ts";
import { aborted } from "../terminal/interrupt.ts";
import { plainLine, toJsonText } from "../terminal/safe-text.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { envFileOf, pathLabeller } from "../workspace/folder.ts";
import { openServeConsole, type ServeConsole } from "./console.ts";
import { BACKGROUND, onHangUp, openControl } from "./control.ts";
import { createServeEvents } from "./event-log.ts";
import { greetingJson, reachable, servedServers, tokenCommand } from "./greeting.ts";
import { openServeLog, type ServeLog } from "./log.ts";
import { overSettings, type ServeOptions } from "./options.ts";
import { ownGateway, type OwnPlace } from "./own-gateway.ts";
import { checkPort } from "./port.ts";
import { findServed, type Served } from "./served.ts";

/** The streams of the client of a gateway on stdio. */
export interface ClientStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** Resolves with the exit code when the gateway has stopped. */
export async function serveOwn(
  cli: Cli,
  words: Words,
  options: ServeOptions,
  client?: ClientStreams,
): Promise<number> {
  const { io, output, interrupt } = cli;
  const troubleOnly = options.stdio && !cli.options.verbose;
  const served = await findServed(cli, words, options.only);
  const settings = overSettings(served.config.gateway, options.settings);
  const { host = GATEWAY_DEFAULTS.host, port = GATEWAY_DEFAULTS.port, allowedHosts } = settings;
  const own: OwnPlace = { host, port, allowedHosts, script: process.argv[1] };
  if (!options.stdio) await checkPort(host, port, io, served.path);
  const logFormat = options.logFormat ?? settings.logFormat;
  const format = logFormat ?? (io.stderr.isTTY === true ? "pretty" : "text");
  const log = openServeLog(cli, { ...options, logFormat });
  void aborted(interrupt.signal).then(() => {
    // Only Ctrl-C ends with this code.
    if (interrupt.exitCode === 130) log.note("Stopping. Press Ctrl-C again to quit immediately.");
  });
  const report = log.diagnostic;
  // Without a token nothing is stored: a key of this process signs states and task ids.
  const needsToken = !options.stdio && settings.auth !== "none";
  const access = needsToken
    ? await openAccess(served.folder, { renew: options.newToken, report })
    : await openAccess(served.folder).catch(() => createAccess());
  const say = (text: string): void => {
    if (!troubleOnly) log.note(text);
  };
  const stopping = new AbortController();
  const stop = (): void => stopping.abort();
  const ended = Promise.race([aborted(interrupt.signal), aborted(stopping.signal)]);
  if (served.note !== undefined) say(output.noteColors.dim(served.note));
  const events = createServeEvents(log, cli, troubleOnly);
  // A signal during the start needs no reload, because the files are being read.
  let reload = (): void => {};
  const offHangUp = onHangUp(cli, () => reload(), stop);
  const { only } = options;
  const started = served.config.servers.filter((one) => one.enabled && only?.includes(one.alias) !== false);
  const all = started.length;
  let ready = 0;
  let site: ServeConsole | undefined;
  const gateway = await withSpinner(cli, (spinner) => {
    spinner.start(all === 1 ? `starting ${started[0]?.alias}` : `starting ${all} servers`);
    return openGateway(
      served.source,
      {
        access,
        settings: (configured) => overSettings(configured, options.settings),
        http: !options.stdio,
        parsedFiles: served.parsedFiles,
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
        envFile: envFileOf(cli),
        onEvent: (event: HubEvent) => {
          if (event.type === "mcp.server_ready" && all > 1)
            spinner.update(`${(ready += 1)} of ${all} servers are ready`);
          if (event.type === "mcp.server_installing" && event.bytes !== undefined)
            spinner.update(`${plainLine(event.server, 40)} ${formatDownload(event.bytes)}`);
          events.record(event);
        },
        // Without --verbose no call is shown, and measuring it would only cost time.
        callEvents: cli.options.verbose && !output.quiet,
        promptPassphrase: options.stdio ? undefined : createPassphrasePrompt(cli, spinner).prompt,
      },
      settings.console === "off"
        ? undefined
        : async (workspace) => (site = await openServeConsole(cli, workspace, { access, settings, served })),
    );
  }).catch(async (error: unknown) => {
    // The user has not seen the new token: the next start creates and shows another.
    if (access.created && access.file !== undefined) await rm(access.file, { force: true });
    offHangUp();
    throw error;
  });
  reload = () => void gateway.reload();
  const control = (kind: "http" | "stdio", url?: string): ReturnType<typeof openControl> =>
    openControl(cli, gateway, {
      ...{ path: served.path, kind, url, stop, log: options.logFile, isPartial: options.only !== undefined },
      consoleLink: kind === "http" ? () => site?.address(true) : undefined,
      keepsLogs: !served.keepsNothing,
      isRequired: io.env[BACKGROUND] === "1",
      warn: say,
    });
  let isStopping = false;
  let controlled: Awaited<ReturnType<typeof openControl>>;
  try {
    if (interrupt.signal.aborted) return 0;
    // Other commands find only a gateway that serves a path.
    if (served.path !== undefined) gateway.approvals.addWay("terminal");
    if (options.stdio) {
      noteFailures(gateway, log);
      events.begin(servedServers(gateway.workspace));
      const { input, output: written } = client ?? { input: process.stdin, output: process.stdout };
      const done = gateway.serveStdio(input, written);
      controlled = await control("stdio");
      io.beginServing();
      await Promise.race([done, ended]);
      return 0;
    }
    const { url } = await gateway.listen();
    if (port === 0) {
      // With --port 0, the port is known only now.
      own.port = Number(new URL(url).port);
      const { hub } = gateway.workspace;
      for (const { alias, config } of hub.members) if (isOwn(config, own, say)) void hub.remove(alias);
    }
    site?.begin(gateway, url);
    await greet(cli, log, gateway, { ...options, access, settings, url, served, site });
    events.begin(servedServers(gateway.workspace));
    controlled = await control("http", `${reachable(url, settings)}/mcp`);
    io.beginServing();
    await ended;
    isStopping = true;
    if (format !== "pretty") log.note("The gateway is stopping.");
    return 0;
  } finally {
    events.end();
    offHangUp();
    // Calls that wait for approval are answered while their clients are still connected: they have not run.
    await gateway.approvals.close();
    await controlled?.close();
    await gateway.close();
    if (isStopping && format !== "pretty") log.note("The gateway has stopped.");
  }
}

function isOwn(server: ServerConfig, own: OwnPlace, say: (text: string) => void): boolean {
  const reason = ownGateway(server, own);
  if (reason !== undefined) say(`The gateway does not serve ${plainLine(server.alias, 100)}: ${reason}.`);
  return reason !== undefined;
}

/** The greeting does without them if the records cannot be read. */
async function connectedTitles(path: string | undefined): Promise<string[]> {
  if (path === undefined) return [];
  return (await connectedClients(path).catch(() => [])).map(clientTitle);
}

interface Known extends ServeOptions {
  readonly access: Pick<Access, "token" | "created" | "file">;
  readonly settings: GatewaySettings;
  readonly url: string;
  readonly served: Pick<Served, "folder" | "path">;
  readonly site: ServeConsole | undefined;
}

async function greet(cli: Cli, log: ServeLog, { workspace }: OpenedGateway, known: Known): Promise<void> {
  const { io, output } = cli;
  const { access, settings, served } = known;
  const greeting = {
    url: reachable(known.url, settings),
    settings,
    workspaceOption: served.path === undefined ? undefined : optionFor(served.path, io),
    connected: await connectedTitles(served.path),
    servers: servedServers(workspace),
    // Outside of a terminal, the code would stay in a log.
    console: known.site?.address(!known.json && io.stderr.isTTY === true && known.logFile === undefined),
    tags: [...new Set(workspace.hub.members.flatMap(({ config }) => config.tags ?? []))].toSorted(),
    token:
      settings.auth === "none"
        ? undefined
        : {
            value: access.token,
            // Outside of a terminal, the token would stay in a log or in another program's memory.
            shown:
              (access.created || known.showToken) &&
              (known.json ? io.stdout : io.stderr).isTTY === true &&
              known.logFile === undefined,
            created: access.created,
            wanted: known.showToken,
            command: tokenCommand(process.argv[1], io.cwd, served.folder),
            file: access.file === undefined ? undefined : pathLabeller(io)(access.file),
          },
  };
  if (known.json) return output.print(toJsonText(greetingJson(greeting)));
  log.greet(greeting);
}

/** Clients show the stderr of a stdio server as errors, so it gets only failures. */
function noteFailures({ workspace }: OpenedGateway, log: ServeLog): void {
  for (const { alias, error } of servedServers(workspace))
    if (error !== undefined) log.note(`${plainLine(alias, 100)} is not running: ${errorLine(error)}`);
}
