// Ports for logins and health checks of drivers: commands in the driver's sandbox, limited HTTP requests, a browser.

import { join } from "node:path";
import type { AuthPorts, RunOptions, RunResult } from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  type ContractsEndpoint,
  type Driver,
  type LaunchSettings,
  withDriverMode,
} from "../../model/index.ts";
import { sendOnce } from "./auth-http.ts";
import { showLogin } from "./login-page.ts";
import { granted, homeFor, hasLoginState, stateGrants } from "./login-state.ts";
import type { ServerContext } from "../processes/open-server-session.ts";
import type { ProcessListener } from "../processes/process-pool.ts";

interface DriverAuthOptions {
  readonly context: ServerContext;
  readonly endpoint: ContractsEndpoint;
  readonly listener: ProcessListener;
}

const LONGEST_MS = 300_000;
const SHOWN_CHARS = 500;

export async function driverAuth(options: DriverAuthOptions): Promise<AuthPorts & { readonly file: string }> {
  const { root } = options.endpoint;
  const { default: envPaths } = await import("env-paths");
  return {
    file: join(envPaths("portolan", { suffix: "" }).data, "driver-auth.json"),
    run: (command, one) => runForDriver(command, one, options),
    http: sendOnce,
    say: (text) => options.context.person?.say(text),
    openUrl: (url, one) => showLogin(options.context.person, url, one),
    exists: async (path, { driver, context }) =>
      hasLoginState(path, await homeFor(driver, context, root), root),
  };
}

/** Runs the command in the sandbox of the driver's server, with write access to the driver's login state. */
async function runForDriver(
  command: string,
  { driver, context, interactive, signal }: RunOptions,
  { context: server, endpoint: { root, policy }, listener }: DriverAuthOptions,
): Promise<RunResult> {
  const { person, redactor, config } = server;
  if (interactive && person?.terminal !== true)
    throw new PortolanError("AUTH_REQUIRED", `${command} is interactive, and stdin is not a terminal`, {
      server: driver.id,
      hint: `Log in on a terminal: portolan login ${driver.id}`,
    });
  const { splitCommand } = await import("../../install/index.ts");
  const { runCommand } = await import("../../launch/index.ts");
  const { chooseMode } = await import("../../sandbox/index.ts");
  const [program = "", ...args] = splitCommand(command);
  const home = await homeFor(driver, context, root);
  const settings = withDriverMode(settingsFor(driver, program, home), driver.id, {
    override: config.launch?.sandboxOverride,
    alias: config.alias,
    byDriver: policy.sandbox,
  });
  const { login, refresh } = driver.auth ?? {};
  const isSandboxed = chooseMode(settings, process.env).mode !== "off" && home === undefined;
  const create = command === login?.command || command === refresh?.command;
  const state = isSandboxed ? await stateGrants(driver, root, { create, command }) : undefined;
  try {
    const ran = await runCommand(
      {
        server: driver.id,
        endpoint: { command: program, args, env: plainEnv(driver), cwd: root },
        settings: granted(settings, "write", state?.write ?? []),
        report: server.report,
        context: server.launchContext,
        onLaunch: (news) => {
          if (news.type === "denied") listener.launch(news);
        },
      },
      { timeoutMs: LONGEST_MS, signal, terminal: interactive },
    );
    const said = redactor.redactText(ran.stderr.trim() || ran.stdout.trim()).slice(-SHOWN_CHARS);
    if (create && ran.code !== 0 && said !== "") person?.say(`${driver.id}: ${said}`);
    return { exitCode: ran.code, said };
  } finally {
    await state?.tidy();
  }
}

/** The sandbox settings of the server, for another program. The install settings apply only to the same program. */
function settingsFor(
  { launch, endpoint }: Driver,
  program: string,
  homeFolder: string | undefined,
): LaunchSettings {
  const isServers = endpoint.transport === "stdio" && endpoint.command === program;
  return {
    cwdImplied: true,
    sandbox: launch.sandbox,
    sandboxOverride: launch.sandboxOverride,
    homeFolder,
    ...(isServers ? { install: launch.install } : {}),
  };
}

/** The server's environment without variables that contain secrets. */
function plainEnv({ endpoint }: Driver): Record<string, string> {
  const env = endpoint.transport === "stdio" ? endpoint.env : endpoint.program?.env;
  return Object.fromEntries(Object.entries(env ?? {}).filter(([, value]) => !value.includes("${")));
}
