// `portolan accounts`: all logins of this user.

import type { Cli } from "../context.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { describeLogin, openLoginStore, toLoginState } from "./login-state.ts";

export async function showAccounts(cli: Cli): Promise<number> {
  const { output } = cli;
  const store = openLoginStore(cli);
  const found = await store.list();
  const rows = found.map(({ key, credential }) => ({
    ...toLoginState(credential, key.server, key.account, key.user),
    ...key,
  }));
  if (output.form === "json") {
    output.json(rows);
    return 0;
  }
  if (rows.length === 0)
    output.print("No login at a server behind OAuth is stored. To log in: portolan login <server>");
  for (const { server, user, account, ...state } of rows) {
    const who = user === "" ? "" : `user ${user}: `;
    const described = describeLogin({ ...state, account: account === "" ? undefined : account });
    output.print(plainLine(`${server}  ${who}${described}`, 400));
  }
  output.note(await store.describe());
  return 0;
}
