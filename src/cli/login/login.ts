// `portolan login` and `portolan logout`: signs a user in to a server or a driver, at the terminal or in a browser, and out again.

import { stat } from "node:fs/promises";
import { shellWord } from "../../base/text/command-line.ts";
import {
  type AuthState,
  type Contracts,
  hasLogin,
  isCheckProblem,
  LOCAL_USER,
} from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { Person } from "../../hub/index.ts";
import type { ContractsEndpoint, Driver } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { isInteractive } from "../input/handlers.ts";
import { createPassphrasePrompt } from "../input/secret-input.ts";
import { workspaceSandbox } from "../options/sandbox.ts";
import { takeOneWord } from "../options/usage-error.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import { plainLine, plainText } from "../terminal/safe-text.ts";
import { type ContractsSource, contractsOf, loadContracts, requireDriver } from "../workspace/contracts.ts";
import { loadSource, requireServer } from "../workspace/source.ts";
import { loginAtServer, logoutAtServer, type ServerLoginOptions } from "./server-login.ts";
import { toUrlServer, type UrlServer } from "./url-server.ts";
import { envFileOf } from "../workspace/folder.ts";

export type LoginOptions = ServerLoginOptions;

export async function login(cli: Cli, words: readonly string[], options: LoginOptions): Promise<number> {
  const name = theName(words, "login");
  refuseEmptyUser(options);
  const server = await findUrlServer(cli, name);
  if (server !== undefined) return loginAtServer(cli, server, options);
  const { user } = options;
  const own = await loadContracts(cli);
  const { driver } = requireDriver(own, name);
  const remote = remoteServer(driver);
  if (remote !== undefined)
    return loginAtServer(cli, { ...remote, envFile: own.source.config.envFile }, options);
  const { output, interrupt } = cli;
  return withDriver(cli, own, driver, async (contracts) => {
    if (stateOf(contracts, driver, user) === "authed" && hasLogin(driver)) return already(cli, driver, user);
    const outcome = await contracts.login(driver.id, contextOf(user), interrupt.signal);
    interrupt.signal.throwIfAborted();
    if (!outcome.ok) throw refused(driver, user, outcome.failure.error);
    const state = stateOf(contracts, driver, user);
    if (output.form === "json") output.json({ driver: driver.id, user: user ?? LOCAL_USER, state });
    else if (!hasLogin(driver) && state === "authed") output.print(`${driver.id} needs no login.`);
    else output.print(`Logged in to ${plainLine(driver.name, 80)}.`);
    return 0;
  });
}

export async function logout(cli: Cli, words: readonly string[], options: LoginOptions): Promise<number> {
  const name = theName(words, "logout");
  refuseEmptyUser(options);
  const server = await findUrlServer(cli, name);
  if (server !== undefined) return logoutAtServer(cli, server, options);
  const { user } = options;
  const own = await loadContracts(cli);
  const { driver } = requireDriver(own, name);
  const remote = remoteServer(driver);
  if (remote !== undefined)
    return logoutAtServer(cli, { ...remote, envFile: own.source.config.envFile }, options);
  const { output } = cli;
  return withDriver(cli, own, driver, async (contracts) => {
    const done = await contracts.logout(driver.id, contextOf(user));
    const left = user === undefined ? await leftBehind(driver) : [];
    if (output.form === "json")
      output.json({
        driver: driver.id,
        user: user ?? LOCAL_USER,
        state: stateOf(contracts, driver, user),
        left,
      });
    else if (!done) output.print(`${driver.id} needs no login, so there is nothing to log out of.`);
    else output.print(`Logged out of ${plainLine(driver.name, 80)}.`);
    if (done && left.length > 0)
      output.note(
        `These files of the driver's programs remain; Portolan does not delete them: ${left.map((path) => plainLine(path, 200)).join(", ")}`,
      );
    return 0;
  });
}

function already({ output }: Cli, { id, name }: Driver, user: string | undefined): number {
  if (output.form === "json")
    output.json({ driver: id, user: user ?? LOCAL_USER, state: "authed", already: true });
  else output.print(`Already logged in to ${plainLine(name, 80)}.`);
  const words = driverWords(id, user);
  output.note(`To log in again: portolan logout ${words}, then portolan login ${words}`);
  return 0;
}

/** The arguments of the commands for this driver and caller. */
function driverWords(id: string, user: string | undefined): string {
  return `${shellWord(id)}${user === undefined ? "" : ` --user ${shellWord(user)}`}`;
}

function theName(words: readonly string[], command: string): string {
  const hint = `portolan ${command} <server, URL or driver>. To see the servers and drivers: portolan status`;
  return takeOneWord(words, { command, noun: "server or driver", hint });
}

/** The server of the workspace with this name and a URL, or the server at the URL that is given in place of a name. */
async function findUrlServer(cli: Cli, name: string): Promise<UrlServer | undefined> {
  if (/^https?:\/\//i.test(name)) return { alias: name, endpoint: { transport: "http", url: name } };
  const source = await loadSource(cli);
  const found = source.config.servers.find(({ alias }) => alias === name);
  const server = found && toUrlServer(found);
  const own = contractsOf(source);
  if (server !== undefined) return { ...server, envFile: source.config.envFile };
  if (own === undefined) requireServer(source, name);
  if (found === undefined || own?.endpoint.drivers.some(({ driver }) => driver.id === name) === true)
    return undefined;
  throw new PortolanError(
    "INPUT_INVALID",
    `Portolan cannot log in to ${name}: only drivers and servers behind a URL have a login.`,
    {
      server: name,
      hint: "Log in with the program of the server itself. If the server needs a token, store the token with portolan secrets set <NAME>, and write ${NAME} into the config of the server, such as under env.",
    },
  );
}

/** The server of a driver that is behind a URL, and whose login no section of the driver defines. */
function remoteServer({ id, endpoint, auth, origin }: Driver): UrlServer | undefined {
  if (endpoint.transport === "stdio" || endpoint.program !== undefined || auth?.login !== undefined)
    return undefined;
  return { alias: id, endpoint, file: origin.file };
}

/** An empty name, such as of an unset shell variable, would mean the own login of the user. */
function refuseEmptyUser({ user }: LoginOptions): void {
  if (user === "")
    throw new PortolanError("USAGE", "--user is empty.", {
      hint: "Name a caller of the gateway, or omit --user for your own login.",
    });
}

function contextOf(user: string | undefined): { readonly userId?: string } {
  return user === undefined ? {} : { userId: user };
}

/** Opens the contracts with this one driver, without starting its server. */
async function withDriver(
  cli: Cli,
  { source, alias }: ContractsSource,
  driver: Driver,
  use: (contracts: Contracts) => Promise<number>,
): Promise<number> {
  const only = (endpoint: ContractsEndpoint): ContractsEndpoint => ({
    ...endpoint,
    drivers: endpoint.drivers.filter((one) => one.driver.id === driver.id),
  });
  const servers = source.config.servers.flatMap((server) =>
    server.alias === alias && server.endpoint.transport === "contracts"
      ? [{ ...server, start: "eager" as const, endpoint: only(server.endpoint) }]
      : [],
  );
  const sandbox = workspaceSandbox(cli.options.sandbox, source);
  const workspace = await cli.io.openWorkspace(
    { ...source.config, servers },
    {
      watchFiles: false,
      // The command shows failed servers itself.
      reportsFailures: false,
      driverCode: cli.options.driverCode,
      envFile: envFileOf(cli),
      promptPassphrase: createPassphrasePrompt(cli).prompt,
      signal: cli.interrupt.signal,
      person: personAt(cli),
      onDiagnostic: (diagnostic) => noteDiagnostic(diagnostic, cli),
      sandbox,
    },
  );
  try {
    const contracts = await workspace.contracts();
    if (contracts === undefined) throw new PortolanError("INTERNAL", "The contracts were not opened.");
    return await use(contracts);
  } finally {
    await workspace.close();
  }
}

function personAt({ io, output }: Cli): Person {
  const terminal = isInteractive({ io });
  return {
    terminal,
    say: (text) => output.note(plainText(text), true),
    show: (url) => io.openBrowser(url),
    ...(terminal
      ? {
          confirm: async (question: string, signal: AbortSignal) => {
            const prompter = await io.createPrompter(true);
            const options = [
              { value: "yes", label: "Yes" },
              { value: "no", label: "No" },
            ];
            const message = plainLine(question, 200);
            return (await prompter.select({ message, options, initial: "yes", signal })) === "yes";
          },
        }
      : {}),
  };
}

function stateOf(contracts: Contracts, driver: Driver, user: string | undefined): AuthState {
  const found = contracts.status(contextOf(user)).find(({ id }) => id === driver.id);
  return found?.auth ?? "unknown";
}

/** Files of the login that still exist, with `~` as the user's home. */
async function leftBehind({ auth }: Driver): Promise<string[]> {
  const { homedir } = await import("node:os");
  const found = (auth?.state?.paths ?? []).map(async (path) => {
    const whole = path.startsWith("~/") ? `${homedir()}${path.slice(1)}` : path;
    return (await stat(whole).catch(() => undefined)) === undefined ? [] : [path];
  });
  return (await Promise.all(found)).flat();
}

function refused(
  driver: Driver,
  user: string | undefined,
  { code, message }: { readonly code: string; readonly message: string },
): PortolanError {
  const { command, url, completesWhen } = driver.auth?.login ?? {};
  const words = driverWords(driver.id, user);
  const how = isCheckProblem(message)
    ? `Another login does not help. Install the program of the check ${JSON.stringify(completesWhen?.command ?? "")}, or correct auth.login.completes_when in ${driver.origin.file}.`
    : command !== undefined
      ? `Log in again at a terminal: portolan login ${words}. It runs this command: ${command}`
      : url !== undefined
        ? `Log in again on a machine with a browser: portolan login ${words}. It opens ${url}`
        : `Define the login under auth.login in ${driver.origin.file}.`;
  const own = code === "auth_failed" ? "FORBIDDEN" : "AUTH_REQUIRED";
  return new PortolanError(own, message, { server: driver.id, hint: how });
}
