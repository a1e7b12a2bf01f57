// Key of the process that a caller uses: all callers share one, unless it starts with secrets or with a user's login.

import { type Driver, majorKey } from "../../model/index.ts";
import { secretNames } from "../auth/secret-grants.ts";
import type { CallContext } from "../contract/call-context.ts";
import type { DriverHooks } from "./bound-tool.ts";

/** True when each user logs in to the driver. */
export function hasLogin({ auth }: Driver): boolean {
  const { login, refresh, state } = auth ?? {};
  return login !== undefined || refresh !== undefined || (state?.paths.length ?? 0) > 0;
}

/** True when each user has a process of their own. A login may also be in the driver's hooks. */
export function isPersonal(driver: Driver, hooks: DriverHooks = {}): boolean {
  if (hooks.login !== undefined || hooks.refresh !== undefined) return true;
  return hasLogin(driver) || secretNames(driver).length > 0 || mayAskForLogin(driver);
}

/** True when the server may be behind OAuth: each user then has a session with their own login. */
function mayAskForLogin({ endpoint }: Driver): boolean {
  if (endpoint.transport === "stdio" || endpoint.program !== undefined) return false;
  const names = Object.keys(endpoint.headers ?? {});
  return !names.some((name) => name.toLowerCase() === "authorization");
}

/** Equal for calls that the same process may serve. */
export function processKey(
  driver: Driver,
  { workspaceId, userId }: CallContext,
  hooks: DriverHooks = {},
): string {
  const shared = !isPersonal(driver, hooks);
  return JSON.stringify(shared ? [majorKey(driver)] : [majorKey(driver), workspaceId ?? "", userId ?? ""]);
}
