// `portolan login` and `portolan logout`, with and without a terminal.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { envelope, KEYS, portolan, temporaryFolder, terminal } from "../helpers/cli.ts";
import { driverWorkspace, type DriverWorkspace } from "../helpers/driver-workspaces.ts";
import { needs } from "../helpers/needs.ts";

const LOGIN = `
import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
const { argv, stdin, stdout } = process;
let name = argv[2];
if (name === undefined) {
  if (!stdin.isTTY) process.exit(8);
  stdout.write("Your name? ");
  name = await new Promise((resolve) => stdin.once("data", (data) => resolve(String(data).trim())));
}
mkdirSync(homedir() + "/.whoami", { recursive: true });
writeFileSync(homedir() + "/.whoami/token", "token of " + name);
process.exit(0);
`;

function made(login: string): DriverWorkspace {
  const workspace = driverWorkspace({
    driver: `sandbox: { fs: { read: [.] } }
auth: { state: { paths: ["~/.whoami/token"] }, login: ${login} }`,
  });
  workspace.write("login.mjs", LOGIN);
  return workspace;
}

const asking = `{ cmd: "${process.execPath} login.mjs", interactive: true }`;
const silent = `{ cmd: "${process.execPath} login.mjs me" }`;

function person(): { home: string; env: Record<string, string> } {
  const home = temporaryFolder();
  return {
    home,
    env: { HOME: home, XDG_DATA_HOME: join(home, "data"), XDG_CACHE_HOME: join(home, "cache") },
  };
}

test("login, a second login, a call, logout, and a call that fails again", async () => {
  const { folder } = made(silent);
  const { home, env } = person();
  const run = (...words: string[]) => portolan([...words, "-w", folder], { env });
  const refused = await run("call", "contracts.who-am-i");
  expect(refused.code).not.toBe(0);
  expect(refused.out + refused.err).toContain("portolan login who-mcp");

  const done = await run("login", "who-mcp");
  expect([done.code, done.err]).toEqual([0, ""]);
  expect(JSON.parse(done.out)).toEqual({ driver: "who-mcp", user: "local", state: "authed" });
  expect(readFileSync(join(home, ".whoami/token"), "utf8")).toBe("token of me");
  expect(JSON.parse((await run("login", "who-mcp")).out)).toMatchObject({ already: true });
  expect((await run("call", "contracts.who-am-i")).out).toContain("token of me");

  const out = await run("logout", "who-mcp");
  expect(JSON.parse(out.out)).toEqual({
    driver: "who-mcp",
    user: "local",
    state: "unauthed",
    left: ["~/.whoami/token"],
  });
  expect((await run("call", "contracts.who-am-i")).code).not.toBe(0);
});

test("login --user logs in for a caller of the gateway", async () => {
  const { folder } = made(silent);
  const { home, env } = person();
  const done = await portolan(["login", "who-mcp", "--user", "ann", "-w", folder], { env });
  expect(JSON.parse(done.out)).toEqual({ driver: "who-mcp", user: "ann", state: "authed" });
  expect(existsSync(join(home, ".whoami"))).toBe(false);
});

test("login fails without a terminal, a known driver or a name, and succeeds if no login is needed", async () => {
  const { folder } = made(asking);
  const { env } = person();
  const nobody = await portolan(["login", "who-mcp", "-w", folder], { env });
  expect(nobody.code).toBe(5);
  expect(envelope(nobody)).toMatchObject({ code: "AUTH_REQUIRED", server: "who-mcp" });
  expect(envelope(nobody).hint).toContain("login.mjs");
  const unknown = await portolan(["login", "whomcp", "-w", folder], { env });
  expect(envelope(unknown)).toMatchObject({
    code: "SERVER_UNKNOWN",
    hint: expect.stringContaining("who-mcp") as string,
  });
  expect((await portolan(["login", "-w", folder], { env })).code).toBe(2);
  const none = await portolan(["login", "who-mcp", "--text", "-w", driverWorkspace().folder], { env });
  expect([none.code, none.out]).toEqual([0, "who-mcp needs no login.\n"]);
});

test("if the program of the login check is missing, the hint says to install it", async () => {
  const { folder } = made(
    `{ cmd: "${process.execPath} login.mjs me", completes_when: { cmd: "no-such-program whoami" } }`,
  );
  const { env } = person();
  const failed = envelope(await portolan(["login", "who-mcp", "-w", folder], { env }));
  expect(failed.message).toContain('cannot check whether "no-such-program whoami" exits with code 0');
  expect(failed.hint).toMatch(/Install the program of the check "no-such-program whoami".*DRIVER\.md/);
});

test.each(["login", "logout"])("%s with an empty --user is refused", async (command) => {
  const { folder } = made(silent);
  const { env } = person();
  for (const words of [["who-mcp", "-w", folder], ["https://mcp.example.com/mcp"]])
    expect(envelope(await portolan([command, ...words, "--user", ""], { env }))).toMatchObject({
      code: "USAGE",
      message: "--user is empty.",
    });
});

describe("login on a terminal", needs("a terminal"), () => {
  test.each(["off", "enforce"])(
    "runs an interactive login command that the user answers (sandbox %s)",
    needs("bubblewrap"),
    async (mode) => {
      const { folder } = made(asking);
      const { home, env } = person();
      const shown = terminal(`portolan login who-mcp -w ${folder}`, 100, { ...env, PORTOLAN_SANDBOX: mode });
      await shown.shows("Your name?");
      shown.press(`ann${KEYS.enter}`);
      const { code, screen } = await shown.done;
      expect([code, screen]).toEqual([0, expect.stringContaining("Logged in to Who MCP.") as string]);
      expect(readFileSync(join(home, ".whoami/token"), "utf8")).toBe("token of ann");
    },
  );

  test("ends with Ctrl-C, without a login", async () => {
    const { folder } = made(asking);
    const { home, env } = person();
    const shown = terminal(`portolan login who-mcp -w ${folder}`, 100, env);
    await shown.shows("Your name?");
    shown.press(KEYS.ctrlC);
    expect((await shown.done).code).toBe(130);
    expect(existsSync(join(home, ".whoami"))).toBe(false);
  });
});
