// The `auth` option of `connectMcp()`: a fixed token, a provider of the caller, or the default one.

import type { OnSecrets, RequestAuth } from "../oauth/index.ts";
import type { TransportConfig } from "./config.ts";
import type { McpHttpConfig, McpToken } from "./types.ts";

/** Loads the default provider only when it is asked for. `onSecrets` receives tokens, so that errors do not show them. */
export async function toRequestAuth(
  config: TransportConfig,
  server: string,
  onSecrets: OnSecrets,
): Promise<RequestAuth | undefined> {
  if (config.transport === "stdio" || config.auth === undefined) return undefined;
  if (isProvider(config.auth)) return config.auth;
  if (isToken(config.auth)) return undefined;
  const { openLoginPage, showDeviceCode, store, ...settings } = config.auth;
  const { createMemoryStore, ServerLogin } = await import("../oauth/index.ts");
  return new ServerLogin({
    ...{ server, url: config.url, settings, openLoginPage, showDeviceCode, onSecrets },
    store: store ?? createMemoryStore(),
  });
}

type Auth = NonNullable<McpHttpConfig["auth"]>;

function isProvider(auth: Auth): auth is RequestAuth {
  return "headers" in auth && typeof auth.headers === "function";
}

/** A provider may have a token of its own. */
function isToken(auth: Auth): auth is McpToken {
  return "token" in auth && !isProvider(auth);
}

/** The headers of a fixed token, which need no provider. */
export function tokenHeaders(auth: Auth | undefined): Readonly<Record<string, string>> | undefined {
  return auth === undefined || !isToken(auth) ? undefined : { Authorization: `Bearer ${auth.token}` };
}
