// The `auth` option of `connectMcp()`: a provider of the caller, or the default one.

import type { OnSecrets, RequestAuth } from "../oauth/index.ts";
import type { TransportConfig } from "./config.ts";
import type { McpOAuth } from "./types.ts";

/** Loads the default provider only when it is asked for. `onSecrets` receives tokens, so that errors do not show them. */
export async function toRequestAuth(
  config: TransportConfig,
  server: string,
  onSecrets: OnSecrets,
): Promise<RequestAuth | undefined> {
  if (config.transport === "stdio" || config.auth === undefined) return undefined;
  if (isProvider(config.auth)) return config.auth;
  const { openLoginPage, showDeviceCode, store, ...settings } = config.auth;
  const { createMemoryStore, ServerLogin } = await import("../oauth/index.ts");
  return new ServerLogin({
    ...{ server, url: config.url, settings, openLoginPage, showDeviceCode, onSecrets },
    store: store ?? createMemoryStore(),
  });
}

function isProvider(auth: McpOAuth | RequestAuth): auth is RequestAuth {
  return "headers" in auth && typeof auth.headers === "function";
}
