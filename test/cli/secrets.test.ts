// `portolan secrets` with a vault in a temporary folder, and a value that must not appear anywhere.

import { execFile } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSecretStore } from "../../src/secrets/index.ts";
import {
  envelope,
  KEYS,
  MAIN,
  portolan,
  type Ran,
  start,
  temporaryFolder,
  terminal,
} from "../helpers/cli.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { needs } from "../helpers/needs.ts";

const CANARY = "c4n4ry-0f-a-s3cret-value";
const PASSPHRASE = "p4ssphrase-of-the-t3st";

interface Place {
  readonly home: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly run: (words: readonly string[], stdin?: string, env?: Record<string, string>) => Promise<Ran>;
  /** The whole output so far. */
  readonly shown: () => string;
}

const PORTOLAN_YAML = `env_file: .env
servers:
  one:
    command: node
    args: [server.js, "\${ARG:-none}"]
    env:
      TOKEN: \${API_TOKEN}
      HOME_OF: \${env:NOT_THERE}
  two:
    url: https://mcp.example.com/mcp
    headers:
      Authorization: Bearer \${secrets.API_TOKEN}
      X-Other: \${FROM_DOTENV}
  off:
    command: x
    enabled: false
    env:
      TOKEN: \${NOT_NEEDED}
`;

function place(files: Readonly<Record<string, string>> = {}): Place {
  const home = temporaryFolder();
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o600 });
  const passphraseFile = join(home, "passphrase");
  writeFileSync(passphraseFile, `${PASSPHRASE}\n`, { mode: 0o600 });
  const env = {
    HOME: home,
    XDG_DATA_HOME: join(home, "data"),
    // The tests never use the developer's keyring.
    DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere",
    PORTOLAN_VAULT_PASSPHRASE_FILE: passphraseFile,
  };
  let shown = "";
  return {
    home,
    folder,
    env,
    async run(words, stdin, more = {}) {
      const ran = await portolan(["secrets", ...words], {
        cwd: folder,
        env: { ...env, ...more },
        ...(stdin === undefined ? {} : { stdin }),
      });
      shown += ran.out + ran.err;
      return ran;
    },
    shown: () => shown,
  };
}

const vaultOf = ({ home }: Place): string => join(home, "data", "portolan", "secrets.vault");

function filesWith(text: string, ...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => readFileSync(file).includes(text)),
  );
}

describe("secrets", () => {
  test("remove names the stored secrets that only the removed servers used", async () => {
    const at = place({
      "portolan.yaml": `servers:
  notes: { command: node, args: [n.js, "\${UNSET:-x}"], env: { A: "\${NOTES_TOKEN}", B: "\${SHARED}", C: "\${CALLER}" } }
  web: { url: "https://mcp.example.com/mcp", headers: { Authorization: "Bearer \${WEB_TOKEN}" } }
  off: { command: node, enabled: false, env: { B: "\${SHARED}" } }
gateway:
  callers: [{ name: ci, token: "\${CALLER}" }]
`,
    });
    for (const name of ["NOTES_TOKEN", "WEB_TOKEN", "SHARED", "CALLER"])
      expect((await at.run(["set", name, "--to", "vault"], `${CANARY}\n`)).code).toBe(0);
    // The names of a locked vault can be read: remove needs no passphrase.
    const { PORTOLAN_VAULT_PASSPHRASE_FILE: _file, ...env } = at.env as Record<string, string>;
    const remove = (...words: string[]): Promise<Ran> =>
      portolan(["remove", ...words], { cwd: at.folder, env });
    const { out, err, code } = await remove("notes", "--text");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain(
      "No other server of this workspace uses this stored secret: NOTES_TOKEN. To remove it: portolan secrets rm NOTES_TOKEN\n",
    );
    expect(JSON.parse((await remove("web", "off", "--purge")).out)).toMatchObject({
      secrets: { purged: [], left: ["SHARED", "WEB_TOKEN"] },
    });
    expect((await at.run(["rm", "NOTES_TOKEN", "SHARED", "WEB_TOKEN"])).code).toBe(0);
  });

  test("set, list, check and rm work with a vault, and never print the value", async () => {
    const at = place({ "portolan.yaml": PORTOLAN_YAML, ".env": "FROM_DOTENV=d0tenv-value\n" });
    const before = await at.run(["check"]);
    expect(before.code).toBe(1);
    expect(JSON.parse(before.out)).toMatchObject({
      ok: false,
      needs: [{ name: "API_TOKEN", state: "missing" }, {}, {}, {}],
    });

    const set = await at.run(["set", "API_TOKEN", "--to", "vault", "--verbose"], `${CANARY}\n`);
    expect(set.code).toBe(0);
    expect(JSON.parse(set.out)).toEqual({ name: "API_TOKEN", source: "vault" });
    if (process.platform === "linux") expect(statSync(vaultOf(at)).mode & 0o777).toBe(0o600);

    const list = await at.run(["list"]);
    expect(JSON.parse(list.out)).toEqual({
      secrets: [
        { name: "API_TOKEN", source: "vault" },
        { name: "FROM_DOTENV", source: "dotenv" },
      ],
      diagnostics: [],
    });
    expect((await at.run(["list", "--text"])).out).toBe("API_TOKEN    vault\nFROM_DOTENV  dotenv\n");

    const check = await at.run(["check", "--json"], undefined, { NOT_THERE: "x" });
    expect(check.code).toBe(0);
    const { ok, sources, needs } = JSON.parse(check.out) as Record<string, { source: string; ok: boolean }[]>;
    expect(ok).toBe(true);
    expect(sources?.map(({ source }) => source)).toEqual(["environment", "keyring", "vault", "dotenv"]);
    expect(needs).toEqual([
      {
        name: "API_TOKEN",
        kind: "name",
        state: "set",
        source: "vault",
        neededBy: [
          { server: "one", where: "env.TOKEN" },
          { server: "two", where: "headers.Authorization" },
        ],
      },
      { name: "ARG", kind: "name", state: "default", neededBy: [{ server: "one", where: "args[1]" }] },
      expect.objectContaining({ name: "FROM_DOTENV", source: "dotenv" }),
      expect.objectContaining({ name: "NOT_THERE", kind: "env", state: "set", source: "environment" }),
    ]);
    const text = await at.run(["check", "--text", "--verbose"]);
    expect(text.code).toBe(1);
    expect(text.out).toContain(
      "✓ API_TOKEN    in the vault; needed by one (env.TOKEN), two (headers.Authorization)",
    );
    expect(text.out).toContain("✗ NOT_THERE    not set in the environment; needed by one (env.HOME_OF)");

    const wrong = await at.run(["rm", "API_TOKN", "--verbose"]);
    expect(wrong.code).toBe(2);
    expect(envelope(wrong)).toMatchObject({ code: "SECRET_MISSING", hint: 'Did you mean "API_TOKEN"?' });
    expect(filesWith(CANARY, at.home, at.folder)).toEqual([]);
    const removed = await at.run(["rm", "API_TOKEN"]);
    expect(JSON.parse(removed.out)).toEqual({ name: "API_TOKEN", removed: ["vault"] });
    expect((JSON.parse((await at.run(["list"])).out) as { secrets: object[] }).secrets).toHaveLength(1);
    for (const secret of [CANARY, PASSPHRASE, "d0tenv-value"]) expect(at.shown()).not.toContain(secret);
  });

  test.each([
    ["a word", ["set", "NAME", CANARY]],
    ["NAME=value", ["set", `NAME=${CANARY}`]],
    ["an option", ["set", "NAME", `--value=${CANARY}`]],
    ["an option before the command", [`--value=${CANARY}`, "set", "NAME"]],
    ["a word after --", ["set", "NAME", "--", CANARY]],
    ["a word that looks like an option", ["set", "NAME", `-${CANARY}`]],
    ["in place of the name", ["set", `${CANARY} `]],
    ["a word for list", ["list", CANARY]],
  ])("a value on the command line is refused and not repeated: %s", async (_, words) => {
    const at = place();
    const ran = await at.run([...words, "--verbose"], "from stdin");
    expect(ran.code).toBe(2);
    expect(envelope(ran).code).toBe("USAGE");
    expect(at.shown()).not.toContain(CANARY);
    expect(readdirSync(at.home)).toEqual(["passphrase"]);
    if (_ === "a word")
      expect(envelope(ran)).toMatchObject({
        message: "Nothing was stored: the value of a secret must not be on the command line.",
        hint: expect.stringContaining("history") as string,
      });
  });

  test("wrong options are reported with a hint", async () => {
    const at = place();
    const hint = async (...words: string[]): Promise<string> => envelope(await at.run(words, "x")).hint;
    expect(await hint("set")).toBe("portolan secrets set <NAME>");
    expect(await hint("set", "1BAD")).toContain("A name begins with a letter or _");
    expect(await hint("set", "NAME", "--to", "vualt")).toBe('Did you mean "vault"?');
    expect(await hint("set", "NAME", "--quite")).toBe('Did you mean "--quiet"?');
    expect(await hint("lst")).toBe("Did you mean list?");
    const empty = await at.run(["set", "NAME"], "\n");
    expect(envelope(empty)).toMatchObject({ message: "No value for NAME came from stdin." });
    const help = await portolan(["secrets", "set", "--help"]);
    expect(help.out).toMatch(/Examples:[^]*Exit codes:/);
    expect((await at.run([])).code).toBe(2);
  });

  test("a wrong or missing passphrase is reported, and changes nothing", async () => {
    const at = place();
    expect((await at.run(["set", "NAME", "--to", "vault"], CANARY)).code).toBe(0);
    const other = join(at.home, "other");
    writeFileSync(other, "wr0ng-passphrase", { mode: 0o600 });
    const env = { PORTOLAN_VAULT_PASSPHRASE_FILE: other };
    const set = await at.run(["set", "NAME", "--to", "vault"], CANARY, env);
    expect(set.code).toBe(2);
    expect(envelope(set)).toMatchObject({ code: "SECRET_STORE_FAILED" });
    const check = await at.run(["check", "--text"], undefined, env);
    expect(check.code).toBe(1);
    expect(check.out).toMatch(
      /✗ vault +The passphrase is wrong[^]*Write the right passphrase of the vault into/,
    );
    const list = await at.run(["list"], undefined, env);
    expect(JSON.parse(list.out)).toMatchObject({ secrets: [{ name: "NAME" }] });
    const none = await at.run(["rm", "NAME"], undefined, { PORTOLAN_VAULT_PASSPHRASE_FILE: "" });
    expect(envelope(none).hint).toContain("PORTOLAN_VAULT_PASSPHRASE_FILE");
    chmodSync(other, 0o600);
    expect(JSON.parse((await at.run(["list"])).out)).toMatchObject({ secrets: [{ name: "NAME" }] });
    for (const secret of [CANARY, "wr0ng-passphrase"]) expect(at.shown()).not.toContain(secret);
  });

  test("the passphrase of the vault can be changed with passphrase files", async () => {
    const at = place();
    const file = join(at.home, "new");
    const change = ["passphrase", "--new-passphrase-file", file];
    expect(envelope(await at.run(change)).message).toBe("There is no vault yet.");
    expect((await at.run(["set", "NAME", "--to", "vault"], CANARY)).code).toBe(0);
    expect(envelope(await at.run(["passphrase"]))).toMatchObject({
      code: "USAGE",
      hint: expect.stringContaining("--new-passphrase-file") as string,
    });
    expect(envelope(await at.run(change)).hint).toContain("Set --new-passphrase-file to the path");
    writeFileSync(file, "n3w-passphrase\n", { mode: 0o600 });
    const changed = await at.run([...change, "--text"]);
    expect(changed).toMatchObject({ code: 0, out: "The passphrase of the vault was changed.\n" });
    expect(changed.err).toContain(`${at.env.PORTOLAN_VAULT_PASSPHRASE_FILE} still has the old passphrase.`);
    expect(await at.run(["rm", "NAME"])).toMatchObject({ code: 2 });
    const env = { PORTOLAN_VAULT_PASSPHRASE_FILE: file };
    expect(await at.run(["rm", "NAME"], undefined, env)).toMatchObject({ code: 0 });
    for (const secret of [CANARY, PASSPHRASE, "n3w-passphrase"]) expect(at.shown()).not.toContain(secret);
  });

  test.runIf(process.platform === "linux")(
    "a value of several lines is stored whole, without the last line break",
    async () => {
      const at = place({ "portolan.yaml": "servers: {}\n" });
      expect((await at.run(["set", "PEM", "--to", "vault"], "-----BEGIN\nabc\n-----END\n\n")).code).toBe(0);
      expect(filesWith("-----BEGIN", at.home, at.folder)).toEqual([]);
      const vaultFile = vaultOf(at);
      const store = createSecretStore({ env: at.env, vaultFile, keyring: "off", report: () => {} });
      expect((await store.get("PEM"))?.secret.reveal()).toBe("-----BEGIN\nabc\n-----END\n");
    },
  );
});

describe("secrets at a terminal", needs("a terminal"), () => {
  test("asks for value and passphrase without showing them, and for a new passphrase twice", async () => {
    const at = place();
    const env = { ...at.env, PORTOLAN_VAULT_PASSPHRASE_FILE: "" };
    // A typed passphrase starts the vault agent, which would outlive the test.
    onTestFinished(async () => expect(await at.run(["lock"])).toMatchObject({ code: 0 }));
    const set = terminal(`cd ${at.folder}; portolan secrets set NAME --to vault`, 100, env);
    await set.shows("Value of NAME");
    set.press(CANARY + KEYS.enter);
    await set.shows("Choose a passphrase for the new vault");
    set.press(`typo${KEYS.enter}`);
    await set.shows("The passphrase has fewer than 8 characters.");
    await set.shows("The same passphrase again");
    set.press(PASSPHRASE + KEYS.enter);
    await set.shows("The two passphrases were different");
    set.press(PASSPHRASE + KEYS.enter);
    await set.shows("The same passphrase again");
    set.press(PASSPHRASE + KEYS.enter);
    const done = await set.done;
    expect(done.code).toBe(0);
    expect(done.screen).toContain("NAME was stored in the vault.");

    // The names are known without the passphrase.
    const list = terminal(`cd ${at.folder}; portolan secrets list --text`, 100, env);
    const listed = await list.done;
    expect(listed.code).toBe(0);
    expect(listed.screen).toMatch(/NAME {2}vault/);

    // The vault stays unlocked for a while after a passphrase was typed.
    const left = terminal(`cd ${at.folder}; portolan secrets lock; portolan secrets rm NAME`, 100, env);
    await left.shows("Passphrase of the vault");
    left.press(KEYS.ctrlC);
    const away = await left.done;
    expect(away.code).toBe(130);
    expect(away.screen).toMatch(/is\s+locked, because no passphrase was entered/);
    const remove = terminal(`cd ${at.folder}; portolan secrets rm NAME`, 100, env);
    await remove.shows("Passphrase of the vault");
    remove.press(`wrong${KEYS.enter}`);
    await remove.shows("The passphrase is wrong.");
    remove.press(PASSPHRASE + KEYS.enter);
    const removed = await remove.done;
    expect(removed.code).toBe(0);
    for (const { raw } of [done, listed, away, removed])
      for (const secret of [CANARY, PASSPHRASE]) expect(raw).not.toContain(secret);
    expect(filesWith(CANARY, at.home, at.folder)).toEqual([]);
  });
});

test(
  "without the passphrase, a gateway names the servers that need none; connect repeats the reminder",
  needs("a terminal"),
  async () => {
    const server = { ...stdioCommand("--era=modern"), sandbox: "off" };
    const servers = { one: { ...server, env: { TOKEN: "${API_TOKEN}" } }, two: server };
    const at = place({ "portolan.yaml": JSON.stringify({ servers }) });
    await at.run(["set", "API_TOKEN", "--to", "vault"], CANARY);
    const { PORTOLAN_VAULT_PASSPHRASE_FILE: _file, ...given } = at.env;
    const env = { ...given, XDG_RUNTIME_DIR: at.home };
    const serve = terminal(`cd ${at.folder}; portolan serve --daemon --port 0`, 200, env);
    await serve.shows("Passphrase of the vault");
    serve.press(KEYS.ctrlC);
    const { code, screen } = await serve.done;
    expect(code).toBe(130);
    expect(screen).toContain(
      "To start the gateway without one, add these options to your command: --only two",
    );
    const again = terminal(
      `cd ${at.folder}; portolan serve --daemon --port 0 --only one --only two`,
      200,
      env,
    );
    await again.shows("Passphrase of the vault");
    again.press(KEYS.ctrlC);
    expect((await again.done).screen).toContain(
      "replace --only in your command by these options: --only two",
    );
    const connected = await portolan(["connect", "cursor", "--yes", "--text"], { cwd: at.folder, env });
    expect(connected.out).toContain("Unlock the vault before you start the client: portolan secrets unlock");
    // A token of a caller is needed whichever servers start.
    const callers = [{ name: "ci", token: "${API_TOKEN}" }];
    writeFileSync(join(at.folder, "portolan.yaml"), JSON.stringify({ servers, gateway: { callers } }));
    const all = terminal(`cd ${at.folder}; portolan serve --daemon --port 0`, 200, env);
    await all.shows("Passphrase of the vault");
    all.press(KEYS.ctrlC);
    expect((await all.done).screen).not.toContain("To start the gateway without");
  },
);

test(
  "a running gateway reads the vault with a passphrase that is changed at the terminal",
  needs("a terminal"),
  async () => {
    const server = { ...stdioCommand("--era=modern"), env: { TOKEN: "${API_TOKEN}" }, sandbox: "off" };
    const at = place({ "portolan.yaml": JSON.stringify({ servers: { one: server } }) });
    await at.run(["set", "API_TOKEN", "--to", "vault"], CANARY);
    const { PORTOLAN_VAULT_PASSPHRASE_FILE: _file, ...given } = at.env;
    const env = { ...given, XDG_RUNTIME_DIR: at.home };
    const options = { cwd: at.folder, env };
    onTestFinished(async () => {
      await portolan(["stop", "--all"], options);
      await portolan(["secrets", "lock"], options);
    });
    expect((await portolan(["serve", "--daemon", "--port", "0", "--text"], options)).out).toContain(
      "is locked",
    );
    const unlock = terminal(`cd ${at.folder}; portolan secrets unlock`, 100, env);
    await unlock.shows("Passphrase of the vault");
    unlock.press(PASSPHRASE + KEYS.enter);
    expect(await unlock.done).toMatchObject({ code: 0 });
    // The gateway does not wait for its next attempt.
    expect(await portolan(["call", "one.echo", "text=hi"], options)).toMatchObject({ code: 0 });

    // The command asks for the old passphrase, although the vault agent has the key.
    const change = terminal(`cd ${at.folder}; portolan secrets passphrase`, 100, env);
    await change.shows("Passphrase of the vault");
    change.press(PASSPHRASE + KEYS.enter);
    await change.shows("Choose the new passphrase of the vault");
    change.press(`n3w-passphrase${KEYS.enter}`);
    await change.shows("The same passphrase again");
    change.press(`n3w-passphrase${KEYS.enter}`);
    const changed = await change.done;
    expect(changed.screen).toContain("The passphrase of the vault was changed.");
    expect(changed.screen).not.toContain("warning");
    expect(changed.code).toBe(0);
    await portolan(["secrets", "lock"], options);
    expect(await portolan(["restart", "one"], options)).toMatchObject({ code: 0 });
    const file = join(at.home, "new");
    writeFileSync(file, "n3w-passphrase", { mode: 0o600 });
    expect(
      await at.run(["rm", "API_TOKEN"], undefined, { PORTOLAN_VAULT_PASSPHRASE_FILE: file }),
    ).toMatchObject({
      code: 0,
    });
  },
);

test("every place that reports a locked vault names the command that unlocks it", async () => {
  const servers = { one: { ...stdioCommand("--era=modern"), env: { TOKEN: "${API_TOKEN}" } } };
  const at = place({ "portolan.yaml": JSON.stringify({ servers }) });
  await at.run(["set", "API_TOKEN", "--to", "vault"], CANARY);
  const { PORTOLAN_VAULT_PASSPHRASE_FILE: _file, ...env } = at.env;
  const options = { cwd: at.folder, env };
  const commands = [
    ["status", "--text"],
    ["why", "one", "--text"],
    ["list", "--text"],
    ["call", "one.echo"],
  ];
  for (const words of commands) {
    const { out, err } = await portolan(words, options);
    expect({ words, shown: `${out}${err}`.replaceAll(/\s+/g, " ") }).toMatchObject({
      shown: expect.stringMatching(/is locked\..*portolan secrets unlock\b/) as string,
    });
  }
  onTestFinished(async () => void (await portolan(["stop", "--all"], options)));
  const daemon = await portolan(["serve", "--daemon", "--port", "0", "--text"], options);
  expect(daemon.out).toMatch(/^ {2}one .*is locked\..*portolan secrets unlock\b/m);
  const [log = ""] = /(?<=^Log: ).*$/m.exec(daemon.out) ?? [];
  const file = log.replace(/^~/, at.home);
  expect(readFileSync(file, "utf8")).toMatch(/ one +blocked .*is locked\..*portolan secrets unlock\b/);
  const stdio = start(["serve", "--stdio", "--standalone"], options);
  expect((await stdio.done).err).toMatch(/one is not running: .*is locked\..*portolan secrets unlock\b/);
});

const PUBLIC_SERVER = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);

/** A session bus and a keyring that end with the test. */
const KEYRING = `printf secret | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
set -e
printf %s "$VALUE" | portolan secrets set API_TOKEN --text
portolan secrets list --text
portolan call one.get-env --text
portolan secrets rm API_TOKEN --text
portolan secrets list --text`;

test(
  "a real keyring stores a secret, and a server gets the secret from the keyring",
  needs("a keyring"),
  async () => {
    const at = place({
      "portolan.yaml": JSON.stringify({
        servers: {
          one: { command: "node", args: [PUBLIC_SERVER], env: { TOKEN: "${secrets.API_TOKEN}" } },
        },
      }),
    });
    writeFileSync(join(at.home, "portolan"), `#!/bin/sh\nexec node ${MAIN} "$@"\n`, { mode: 0o755 });
    const { stdout } = await promisify(execFile)("dbus-run-session", ["--", "sh", "-c", KEYRING], {
      cwd: at.folder,
      env: {
        ...{ HOME: at.home, XDG_DATA_HOME: join(at.home, "data"), XDG_RUNTIME_DIR: at.home },
        ...{ PATH: `${at.home}:${process.env.PATH}`, PORTOLAN_SANDBOX: "off", VALUE: CANARY },
      },
    });
    expect(stdout).toMatch(
      /^API_TOKEN was stored in the keyring\.\nAPI_TOKEN {2}keyring\n[^]*"TOKEN": "\[redacted\]"[^]*\nAPI_TOKEN was removed from the keyring\.\nThere are no secrets yet\. /,
    );
    expect(stdout).not.toContain(CANARY);
  },
);
