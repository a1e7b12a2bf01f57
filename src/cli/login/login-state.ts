// The stored logins at servers behind OAuth, as commands show them: who is logged in, until when, and what to do if nobody is.

import { parseUrl } from "../../base/net/urls.ts";
import { shellWord } from "../../base/text/command-line.ts";
import type { ServerConfig } from "../../model/index.ts";
import { createLoginStore, type Credential, type FileStore } from "../../oauth/index.ts";
import { createSecretStore, resolveEndpoint } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { noteDiagnostic } from "../output/diagnostic.ts";
import { toUrlServer, type UrlServer } from "./url-server.ts";

export interface LoginState {
  readonly state: "logged in" | "expired" | "logged out";
  /** Name of the user, if the authorization server says it. */
  readonly as?: string;
  readonly issuer: string;
  readonly account?: string;
  readonly scope?: string;
  /** When the token expires. */
  readonly expiresAt?: string;
  /** True if Portolan obtains a new token then. */
  readonly renewed: boolean;
  /** The command for a login, if one is needed. */
  readonly command?: string;
}

/** `server` is the name or the address that the command for a login takes; `user` is a caller of the gateway. */
export function toLoginState(
  { issuer, tokens, scope }: Credential,
  server: string,
  account: string,
  user = "",
): LoginState {
  const { expiresAt, refreshToken, user: as } = tokens ?? {};
  const renewed = refreshToken !== undefined;
  const isOver = !renewed && expiresAt !== undefined && expiresAt < Date.now();
  const state = tokens === undefined ? "logged out" : isOver ? "expired" : "logged in";
  return {
    ...{ state, as, issuer, renewed, scope: tokens?.scope ?? scope },
    account: account === "" ? undefined : account,
    expiresAt: expiresAt === undefined ? undefined : new Date(expiresAt).toISOString(),
    command: state === "logged in" ? undefined : loginCommand(server, account, user),
  };
}

export function loginCommand(server: string, account = "", user = ""): string {
  const option = (name: string, value: string): string =>
    value === "" ? "" : ` --${name} ${shellWord(value)}`;
  return `portolan login ${shellWord(server)}${option("account", account)}${option("user", user)}`;
}

/** `logged in as ann@example.com, token until 2026-11-17 10:30, then renewed` */
export function describeLogin({ state, as, account, expiresAt, renewed, command }: LoginState): string {
  const who = `${as === undefined ? "" : ` as ${as}`}${account === undefined ? "" : ` (account ${account})`}`;
  if (state === "logged in") {
    const until = expiresAt === undefined ? "" : `, the token is valid until ${localTime(expiresAt)}`;
    return `logged in${who}${until}${until !== "" && renewed ? " and is then renewed" : ""}`;
  }
  return `${state === "expired" ? `the login${who} has expired` : "logged out"}. Log in with: ${command ?? ""}`;
}

function localTime(iso: string): string {
  const date = new Date(iso);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function openLoginStore(cli: Cli): FileStore {
  return createLoginStore({ report: (diagnostic) => noteDiagnostic(diagnostic, cli) });
}

/** The logins of the user at these servers, by the name of the server. */
export async function readLogins(
  cli: Cli,
  servers: readonly ServerConfig[],
): Promise<ReadonlyMap<string, LoginState>> {
  const found = new Map<string, LoginState>();
  const urlServers = servers.map(toUrlServer).filter((one) => one !== undefined);
  if (urlServers.length === 0) return found;
  const stored = await openLoginStore(cli)
    .list()
    .catch((error: Error) => {
      cli.output.note(`${cli.output.noteColors.yellow("warning")} ${error.message}`);
      return [];
    });
  if (stored.length === 0) return found;
  for (const server of urlServers) {
    const url = parseUrl(await resolvedUrl(cli, server));
    const account = server.endpoint.auth?.account ?? "";
    const address = url && `${url.origin}${url.pathname}`;
    const own = stored.find(
      ({ key }) => key.server === address && key.account === account && key.user === "",
    );
    if (own !== undefined) found.set(server.alias, toLoginState(own.credential, server.alias, account));
  }
  return found;
}

/** The address of a server whose config refers to variables. Asks no person for a passphrase. */
async function resolvedUrl({ io }: Cli, { endpoint, file }: UrlServer): Promise<string> {
  const { url, transport } = endpoint;
  if (!url.includes("${")) return url;
  const secrets = createSecretStore({ env: io.env, report: () => {} });
  const baseDir = file === undefined ? io.cwd : file.replace(/[\\/][^\\/]*$/, "");
  const resolved = await resolveEndpoint({ transport, url }, secrets, { baseDir }).catch(() => undefined);
  return resolved?.ok === true && "url" in resolved.endpoint ? resolved.endpoint.url : "";
}
