// One login, many processes: the token is refused everywhere at the same moment, and one of them refreshes it for all.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createFileStore } from "../../src/oauth/store/file-store.ts";
import { ServerLogin } from "../../src/oauth/index.ts";
import { startOidcServer, visitAs } from "../helpers/oidc-server.ts";

const CALLER = fileURLToPath(new URL("../fixtures/oauth/caller.mjs", import.meta.url));
const PROCESSES = 8;
const CALLS = 125;

test("8 processes with 1 000 calls send one token request, and all calls succeed", async () => {
  const server = await startOidcServer();
  onTestFinished(() => server.close());
  const cwd = mkdtempSync(join(tmpdir(), "portolan-oauth-"));
  const data = join(cwd, "data");
  writeFileSync(join(cwd, "portolan.yaml"), `servers:\n  notes:\n    url: ${server.url}\n    era: legacy\n`);
  await new ServerLogin({
    ...{ server: "notes", url: server.url, settings: {} },
    store: createFileStore(join(data, "portolan", "logins"), undefined),
    openLoginPage: async () => ({
      redirectUri: "http://127.0.0.1:1/callback",
      show: (address) => visitAs("ann", address),
      close: async () => {},
    }),
  }).login();
  const before = server.count.get("/token") ?? 0;

  const env = {
    PATH: process.env["PATH"],
    HOME: cwd,
    XDG_DATA_HOME: data,
    XDG_STATE_HOME: join(cwd, "state"),
  };
  const children = Array.from({ length: PROCESSES }, () =>
    fork(CALLER, [cwd, "notes.whoami", String(CALLS)], { env: { ...env, DBUS_SESSION_BUS_ADDRESS: "" } }),
  );
  onTestFinished(() => children.forEach((child) => void child.kill("SIGKILL")));
  // Every process has a session with the old token.
  await Promise.all(children.map((child) => once(child, "message")));
  expect(server.count.get("/token")).toBe(before);
  server.revokeAccess();
  const answers = await Promise.all(
    children.map(async (child) => {
      const answer = once(child, "message");
      child.send("go");
      return ((await answer) as [readonly string[]])[0];
    }),
  );
  expect([...new Set(answers.flat())]).toEqual(["you are ann"]);
  expect(answers.flat()).toHaveLength(PROCESSES * CALLS);
  expect(server.count.get("/token")).toBe(before + 1);
});
