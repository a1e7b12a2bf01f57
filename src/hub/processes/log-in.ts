// Login at a server behind a URL: recognises the errors that one repairs, and makes it for the user of a member.

import { isPortolanError, PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import { type OpenLoginPage, ServerLogin } from "../../oauth/index.ts";
import { resolveEndpointOf, type ServerContext } from "./open-server-session.ts";

/** A login that a failed request needs. */
export interface NeededLogin {
  /** Alias of the server. */
  readonly server: string;
  /** The scopes that the server demands in addition. */
  readonly scope?: string;
  /** True if an earlier start of the server failed without it. The login may have been made since. */
  readonly isOld: boolean;
}

/** The login that would repair the error; undefined for other errors. */
export function toNeededLogin(thrown: unknown): NeededLogin | undefined {
  if (!isPortolanError(thrown)) return undefined;
  const { login } = thrown.data;
  if (thrown.code !== "AUTH_REQUIRED" || !isObject(login) || typeof login.server !== "string")
    return undefined;
  return {
    server: login.server,
    scope: typeof login.scope === "string" ? login.scope : undefined,
    isOld: thrown.data.retryAfterMs !== undefined,
  };
}

/** Logs the user of the context in at its server. */
export async function logInAt(
  context: ServerContext,
  openLoginPage: OpenLoginPage,
  scope: string | undefined,
): Promise<void> {
  const { config, logins: store, redactor, user } = context;
  const server = config.alias;
  const { endpoint: unresolved } = config;
  if (unresolved.transport === "invoke" || unresolved.transport === "contracts") throw notAServer(server);
  const endpoint = await resolveEndpointOf(context, unresolved);
  if (endpoint.transport === "stdio") throw notAServer(server);
  const { url, auth: settings = {} } = endpoint;
  const login = new ServerLogin({
    ...{ server, url, settings, store, openLoginPage, user: user?.id },
    onSecrets: redactor.replace,
  });
  await login.login({ scope, isNeeded: true });
}

function notAServer(server: string): PortolanError {
  return new PortolanError(
    "NOT_SUPPORTED",
    `${server} is not a server at a URL, so Portolan cannot log in to it with OAuth`,
    {
      server,
    },
  );
}
