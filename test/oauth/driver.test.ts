// A driver whose server is behind OAuth: portolan login logs in to it, and each user of the gateway has a login of their own.

import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { portolan, start } from "../helpers/cli.ts";
import { driverWorkspace } from "../helpers/driver-workspaces.ts";
import { startOAuthServer } from "../helpers/oauth-server.ts";

test("login, call and logout work with the name of the driver", async () => {
  const server = await startOAuthServer();
  onTestFinished(() => server.close());
  const { folder: cwd } = driverWorkspace({
    server: `server: { kind: remote, url: "${server.url}", auth: { scopes: [use] } }
transport: http
protocol_version: "2025-11-25"
network: { egress: ["${new URL(server.url).host}"] }`,
    contract: `name: Who
id: who-am-i
description: Tells who it is.
version: 1.0.0
inputs: { type: object, properties: {} }
outputs: {}`,
  });
  const env = {
    ...{ XDG_DATA_HOME: join(cwd, "data"), XDG_STATE_HOME: join(cwd, "state"), DBUS_SESSION_BUS_ADDRESS: "" },
  };
  const before = await portolan(["call", "who-am-i", "--text"], { cwd, env });
  expect(before.code).toBe(5);
  expect(before.out + before.err).toContain("portolan login who-mcp");

  const login = start(["login", "who-mcp", "--no-browser", "--text"], { cwd, env });
  const address = await vi.waitFor(() => {
    return new URL(/^\s*(http:\S+\/authorize\?\S+)\s*$/m.exec(login.err())?.[1] ?? "");
  }, 30_000);
  expect(address.searchParams.get("scope")).toBe("use");
  await fetch(address);
  expect(await login.done).toMatchObject({ code: 0, out: "Logged in to who-mcp.\n" });
  expect(await portolan(["call", "who-am-i", "--text"], { cwd, env })).toMatchObject({
    ...{ code: 0, out: expect.stringContaining("it is you") as string },
  });
  // A login of another user is another one.
  const accounts = await portolan(["accounts", "--json"], { cwd, env });
  expect(JSON.parse(accounts.out)).toMatchObject([{ server: server.url, user: "", state: "logged in" }]);
  expect(await portolan(["logout", "who-mcp", "--text"], { cwd, env })).toMatchObject({
    ...{ code: 0, out: "Logged out of who-mcp.\n" },
  });
});
