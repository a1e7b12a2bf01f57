// Ports for logins and health checks of drivers: commands in the driver's sandbox, limited HTTP requests, a browser.

import { join } from "node:path";
import type { AuthPorts, RunOptions, RunResult } from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  withDriverMode,
  parseNetworkRule,
  type ContractsEndpoint,
  type Driver,
  type LaunchSettings,
  type HttpExpectation,
  type NetworkRule,
  toCommandLine,
} from "../../model/index.ts";
import { showLogin } from "./login-page.ts";
import { granted, homeFor, hasLoginState, stateGrants } from "./login-state.ts";
import type { ServerContext } from "../processes/open-server-session.ts";
import type { ProcessListener } from "../processes/process-pool.ts";
import { lookup as lookUp } from "node:dns/promises";
import { boundedFetch } from "../../base/net/bounded-fetch.ts";
import { isHttpUrl, parseUrl, portOf, publicPart } from "../../base/net/urls.ts";
import { isLoopbackAddress, isLoopbackHost, isSpecialAddress } from "../../base/net/addresses.ts";

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
  { driver, context, interactive, signal, input }: RunOptions,
  { context: server, endpoint: { root, policy }, listener }: DriverAuthOptions,
): Promise<RunResult> {
  const { person, redactor, config } = server;
  if (interactive && person?.terminal !== true)
    throw new PortolanError(
      "AUTH_REQUIRED",
      `Portolan did not run the login command "${command}": the command needs a terminal, and this process has none`,
      {
        server: driver.id,
        hint: `Log in from a terminal: portolan login ${driver.id}`,
      },
    );
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
      { timeoutMs: LONGEST_MS, signal, terminal: interactive, input },
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
  const isServers = endpoint.transport === "stdio" && toCommandLine(endpoint).command === program;
  return {
    cwdImplied: true,
    sandbox: launch.sandbox,
    sandboxOverride: launch.sandboxOverride,
    homeFolder,
    install: isServers ? launch.install : undefined,
  };
}

/** The server's environment without variables that contain secrets. */
function plainEnv({ endpoint }: Driver): Record<string, string> {
  const env = endpoint.transport === "stdio" ? endpoint.env : endpoint.program?.env;
  return Object.fromEntries(Object.entries(env ?? {}).filter(([, value]) => !value.includes("${")));
}

const LIMIT_MS = 10_000;

/**
 * One request of a login or health check: to a public host over TLS, or to a host that the driver's sandbox
 * grants. Returns the status of the response. Redirects are not followed.
 */
export async function sendOnce(
  { method, url: written }: HttpExpectation,
  signal: AbortSignal,
  driver: Driver,
): Promise<{ readonly status: number }> {
  const url = new URL(written);
  const addresses = await allowedAddresses(url, driver);
  try {
    const response = await boundedFetch(url, {
      ...{ method, signal, maxBytes: 0, timeoutMs: LIMIT_MS },
      headers: method === "POST" ? { "content-length": "0" } : {},
      // Only the checked addresses are used, so that a second DNS lookup cannot change them.
      ...{ addresses, allowPlaintext: true },
    });
    response.close();
    return { status: response.status };
  } catch (cause) {
    throw failed(driver, url, (cause as Error).message, cause);
  }
}

async function allowedAddresses(url: URL, driver: Driver): Promise<readonly string[]> {
  const { protocol, hostname, username, password } = url;
  const httpsHint = `Use an https address. The address is in ${driver.origin.file}, or in the code of the driver.`;
  if (!isHttpUrl(url)) throw refused(driver, url, "the address is not https", httpsHint);
  if (username !== "" || password !== "") {
    const hint = "Leave the user name and the password out of the address.";
    throw refused(driver, url, "the address contains a user name or a password", hint);
  }
  const port = portOf(url);
  const { decideHost } = await import("../../sandbox/index.ts");
  const lookup = async (host: string): Promise<string[]> =>
    (await lookUp(host, { all: true })).map(({ address }) => address);
  const verdict = await decideHost(rulesFor(driver, port), hostname, port, lookup);
  if ("denied" in verdict) {
    const hint = `If the driver needs this host, list it in network.egress of ${driver.origin.file}.`;
    throw refused(driver, url, verdict.denied, hint);
  }
  if ("unknown" in verdict) throw failed(driver, url, `there is no host ${verdict.unknown}`);
  if (protocol === "http:" && !verdict.addresses.every(isLoopbackAddress))
    throw refused(driver, url, "http without TLS is allowed for addresses of this computer only", httpsHint);
  return verdict.addresses;
}

/** All public hosts, the hosts of the driver's network list, and its own server if that is a local address. */
function rulesFor({ launch, endpoint }: Driver, port: number): NetworkRule[] {
  const own = endpoint.transport === "stdio" ? [] : ownRule(endpoint.url);
  return [`*:${port}`, ...(launch.sandbox?.network ?? []), ...own].flatMap((text) => {
    const parsed = parseNetworkRule(text);
    return parsed.ok ? [parsed.rule] : [];
  });
}

function ownRule(address: string): string[] {
  const url = parseUrl(address);
  if (url === undefined) return [];
  const isNear = isLoopbackHost(url.hostname) || isSpecialAddress(url.hostname);
  return isNear ? [`${url.hostname}:${portOf(url)}`] : [];
}

function refused(driver: Driver, url: URL, reason: string, hint: string): PortolanError {
  return new PortolanError(
    "SANDBOX_DENIED",
    `${driver.id}: the request to ${publicPart(url)} is not allowed: ${reason}`,
    { server: driver.id, hint },
  );
}

function failed(driver: Driver, url: URL, reason: string, cause?: unknown): PortolanError {
  return new PortolanError(
    "HTTP_ERROR",
    `${driver.id}: the request to ${publicPart(url)} failed: ${reason}`,
    {
      server: driver.id,
      cause,
    },
  );
}
