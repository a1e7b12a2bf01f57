// Accounts: the logins at servers behind OAuth, by server.

import type { Account } from "../types.ts";
import { useLoaded } from "./loaded.ts";

export function useAccounts(): ReadonlyMap<string, Account> {
  const { value } = useLoaded<{ readonly accounts: readonly Account[] }>("accounts");
  return new Map((value.value?.accounts ?? []).map((account) => [account.server, account]));
}
