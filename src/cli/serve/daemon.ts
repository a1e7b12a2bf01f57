// `portolan serve --daemon`: starts the gateway in the background, and waits until it is ready or has failed.

import { closeSync, fstatSync, mkdirSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { shellWord } from "../../base/text/command-line.ts";
import { logFolder, type RunningGateway, unwritableFolder } from "../../control/index.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { GATEWAY_DEFAULTS, type GatewaySettings } from "../../model/index.ts";
import { type BackgroundProgram, startBackground } from "../../process/index.ts";
import type { Cli, Words } from "../context.ts";
import { withGateway } from "../control/find.ts";
import { unlockForGateway } from "../secrets/vault-of-gateway.ts";
import { errorLine, specificHint, stateLabel } from "../output/server-state.ts";
import { count, displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { optionFor } from "../workspace/elsewhere.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { gatewayLabel } from "../workspace/running.ts";
import { BACKGROUND } from "./control.ts";
import { consoleUrl, publicNotes, tokenCommand } from "./greeting.ts";
import { overSettings, type ServeOptions } from "./options.ts";
import { noteProblem } from "./log.ts";
import { checkPort } from "./port.ts";
import { findServed, type Served } from "./served.ts";
import { newLines, waitUntilReady } from "./wait-until-ready.ts";

const WAIT_MS = 10_000;
const SHOWN_LINES = 15;

export async function startDaemon(cli: Cli, words: Words, options: ServeOptions): Promise<number> {
  const { io, output } = cli;
  // All errors of the config files are shown here, before anything is started.
  const served = await findServed(cli, words, options.only);
  const { path } = served;
  if (path === undefined)
    throw new PortolanError(
      "USAGE",
      "--daemon works only with a workspace, not with a server on the command line.",
      {
        hint: "Add the server to a workspace first: portolan add <name> -- <command...>, or portolan add <name> <url>",
      },
    );
  const [running] = (await io.findGateways(path)).gateways.filter(({ kind }) => kind === "http");
  if (running !== undefined) {
    output.note(
      `No gateway was started: a gateway of this workspace already runs ${gatewayLabel(running)}. To stop it: portolan stop${optionFor(running.path, io)}`,
    );
    return report(cli, running, served, { settings: served.config.gateway ?? {}, isNew: false });
  }
  const settings = overSettings(served.config.gateway, options.settings);
  const { host = GATEWAY_DEFAULTS.host, port = GATEWAY_DEFAULTS.port } = settings;
  await checkPort(host, port, io, path);
  const { only } = options;
  const servers = served.config.servers.filter(({ alias }) => only?.includes(alias) !== false);
  await unlockForGateway(cli, { ...served.config, servers }, only);
  const log = options.logFile ?? join(await logFolder(path), "gateway.log");
  const { started, logStart } = await start(cli, log, openLog(log, options));
  const gateway = await waitUntilReady(cli, path, started, { log, logStart });
  if ("code" in gateway) return failed(cli, log, logStart, gateway.code);
  started.release();
  // The gateway itself writes these warnings to its log, which few people read.
  for (const warning of served.warnings ?? []) noteProblem(warning, false, cli);
  for (const line of publicNotes(settings)) output.note(output.noteColors.yellow(line));
  return report(cli, gateway, served, { settings, isNew: true });
}

interface Start {
  readonly started: BackgroundProgram;
  /** The size of the log before the start: earlier lines are those of other runs. */
  readonly logStart: number;
}

/** Errors before the log begins, and crashes, are written to the same file. */
function openLog(log: string, { logFile }: ServeOptions): number {
  const folder = dirname(log);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return openSync(log, "a", 0o600);
  } catch (error) {
    const other =
      logFile === undefined
        ? "On Linux, XDG_STATE_HOME sets another folder for Portolan's logs."
        : "--log-file sets the path of the log.";
    throw unwritableFolder(folder, error, other);
  }
}

async function start(cli: Cli, log: string, output: number): Promise<Start> {
  const own = process.argv.slice(2);
  const cut = own.indexOf("--");
  const [script = ""] = process.argv.slice(1, 2);
  const given = (cut < 0 ? own : own.slice(0, cut)).filter(
    (word, index, all) =>
      word !== "--daemon" && word !== "--json" && word !== "--log-file" && all[index - 1] !== "--log-file",
  );
  const args = [...given, "--log-file", log];
  try {
    const { cwd } = cli.io;
    const logStart = fstatSync(output).size;
    // A gateway in the background belongs to no other Portolan process, which would end it with its own servers.
    const { PORTOLAN_OWNER: _owner, ...env } = cli.io.env;
    const started = await startBackground(
      {
        ...{ file: process.execPath, args: [...process.execArgv, script, ...args], cwd },
        env: { ...env, [BACKGROUND]: "1" },
      },
      output,
    );
    return { started, logStart };
  } finally {
    closeSync(output);
  }
}

async function failed(cli: Cli, log: string, logStart: number, code: number | null): Promise<number> {
  const { io } = cli;
  const lines = await newLines(log, logStart);
  const what = code === null ? "was killed" : `ended with code ${code}`;
  cli.output.error(
    new PortolanError("SERVER_START_FAILED", `The gateway did not start: it ${what}.`, {
      stderr: [...new Set(lines)].slice(-SHOWN_LINES).join("\n"),
      hint: `The complete log is in ${pathLabeller(io)(log)}`,
      data: { log, exitCode: code },
    }),
  );
  return code === null || code === 0 ? 3 : code;
}

/** `isNew`: this command started the gateway. Another one may run in a terminal. */
async function report(
  cli: Cli,
  gateway: RunningGateway,
  { folder }: Pick<Served, "folder">,
  { settings, isNew }: { readonly settings: GatewaySettings; readonly isNew: boolean },
): Promise<number> {
  const { io, output } = cli;
  const { health, diagnostics } = await withGateway(gateway, async (client) => {
    // A failed start is reported here, unless it takes very long.
    const late = delay(cli.options.waitMs ?? WAIT_MS, undefined, { ref: false });
    await Promise.race([client.snapshot({ wait: true }).catch(() => {}), late]);
    return client.snapshot({});
  });
  // CONFIG_INVALID: settings that have no effect, such as a rule for a tool that its server does not have.
  const isShown = ({ code }: Diagnostic): boolean => code === "AUDIT_DAMAGED" || code === "CONFIG_INVALID";
  for (const { message, hint = "" } of diagnostics.filter(isShown))
    output.note(
      `${output.noteColors.yellow("warning")} ${plainLine(message, 500)}\n ${output.noteColors.cyan("hint")} ${plainLine(hint, 500)}`,
    );
  const { pid, url, log } = gateway;
  const command = tokenCommand(process.argv[1], io.cwd, folder);
  if (output.form === "json") {
    const servers = health.map(({ alias, state, tools, withheld, error }) => ({
      ...{ alias, state, tools, withheld, error },
    }));
    output.json({ pid, url, log, tokenCommand: command, servers });
    return 0;
  }
  const { colors } = output;
  const isConsoleServed = url !== undefined && consoleUrl(url, settings) !== undefined;
  const widthOf = (texts: readonly string[]): number => Math.max(0, ...texts.map(displayWidth));
  const names = widthOf(health.map(({ alias }) => plainLine(alias, 40)));
  const states = widthOf(health.map(({ state }) => state));
  const lines = health.map(({ alias, state, tools, withheld, error }) => {
    const review = `portolan pins ${shellWord(plainLine(alias, 100))}${optionFor(gateway.path, io)}`;
    const held = withheld === undefined ? "" : `, ${withheld} withheld (${review})`;
    const name = plainLine(alias, 40);
    const gap = " ".repeat(names - displayWidth(name));
    const indent = names + states + 6;
    const room = output.width === undefined ? undefined : Math.max(20, output.width - indent);
    const inColumn = (text: string): string => wrap(text, room).replaceAll("\n", `\n${" ".repeat(indent)}`);
    const start = `  ${colors.bold(name)}${gap}  ${stateLabel(state, colors)}${" ".repeat(states - state.length)}  `;
    if (error === undefined) return `${start}${count(tools, "tool")}${held}`;
    const hint = specificHint(error.code, error.hint);
    const fact = `${start}${inColumn(errorLine({ ...error, hint: "" }))}`;
    return hint === "" ? fact : `${fact}\n${" ".repeat(indent)}${inColumn(`${colors.cyan("hint")} ${hint}`)}`;
  });
  output.print(
    [
      `The gateway runs ${isNew ? "in the background " : ""}at ${colors.bold(colors.cyan(url ?? ""))} (process ${pid})`,
      ...lines,
      ...(settings.auth === "none"
        ? []
        : [`To print the token: portolan token${optionFor(gateway.path, io)}`]),
      ...(isConsoleServed ? [`To open the console: portolan console${optionFor(gateway.path, io)}`] : []),
      ...(log === undefined ? [] : [`Log: ${pathLabeller(io)(log)}`]),
      `To stop the gateway: portolan stop${optionFor(gateway.path, io)}`,
    ].join("\n"),
  );
  return 0;
}
