// Login at a server behind OAuth: in the browser of this machine, or elsewhere with an address that is pasted back.

import { dirname } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import type { UrlEndpoint } from "../../model/index.ts";
import { createLoopbackPage, type DeviceCode, type FileStore, ServerLogin } from "../../oauth/index.ts";
import { createSecretStore, resolveEndpoint, toSecretError } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { isInteractive } from "../input/handlers.ts";
import { createPassphrasePrompt } from "../input/secret-input.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { loginCommand, openLoginStore, toLoginState } from "./login-state.ts";
import { hasCredential, type UrlServer } from "./url-server.ts";

export interface ServerLoginOptions {
  account?: string;
  user?: string;
  /** False with --no-browser. */
  browser?: boolean;
}

export async function loginAtServer(
  cli: Cli,
  server: UrlServer,
  options: ServerLoginOptions,
): Promise<number> {
  const { output } = cli;
  const store = openLoginStore(cli);
  const login = await createLogin(cli, server, store, options);
  const credential = await login.login();
  const name = plainLine(server.alias, 80);
  const state = credential && toLoginState(credential, server.alias, options.account ?? "", options.user);
  if (output.form === "json")
    output.json({ server: server.alias, ...(state ?? { state: "no login needed" }) });
  else if (state === undefined) output.print(`${name} does not require a login.`);
  else output.print(`Logged in to ${name}${state.as === undefined ? "" : ` as ${plainLine(state.as, 80)}`}.`);
  if (state !== undefined) output.note(await store.describe());
  return 0;
}

export async function logoutAtServer(
  cli: Cli,
  server: UrlServer,
  options: ServerLoginOptions,
): Promise<number> {
  const login = await createLogin(cli, server, openLoginStore(cli), options);
  const done = await login.logout();
  const name = plainLine(server.alias, 80);
  if (cli.output.form === "json") cli.output.json({ server: server.alias, loggedOut: done });
  else if (done) cli.output.print(`Logged out of ${name}.`);
  else cli.output.print(`There is no ${describeOwner(options)} for ${name}.`);
  return 0;
}

/** `login of the caller ann with the account work` */
function describeOwner({ user, account }: ServerLoginOptions): string {
  const whose = user === undefined ? "" : ` of the caller ${plainLine(user, 80)}`;
  return `login${whose}${account === undefined ? "" : ` with the account ${plainLine(account, 80)}`}`;
}

const PROBE_MS = 5_000;

/** True if the server refuses requests without a token, and nobody is logged in. A server that cannot be reached counts as open. */
async function asksForLogin(cli: Cli, server: UrlServer): Promise<boolean> {
  if (hasCredential(server) || !/^https?:/i.test(server.endpoint.url)) return false;
  const signal = AbortSignal.any([cli.interrupt.signal, AbortSignal.timeout(PROBE_MS)]);
  try {
    const { url, auth = {} } = await resolved(cli, server);
    const store = openLoginStore(cli);
    return await new ServerLogin({
      ...{ server: server.alias, url, store, signal, settings: auth },
    }).asksForLogin();
  } catch {
    return false;
  }
}

/** For a server that was just added: the command for its login, if it asks for one. */
export async function findLoginCommand(cli: Cli, server: UrlServer): Promise<string | undefined> {
  return (await asksForLogin(cli, server)) ? loginCommand(server.alias) : undefined;
}

/** Offers the login on a terminal, and otherwise prints the command. A failed login does not undo what was done before. */
export async function offerLogin(cli: Cli, server: UrlServer, command: string): Promise<void> {
  const { io, output, interrupt } = cli;
  const name = plainLine(server.alias, 80);
  if (!isInteractive({ io })) return output.note(`${name} requires a login. Log in with: ${command}`, true);
  const prompter = await io.createPrompter(true);
  const chosen = await prompter.select({
    message: `${name} requires a login. Log in now?`,
    options: [
      { value: "yes", label: "Yes" },
      { value: "no", label: `No, later with: ${command}` },
    ],
    ...{ initial: "yes", signal: interrupt.signal },
  });
  if (chosen !== "yes") return;
  try {
    await loginAtServer(cli, server, {});
  } catch (error) {
    interrupt.signal.throwIfAborted();
    const { message } = error as Error;
    output.note(
      `${output.noteColors.yellow("warning")} ${plainLine(message, 500).replace(/\.$/, "")}. Log in again with: ${command}`,
      true,
    );
  }
}

async function createLogin(
  cli: Cli,
  server: UrlServer,
  store: FileStore,
  { account, user, browser = true }: ServerLoginOptions,
): Promise<ServerLogin> {
  const { url, auth = {} } = await resolved(cli, server);
  return new ServerLogin({
    ...{ server: server.alias, url, store, user, signal: cli.interrupt.signal },
    settings: account === undefined ? auth : { ...auth, account },
    showDeviceCode: browser ? undefined : (code) => presentCode(cli, code),
    openLoginPage: createLoopbackPage({
      signal: cli.interrupt.signal,
      present: (address, over) => present(cli, address, browser, over),
    }),
  });
}

/** Works without a terminal too: the code is entered on another machine. */
function presentCode({ output }: Cli, code: DeviceCode): void {
  const { verificationUri, verificationUriComplete, userCode, expiresAt } = code;
  output.note(`Open this address in a browser of any machine: ${verificationUri.href}`, true);
  output.note(`Enter this code there: ${plainLine(userCode, 100)}`, true);
  if (verificationUriComplete !== undefined)
    output.note(`Or open this address, which contains the code: ${verificationUriComplete.href}`, true);
  const minutes = Math.max(1, Math.round((expiresAt - Date.now()) / 60_000));
  output.note(`Waiting for the login. The code is valid for ${minutes} min.`, true);
}

/** Opens the browser. Without one, prints the address, and waits for the answer to be pasted. */
async function present(
  cli: Cli,
  address: URL,
  browser: boolean,
  over: AbortSignal,
): Promise<string | undefined> {
  const { io, output } = cli;
  const opened = browser && (await io.openBrowser(address.href));
  output.note(
    opened
      ? "Portolan opened the login page in your browser. If you do not see it, open this address:"
      : "Open this address in a browser:",
    true,
  );
  output.note(address.href, true);
  if (opened) return undefined;
  const message =
    "After the login, paste here the address that the browser shows, even if the page does not load:";
  if (isInteractive({ io })) {
    const prompter = await io.createPrompter(true);
    const check = (text: string): string | undefined =>
      URL.canParse(text.trim()) ? undefined : "This is not an address. Paste the complete URL.";
    const answer = await prompter.text({ message, initial: "", check, signal: over });
    if (answer === undefined && !over.aborted)
      throw new PortolanError("CANCELLED", "The login was cancelled.", { hint: "" });
    return answer;
  }
  output.note(message, true);
  return await firstLine(io.stdin);
}

/** Undefined at the end of the input: then only the redirect is waited for. */
async function firstLine(input: AsyncIterable<Uint8Array | string>): Promise<string | undefined> {
  let text = "";
  for await (const chunk of input) {
    text += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
    if (text.includes("\n") || text.length > 16_384) break;
  }
  const [line = ""] = text.split("\n");
  return line.trim() === "" ? undefined : line;
}

async function resolved(cli: Cli, { alias, endpoint, file, envFile }: UrlServer): Promise<UrlEndpoint> {
  const report = (diagnostic: Parameters<typeof noteDiagnostic>[0]): void => noteDiagnostic(diagnostic, cli);
  const { prompt: promptPassphrase } = createPassphrasePrompt(cli);
  const secrets = createSecretStore({ env: cli.io.env, envFile, promptPassphrase, report });
  const baseDir = file === undefined ? cli.io.cwd : dirname(file);
  const found = await resolveEndpoint(endpoint, secrets, { baseDir });
  if (!found.ok) throw toSecretError(found, alias);
  return found.endpoint as UrlEndpoint;
}
