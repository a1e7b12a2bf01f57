// Tasks of an operator with a gateway in the background: secrets, pins, denials, reloads, and gateways of other folders.

import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import { fixture, type Place, setUp } from "../helpers/background-gateway.ts";
import { envelope, EVERYTHING, portolan, type Ran, resultText } from "../helpers/cli.ts";
import { until } from "../helpers/connect.ts";
import { needs } from "../helpers/needs.ts";
import { RawModern } from "../helpers/raw-clients.ts";
import { openTmux, programFolder } from "../helpers/tmux.ts";

const SHELL = fileURLToPath(new URL("../fixtures/shell-server.mjs", import.meta.url));
const TOKEN = "token-of-the-caller-0123456789";

/** Creates a passphrase file, for processes without a terminal. */
function withPassphrase({ top, env }: Place): string {
  const file = join(top, "passphrase");
  writeFileSync(file, "p4ssphrase\n", { mode: 0o600 });
  env["PORTOLAN_VAULT_PASSPHRASE_FILE"] = file;
  return file;
}

test(
  "secrets set creates a vault with a passphrase from the terminal and a value from a pipe",
  needs("tmux"),
  async () => {
    const place = setUp({ servers: { one: fixture({ TOKEN: "${TOKEN}" }) } });
    const { cwd, env, top } = place;
    writeFileSync(join(top, "value"), "s3cret-value\n");
    const path = `${programFolder("/usr/bin/env")}:/usr/bin:/bin`;
    const shell = await openTmux({ cwd, env: { ...env, PATH: path, PORTOLAN_SANDBOX: "off" } });
    const typed = ["p4ss", "Enter"];
    const set = await shell.run("portolan secrets set TOKEN < ../value", [
      ["Choose a passphrase for the new vault", ...typed],
      ["The same passphrase again", ...typed],
    ]);
    expect([set.code, set.shown]).toEqual([0, expect.stringContaining("TOKEN was stored in the vault.")]);
    expect((await shell.run("portolan secrets lock")).code).toBe(0);
    // This also works if the vault is locked again after each command.
    const served = await shell.run("PORTOLAN_VAULT_TIMEOUT=0 portolan serve --daemon", [
      ["Passphrase of the vault", ...typed],
    ]);
    expect([served.code, served.shown]).toEqual([0, expect.stringMatching(/one +ready/)]);
    await place.run("secrets", "lock");
    // The gateway keeps the key for servers that start later.
    expect(await place.run("restart", "one")).toMatchObject({ code: 0 });
  },
);

test("service install refuses a locked vault, but accepts one with a passphrase file", async () => {
  const place = setUp({
    servers: { one: fixture({ TOKEN: "${TOKEN}", HERE: "${ONLY_HERE}" }) },
    gateway: { port: 0, callers: [{ name: "ci", token: "${CI_TOKEN}" }] },
  });
  const { env, run, pipe } = place;
  const none = await pipe("s3cret", "secrets", "set", "TOKEN", "--to", "vault");
  expect(envelope(none).message).toContain("was not created, because no passphrase was given");
  expect(envelope(none).hint).toContain(
    "set PORTOLAN_VAULT_PASSPHRASE_FILE to the path of the file, and run the command again",
  );
  const file = withPassphrase(place);
  for (const [name, value] of [
    ["TOKEN", "s3cret"],
    ["CI_TOKEN", TOKEN],
  ] as const)
    expect((await pipe(value, "secrets", "set", name, "--to", "vault")).code).toBe(0);
  const { needs: found } = JSON.parse((await run("secrets", "check")).out) as { needs: { name: string }[] };
  expect(found).toMatchObject([
    { name: "CI_TOKEN", source: "vault", neededBy: [{ server: "gateway", where: "token of caller ci" }] },
    { name: "ONLY_HERE", state: "missing" },
    { name: "TOKEN", source: "vault" },
  ]);
  const withFile = await run("service", "install", "--print");
  expect(withFile.out).toContain(`PORTOLAN_VAULT_PASSPHRASE_FILE=${file}`);
  delete env["PORTOLAN_VAULT_PASSPHRASE_FILE"];
  const locked = envelope(await run("service", "install"));
  expect(locked.message).toContain("CI_TOKEN, ONLY_HERE, TOKEN");
  expect(locked.hint).toContain("portolan service install --passphrase-file");
  const given = await run("service", "install", "--print", "--passphrase-file", "../passphrase");
  expect(given.out).toContain(`PORTOLAN_VAULT_PASSPHRASE_FILE=${file}`);
  expect(given.err).not.toContain("chmod");
  chmodSync(file, 0o644);
  const open = await run("service", "install", "--print", "--passphrase-file", "../passphrase");
  expect(open).toMatchObject({ code: 0, err: expect.stringContaining(`chmod 600 ${file}`) as string });
  chmodSync(file, 0o600);
  writeFileSync(`${file}-wrong`, "another passphrase", { mode: 0o600 });
  const wrong = await run("service", "install", "--passphrase-file", "../passphrase-wrong");
  expect(envelope(wrong).message).toContain(`the passphrase in ${file}-wrong does not open the vault`);
  expect(envelope(wrong).hint).toContain("Write the right passphrase into the passphrase file.");
  // A variable of this terminal does not count for the service.
  env["ONLY_HERE"] = "x";
  const noted = await run("service", "install", "--print", "--passphrase-file", "../passphrase");
  expect(noted.err).toContain("The service has no value for ONLY_HERE");
  expect(noted.err).not.toContain("no value for TOKEN");
  const call = await run("call", "one.echo", "text=x", "--standalone");
  // Clients show only the message.
  expect(envelope(call).message).toContain("is locked. Unlock it at a terminal: portolan secrets unlock.");
});

test("pin approves the tools that a gateway uses, also for clients that answer server requests", async () => {
  const [command = "", ...args] = EVERYTHING.split(" ");
  const { run } = setUp({ servers: { all: { command, args } } });
  const pinned = JSON.parse((await run("pin", "all")).out) as { servers: { pinned: { name: string }[] }[] };
  expect(pinned.servers[0]?.pinned.map(({ name }) => name)).toContain("trigger-sampling-request");
  expect((await run("serve", "--daemon")).code).toBe(0);
  const beside = JSON.parse((await run("status")).out) as { servers: { tools: number; pins: object }[] };
  const alone = JSON.parse((await run("status", "--standalone")).out) as typeof beside;
  for (const { servers } of [beside, alone])
    expect(servers).toMatchObject([
      { tools: pinned.servers[0]?.pinned.length, pins: { differences: [], removed: [] } },
    ]);
});

test(
  "while a gateway runs, a denied call names its grant, and status forgets solved problems",
  needs("bubblewrap"),
  async () => {
    const shell = { command: process.execPath, args: [SHELL] };
    const place = setUp({ servers: { shell } });
    const { top, run, save, env } = place;
    env["PORTOLAN_SANDBOX"] = "enforce";
    mkdirSync(join(top, "notes"));
    writeFileSync(join(top, "notes", "a.txt"), "hello");
    expect((await run("serve", "--daemon")).code).toBe(0);
    const read = (): Promise<Ran> => run("call", "shell.run", `script=cat ${join(top, "notes", "a.txt")}`);
    for (const ran of [await read(), await read()]) expect(ran.err).toContain("portolan grant shell");
    expect((await run("why", "shell")).out).toContain("SANDBOX_DENIED");
    const shown = (await run("why", "shell", "--text")).out.replaceAll(/\s+/g, " ");
    expect(shown).toMatch(/Time of the call: \d{4}-.*The server works\. Its sandbox denied access to a path/);
    expect((await run("grant", "shell", "--read", join(top, "notes"))).code).toBe(0);
    await until(async () => (await read()).out.includes("hello"));
    for (const command of [["status"], ["why", "shell"]])
      expect((await run(...command)).out).not.toContain("SANDBOX_DENIED");
    // The stderr of the previous process says nothing about a program that does not start.
    await run("call", "shell.run", "script=echo of-the-old-program >&2");
    save({ servers: { shell: { command: join(top, "no-such-program"), args: [] } } });
    await until(async () => (await run("why", "shell")).out.includes('"failed"'));
    expect((await run("why", "shell")).out).not.toContain("of-the-old-program");
  },
);

test("an error in settings is forgotten after a good reload; an exceeded limit is in the log", async () => {
  const callers = [{ name: "ci", token: "${file:token}", limits: { rate: { per_second: 0.01, burst: 1 } } }];
  const place = setUp({ servers: { one: fixture() }, gateway: { port: 0, callers }, audit: true });
  const { cwd, run } = place;
  const token = join(cwd, "token");
  writeFileSync(token, TOKEN, { mode: 0o600 });
  const { url, log } = JSON.parse((await run("serve", "--daemon", "--json")).out) as Record<string, string>;
  const statuses: number[] = [];
  for (let count = 0; count < 2; count += 1) {
    const headers = { authorization: `Bearer ${TOKEN}` };
    statuses.push((await fetch(url ?? "", { method: "POST", headers, body: "{}" })).status);
  }
  expect(statuses[1]).toBe(429);
  const { readFile } = await import("node:fs/promises");
  await until(async () => (await readFile(log ?? "", "utf8")).includes("refused /mcp of ci from 127.0.0.1"));
  await until(async () =>
    (await run("audit", "calls", "--text")).out.includes("ci  /mcp  refused  RATE_LIMITED"),
  );
  const { rename } = await import("node:fs/promises");
  await rename(token, `${token}.away`);
  expect((await run("reload")).code).toBe(2);
  // The problem is reported once, although it is also a diagnostic.
  expect((await run("status", "--text")).out.split("settings are not in use")).toHaveLength(2);
  await rename(`${token}.away`, token);
  expect((await run("reload")).code).toBe(0);
  expect((await run("status", "--text")).out).not.toContain("settings are not in use");
});

test("the error of a start names a damaged audit log, until the log is moved away with its anchors", async () => {
  const { top, run } = setUp({ servers: { one: fixture() }, audit: true });
  const serve = (): Promise<Ran> => run("serve", "--daemon", "--text");
  const none = await run("audit", "calls", "--verify", "--text");
  expect(none).toMatchObject({ code: 1 });
  expect(none.out).toContain("The audit log is on, but");
  expect(none.out).not.toContain("hint");
  expect(JSON.parse((await run("audit", "calls", "--verify")).out)).toMatchObject({
    intact: false,
    records: 0,
  });
  expect((await serve()).err).not.toContain("audit log");
  await run("call", "one.echo", "text=x");
  await run("stop");
  const { folder } = JSON.parse((await run("audit", "calls", "--json")).out) as { folder: string };
  const anchors = join(top, "config/portolan/audit-anchors", basename(folder));
  const file = join(folder, "calls.jsonl");
  const lines = readFileSync(file, "utf8").trim().split("\n");
  writeFileSync(file, `${lines.slice(0, -1).join("\n")}\n`);
  const damaged = await serve();
  expect(damaged.code).toBe(0);
  expect(damaged.err).toMatch(
    /warning something other than Portolan changed the audit log .*is missing at its end\n hint .*audit calls --verify/,
  );
  await run("stop");
  renameSync(folder, join(top, "old-log"));
  renameSync(anchors, join(top, "old-anchors"));
  expect((await serve()).err).not.toContain("audit log");
  expect((await run("audit", "calls", "--verify")).code).toBe(0);
});

test("after secrets set, a reload restarts servers and replaces tokens of callers and of the gateway", async () => {
  const shell = { command: process.execPath, args: [SHELL], env: { TOKEN: "${TOKEN}" } };
  const callers = [{ name: "ci", token: "${CI_TOKEN}" }];
  const place = setUp({ servers: { shell, one: fixture() }, gateway: { port: 0, callers } });
  const { run, pipe } = place;
  withPassphrase(place);
  const set = (name: string, value: string): Promise<Ran> =>
    pipe(value, "secrets", "set", name, "--to", "vault");
  await set("TOKEN", "the-old-value");
  await set("CI_TOKEN", TOKEN);
  const { url = "" } = JSON.parse((await run("serve", "--daemon", "--json")).out) as Record<string, string>;
  const length = async (): Promise<string> =>
    resultText(await run("call", "shell.run", 'script=printf %s "$TOKEN" | wc -c'))
      .split("\n")[0]
      ?.trim() ?? "";
  const isAccepted = async (token: string): Promise<boolean> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(url, { method: "POST", headers, body: "{}" })).status !== 401;
  };
  expect(await length()).toBe("13");
  const changed = await set("TOKEN", "a-new-and-longer-value");
  expect(changed).toMatchObject({ code: 0, err: "" });
  expect(JSON.parse(changed.out)).toMatchObject({ name: "TOKEN", gateways: [{ url, applied: true }] });
  expect(await length()).toBe("22");
  const reload = async (): Promise<unknown> => JSON.parse((await run("reload")).out);
  expect(await reload()).toMatchObject({ problems: [], restarted: [] });
  expect((await run("secrets", "rm", "TOKEN")).code).toBe(0);
  expect(await reload()).toMatchObject({
    problems: [],
    serverProblems: [
      expect.stringContaining(
        "shell keeps its earlier secrets, and could not start again, because Portolan cannot read its secrets: A secret is missing: TOKEN",
      ),
    ],
    restarted: [],
  });
  expect(await length()).toBe("22");
  const outdated = async (): Promise<unknown> =>
    ((await (await fetch(new URL("/readyz", url))).json()) as { servers: { outdated: number } }).servers
      .outdated;
  const lines = async (command: string): Promise<string[]> =>
    (await run(command, "--text")).out
      .split("\n")
      .filter((line) => line.includes("keeps its earlier secrets"));
  expect(await outdated()).toBe(1);
  expect(await run("reload", "--text")).toMatchObject({
    ...{ code: 3, out: expect.not.stringContaining("No server and no setting changed") as string },
  });
  for (const command of ["status", "reload", "events"]) expect(await lines(command)).toHaveLength(1);
  const why = await run("why", "shell", "--text");
  expect(why.out).toContain("Set it: portolan secrets set TOKEN");
  expect(why.out).not.toContain("No action needed");
  const beside = await pipe(TOKEN, "secrets", "set", "CI_TOKEN", "--to", "vault", "--text");
  expect(beside).toMatchObject({
    ...{ code: 3, err: expect.stringContaining("shell keeps its earlier secrets") as string },
  });
  expect(beside.err).toContain("has read the change, but not all servers use it.");
  expect(beside.out).not.toContain("applied");
  await set("TOKEN", "a-new-and-longer-value");
  expect(await outdated()).toBe(0);
  expect(await lines("status")).toEqual([]);

  const renewedCaller = await pipe(`${TOKEN}-new`, "secrets", "set", "CI_TOKEN", "--to", "vault", "--text");
  expect(renewedCaller.out).toMatch(
    /^CI_TOKEN was stored in the vault\.\nThe running gateway .* has applied the change\.\n$/,
  );
  expect(await isAccepted(TOKEN)).toBe(false);
  expect(await isAccepted(`${TOKEN}-new`)).toBe(true);
  const old = (await run("token")).out.trim();
  const renewed = await run("token", "--new");
  expect(renewed.err).toContain(
    "still accepts the old token. To make it accept the new token: portolan reload",
  );
  expect(await isAccepted(old)).toBe(true);
  expect(await reload()).toMatchObject({ problems: [], restarted: [] });
  expect(await isAccepted(old)).toBe(false);
  for (const token of [`${TOKEN}-new`, renewed.out.trim()]) expect(await isAccepted(token)).toBe(true);
});

test("reload, restart and grant say whether the server started, and exit accordingly", async () => {
  const { cwd, top, run, save } = setUp({});
  const program = join(cwd, "server.mjs");
  const { args } = stdioCommand("--era=modern");
  const other = { ...fixture(), env: { OTHER: "${file:other}" } };
  writeFileSync(join(cwd, "other"), "value", { mode: 0o600 });
  writeFileSync(program, `await import(${JSON.stringify(args[0])});`);
  const one = {
    command: process.execPath,
    args: [program, "--era=modern"],
    sandbox: { fs: { read: ["/"] } },
  };
  save({ servers: { one, other } });
  expect((await run("serve", "--daemon")).code).toBe(0);
  expect(await run("reload", "--text")).toMatchObject({ code: 0 });

  writeFileSync(program, 'throw new Error("broken script");');
  const restarted = await run("restart", "one", "--text");
  expect(restarted.code).toBe(3);
  expect(restarted.err).toContain("could not restart the server");
  expect(restarted.out).toMatch(/^one ready: \d+ tools\n.*earlier process continues.*broken script/);
  expect((await run("call", "one.echo", "text=x")).code).toBe(0);
  expect(await run("reload", "--text")).toMatchObject({
    ...{ code: 3, out: expect.stringContaining("the new process failed") as string },
  });

  // Another sandbox ends the old process, so that the server is down.
  const granted = await run("grant", "one", "--write", top, "--text");
  expect(granted.code).toBe(3);
  expect(granted.out).toMatch(/^one failed(?:, trying again)?: .*broken script/m);
  writeFileSync(program, `await import(${JSON.stringify(args[0])});`);
  const revoked = await run("revoke", "one", "--write", top, "--text");
  expect(revoked.code).toBe(0);
  expect(revoked.out).toMatch(/^one ready: \d+ tools/m);

  // The secret of another server concerns neither the files nor this server.
  renameSync(join(cwd, "other"), join(cwd, "elsewhere"));
  const beside = await run("grant", "one", "--write", top, "--text");
  expect(beside.code).toBe(0);
  expect(beside.err).toContain("other keeps its earlier secrets");
  const reloaded = await run("reload", "--text");
  expect(reloaded.code).toBe(3);
  expect(reloaded.out).toContain("other keeps its earlier secrets");
  expect(reloaded.out).not.toContain("completely or not at all");

  writeFileSync(program, 'throw new Error("broken script");');
  const file = join(cwd, "portolan.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replaceAll("--era=modern", "--era=legacy"));
  const removed = await run("remove", "other", "--text");
  expect(removed.code).toBe(3);
  expect(removed.err).toMatch(/one runs with its earlier configuration.*broken script/);
  expect(removed.err).toContain("has read the change, but not all servers use it.");
});

test("a command reports a changed server that does not run", async () => {
  const broken = { command: process.execPath, args: ["first-missing.mjs"] };
  const { cwd, run } = setUp({ servers: { one: broken, two: fixture() }, gateway: { port: 0 } });
  await run("serve", "--daemon", "--json");
  const file = join(cwd, "portolan.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("first-missing", "second-missing"));
  const removed = await run("remove", "two", "--text");
  expect(removed.code).toBe(3);
  expect(removed.err).toContain("has applied the change, but not all changed servers could start.");
  expect(removed.err).toMatch(/one: .*second-missing/);
});

test("list and why show what a caller may use; refused calls are in the log and the events", async () => {
  const callers = [{ name: "ci", token: "${file:token}", deny: { tools: ["one.fail", "one.ask_*"] } }];
  const { cwd, run } = setUp({ servers: { one: fixture(), two: fixture() }, gateway: { port: 0, callers } });
  writeFileSync(join(cwd, "token"), TOKEN, { mode: 0o600 });
  interface Listed {
    tools: { name: string }[];
    refused: { server: string; tool: string; rule: string }[];
  }
  const listed = async (...words: string[]): Promise<Listed> =>
    JSON.parse((await run("list", ...words)).out) as Listed;
  const names = ({ tools }: Listed): string[] => tools.map(({ name }) => name);
  const alone = await listed("--caller", "ci");
  const { url = "", log = "" } = JSON.parse((await run("serve", "--daemon", "--json")).out) as Record<
    string,
    string
  >;
  const header = ["--header", `Authorization: Bearer ${TOKEN}`];
  const beside = await listed("--caller", "ci");
  expect(names(beside)).toEqual(names(await listed(url, ...header)));
  expect(names(alone)).toEqual(names(beside));
  expect(beside.refused).toContainEqual({
    ...{ server: "one", name: "mcp_one_fail", tool: "fail", rule: "deny.tools: one.fail" },
  });
  expect((await listed("two", "--caller", "ci")).refused).toEqual([]);
  expect((await listed("--caller", "local")).refused).toEqual([]);
  const text = (await run("list", "one", "--caller", "ci", "--text")).out;
  expect(text).toMatch(/^one · \d+ of \d+ tools for ci$/m);
  expect(text).toContain("refused (deny.tools: one.fail): fail");
  expect(envelope(await run("list", "--caller", "cj"))).toMatchObject({ hint: 'Did you mean "ci"?' });
  expect(envelope(await run("list", "one", "fail", "--caller", "ci"))).toMatchObject({ code: "USAGE" });
  const why = await run("why", "one.fail", "--text");
  expect(why.out).toMatch(/callers +ci refused by deny\.tools: one\.fail/);
  expect(why.out).toContain("0 of 1 caller can use this tool.");
  expect(JSON.parse((await run("why", "two.fail")).out)).toMatchObject({
    callers: [{ name: "ci", allowed: true }],
  });
  const client = new RawModern(url.replace(/\/mcp$/, ""), { token: TOKEN });
  const refused = await client.call("tools/call", { name: "mcp_one_fail", arguments: {} });
  expect(refused.error).toMatchObject({ message: 'No server has a tool "mcp_one_fail".' });
  const { readFile } = await import("node:fs/promises");
  await until(async () =>
    (await readFile(log, "utf8")).includes("one call refused fail for ci: deny.tools: one.fail"),
  );
  const events = (await run("events")).out;
  expect(events).toContain('"type":"gateway.call_refused"');
});

test("update updates the npm packages if no server has another package, and reports those that fail", async () => {
  const npm = { npm: "some-server@^1.2.0" };
  const place = setUp({
    servers: { one: npm, two: { command: "npx", args: ["-y", "other"] }, own: fixture() },
  });
  const { code, out } = await place.run("update", "--text");
  expect(code).toBe(3);
  expect(out).toMatch(/one +failed: .*some-server@\^1\.2\.0[^]*two +failed: /);
  place.save({ servers: { own: fixture() } });
  expect((await place.run("update", "--text")).out).toContain("there is nothing to update");
  const other = { command: "npx", args: ["-y", "other"] };
  writeFileSync(join(place.cwd, ".mcp.json"), JSON.stringify({ mcpServers: { other } }));
  const elsewhere = await place.run("update", "other", "--text");
  expect(elsewhere.code).toBe(2);
  expect(elsewhere.err).toContain("The config of the server other is in .mcp.json:1");
  expect(elsewhere.err).toContain("portolan install --update other");
  expect((await place.run("update", "missing", "--text")).err).toContain('There is no server "missing"');
});

test("commands in another folder name the running gateways", async () => {
  const { top, cwd, env, run } = setUp({ servers: { one: fixture() } });
  expect((await run("serve", "--daemon")).code).toBe(0);
  const elsewhere = join(top, "elsewhere");
  mkdirSync(elsewhere);
  const there = (...words: string[]): Promise<Ran> => portolan(words, { cwd: elsewhere, env });
  expect((await there("stop", "--text")).out).toContain("portolan stop -w ~/project  at http://127.0.0.1:");
  const reach = "A gateway runs for another workspace. To use it, add -w ~/project.";
  for (const words of [
    ["reload"],
    ["call", "one.echo"],
    ["revoke", "one", "--net", "a"],
    ["logs", "one", "--json"],
  ])
    expect(envelope(await there(...words)).hint).toContain(reach);
  expect((await there("status", "--text")).out).toContain(reach);
  const [pid = ""] = /process \d+/.exec((await there("stop", "--text")).out) ?? [];
  expect(await there("stop", "--pid", pid.replace("process ", ""), "--text")).toMatchObject({ code: 0 });
  expect((await run("stop", "--text")).out).toBe("No gateway runs for this workspace.\n");
  expect(existsSync(cwd)).toBe(true);
});

test("validate warns of missing TLS files of the gateway", async () => {
  const { cwd, run } = setUp({ servers: {}, gateway: { tls: { cert: "cert.pem", key: "keys/key.pem" } } });
  writeFileSync(join(cwd, "cert.pem"), "");
  const { code, out } = await run("validate");
  expect(code).toBe(0);
  const { diagnostics } = JSON.parse(out) as { diagnostics: { message: string; hint: string }[] };
  expect(diagnostics).toMatchObject([{ code: "FILE_FAILED", severity: "warning" }]);
  expect(diagnostics[0]?.message).toContain(`there is no file ${join(cwd, "keys", "key.pem")}`);
  expect(diagnostics[0]?.hint).toContain("gateway.tls.key");
});

test("validate warns of references without which the gateway does not start, and not of a server's", async () => {
  const place = setUp({
    servers: { one: fixture({ TOKEN: "${NO_TOKEN}" }) },
    gateway: {
      port: 0,
      callers: [
        { name: "ci", token: "${CI_TOKEN}" },
        { name: "other", token: "${env:HERE_TOKEN}" },
      ],
      oauth: { issuer: "https://id.example.com", client_id: "a", client_secret: "${file:secret}" },
    },
    telemetry: { headers: { authorization: "Bearer ${OTLP_TOKEN}" } },
  });
  const check = async (): Promise<{
    code: number | null;
    diagnostics: { code: string; message: string }[];
  }> => {
    const { code, out } = await place.run("validate");
    return { code, ...(JSON.parse(out) as { diagnostics: { code: string; message: string }[] }) };
  };
  const { code, diagnostics } = await check();
  expect(code).toBe(0);
  expect(diagnostics).toMatchObject([
    {
      ...{ code: "SECRET_MISSING", severity: "warning" },
      message: expect.stringMatching(
        /CI_TOKEN \(for the token of gateway caller ci\).*HERE_TOKEN.*client_secret of gateway\.oauth.*portolan serve cannot start/,
      ) as string,
      hint: expect.stringContaining("portolan secrets set CI_TOKEN") as string,
    },
    { code: "SECRET_MISSING", message: expect.stringContaining("OTLP_TOKEN") as string },
  ]);
  expect((await place.run("serve")).err).toContain("CI_TOKEN");
  place.env["HERE_TOKEN"] = `${TOKEN}-2`;
  place.env["OTLP_TOKEN"] = "t";
  writeFileSync(join(place.cwd, "secret"), "s3cret");
  withPassphrase(place);
  expect((await place.pipe(TOKEN, "secrets", "set", "CI_TOKEN", "--to", "vault")).code).toBe(0);
  expect((await check()).diagnostics).toEqual([]);
  // Nobody is asked for the passphrase of a locked vault, which may have the value.
  delete place.env["PORTOLAN_VAULT_PASSPHRASE_FILE"];
  await place.run("secrets", "lock");
  expect(await check()).toMatchObject({ code: 0, diagnostics: [] });
});

test("add names the next step for a secret that the server refers to", async () => {
  const { run } = setUp({ servers: {} });
  const header = "Authorization: Bearer ${REMOTE_TOKEN}";
  const { code, out } = await run("add", "remote", "http://127.0.0.1:9/mcp", "--header", header, "--text");
  expect(code).toBe(0);
  expect(out).toContain("If REMOTE_TOKEN has no value yet: portolan secrets set REMOTE_TOKEN");
  expect((await run("add", "local", "--env", "PATH", "--text", "--", "node")).out).not.toContain("secrets");
});
