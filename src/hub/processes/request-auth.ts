// Credentials of a server behind a URL: tokens from the store of logins, or tokens exchanged for the token of the caller.

import type { ServerDefinition } from "../../model/index.ts";
import { ExchangedLogin, type RequestAuth, ServerLogin } from "../../oauth/index.ts";
import type { ServerContext } from "./open-server-session.ts";

/** Undefined for programs of this machine, and for servers whose config has a credential. */
export function requestAuthOf(
  { name: server, endpoint }: ServerDefinition,
  {
    logins: store,
    redactor,
    user,
    exchanged,
  }: Pick<ServerContext, "logins" | "redactor" | "user" | "exchanged">,
): RequestAuth | undefined {
  if (endpoint.transport === "stdio" || endpoint.program !== undefined) return undefined;
  const { url, auth: settings = {}, headers = {} } = endpoint;
  const { username, password } = new URL(url);
  const isGiven = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  if (isGiven || username !== "" || password !== "") return undefined;
  const onSecrets = redactor.replace;
  const { exchange } = settings;
  if (exchange === undefined)
    return new ServerLogin({ ...{ server, url, settings, store, onSecrets }, user: user?.id });
  const known = exchanged?.get(url);
  if (known !== undefined) return known;
  const subjectToken = (): string | undefined => user?.subjectToken()?.reveal();
  const login = new ExchangedLogin({ ...{ server, url, exchange, subjectToken, onSecrets } });
  exchanged?.set(url, login);
  return login;
}
