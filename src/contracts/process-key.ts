// Who may share one process of a driver: everybody, unless it was started with somebody's secrets or somebody's login.

import type { Driver } from "../model/index.ts";
import { majorKey } from "./find-contract.ts";
import { secretNames } from "./secret-grants.ts";
import type { CallContext } from "./types.ts";

/** Whether somebody has to log in to it, each for themselves. */
export function hasLogin({ auth }: Driver): boolean {
  const { login, refresh, state } = auth ?? {};
  return login !== undefined || refresh !== undefined || (state?.paths.length ?? 0) > 0;
}

/** The same for calls that the same process may serve. */
export function processKey(driver: Driver, { workspaceId, userId }: CallContext): string {
  const shared = !hasLogin(driver) && secretNames(driver).length === 0;
  return JSON.stringify(shared ? [majorKey(driver)] : [majorKey(driver), workspaceId ?? "", userId ?? ""]);
}
