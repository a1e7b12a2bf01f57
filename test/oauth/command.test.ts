// `portolan login`, `accounts` and `logout` at a server behind OAuth, and calls with and without a login.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { envelope, MAIN, portolan, start, temporaryFolder } from "../helpers/cli.ts";
import { type OAuthServer, startOAuthServer, visit } from "../helpers/oauth-server.ts";
import { filesBelow } from "../helpers/workspace.ts";

let server: OAuthServer;
let cwd: string;
let env: Record<string, string>;
beforeEach(async () => {
  server = await startOAuthServer();
  cwd = temporaryFolder();
  env = {
    XDG_DATA_HOME: join(cwd, "data"),
    XDG_STATE_HOME: join(cwd, "state"),
    DBUS_SESSION_BUS_ADDRESS: "",
  };
  writeFileSync(join(cwd, "portolan.yaml"), `servers:\n  notes:\n    url: ${server.url}\n`);
});
afterEach(() => server.close());

describe("a server behind OAuth", () => {
  test("works with login, call, accounts and logout", async () => {
    const before = await portolan(["call", "notes.whoami", "--json"], { cwd, env });
    expect(before.code).toBe(5);
    expect(envelope(before)).toMatchObject({
      code: "AUTH_REQUIRED",
      hint: "Log in with: portolan login notes",
    });

    const login = start(["login", "notes", "--no-browser", "--text"], { cwd, env });
    const address = await vi.waitFor(() => findAddress(login.err()), 30_000);
    // The browser follows the redirect to the port of the command.
    expect(await (await fetch(address)).text()).toContain("You can close this window.");
    expect(await login.done).toMatchObject({ code: 0, out: "Logged in to notes.\n" });

    const call = await portolan(["call", "notes.whoami", "--text"], { cwd, env });
    expect(call).toMatchObject({ code: 0, out: "it is you\n" });
    const accounts = await portolan(["accounts", "--json"], { cwd, env });
    expect(JSON.parse(accounts.out)).toMatchObject([{ server: server.url, account: "", state: "logged in" }]);
    for (const { text } of filesBelow(cwd))
      for (const secret of server.secrets) expect(text).not.toContain(secret);

    expect(await portolan(["logout", "notes", "--text"], { cwd, env })).toMatchObject({
      code: 0,
      out: "Logged out of notes.\n",
    });
    expect(server.count.get("/revoke")).toBe(1);
    expect((await portolan(["call", "notes.whoami"], { cwd, env })).code).toBe(5);
    expect(await portolan(["logout", "notes", "--text"], { cwd, env })).toMatchObject({
      out: "There is no login for notes.\n",
    });
  });

  test("the redirect URL of the login page can be pasted into portolan login", async () => {
    const child = spawn(process.execPath, [MAIN, "login", "notes", "--no-browser", "--text"], {
      cwd,
      env: { PATH: process.env["PATH"] ?? "", HOME: cwd, ...env },
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let [out, err] = ["", ""];
    child.stdout.on("data", (text) => (out += String(text)));
    child.stderr.on("data", (text) => (err += String(text)));
    const address = await vi.waitFor(() => findAddress(err), 30_000);
    child.stdin.write(`${(await visit(address)).href}\n`);
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect({ code, out }).toEqual({ code: 0, out: "Logged in to notes.\n" });
    // A machine without a keyring says what protects the login.
    expect(err).toContain("Their key is in a file of the same folder");
  });

  test("add and status name the command for the login", async () => {
    const added = await portolan(["add", "mine", server.url, "--json"], { cwd, env });
    expect(JSON.parse(added.out)).toMatchObject({
      ...{ server: "mine", written: true, login: { needed: true, command: "portolan login mine" } },
    });
    const text = await portolan(["add", "third", server.url, "--text"], { cwd, env });
    expect(text).toMatchObject({ code: 0, out: expect.stringContaining("Added third to") as string });
    expect(text.err).toContain("third requires a login. Log in with: portolan login third");
    const status = await portolan(["status", "notes", "--text"], { cwd, env });
    expect(status).toMatchObject({ code: 5, out: expect.stringContaining("portolan login notes") as string });
  });

  test("a login that is denied, or that times out, ends with the reason", async () => {
    server.deviceErrors = ["authorization_pending", "access_denied"];
    const denied = await portolan(["login", "notes", "--no-browser", "--json"], { cwd, env });
    expect(denied.code).toBe(5);
    expect(envelope(denied)).toMatchObject({
      code: "AUTH_FAILED",
      message: "the login was denied, by the person or by the authorization server",
    });
    expect(denied.err).toContain("Enter this code there: WDJB-MJHT");
    server.deviceErrors = Array<string>(100).fill("authorization_pending");
    server.deviceExpiresIn = 0.3;
    const late = await portolan(["login", "notes", "--no-browser", "--json"], { cwd, env });
    expect(envelope(late)).toMatchObject({
      code: "TIMEOUT",
      message: "the login timed out: nobody entered the code in a browser",
    });
  });

  test("a name that is neither a server nor a driver is refused", async () => {
    const ran = await portolan(["login", "other", "--json"], { cwd, env });
    expect(ran.code).toBe(2);
    expect(envelope(ran).code).toBe("SERVER_UNKNOWN");
  });
});

function findAddress(text: string): URL {
  const found = /^\s*(http:\S+\/authorize\?\S+)\s*$/m.exec(text)?.[1];
  if (found === undefined) throw new Error(`no address yet: ${text}`);
  return new URL(found);
}
