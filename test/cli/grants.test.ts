// Grants as a person meets them: a question on a terminal, flags and YAML elsewhere, an error that names the path, and the
// command of that error, which makes the server work.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { envelope, KEYS, portolan, publicServer, quoted, temporaryFolder, terminal } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";

function setUp() {
  const home = temporaryFolder();
  const cwd = join(home, "work");
  const notes = join(home, "notes");
  for (const folder of [cwd, notes, join(home, "memory")]) mkdirSync(folder);
  const env = { HOME: home, XDG_DATA_HOME: join(home, ".data"), PORTOLAN_SANDBOX: "" };
  const file = join(cwd, "portolan.yaml");
  return {
    ...{ home, cwd, notes, file },
    text: () => readFileSync(file, "utf8"),
    run: (...words: string[]) => portolan(words, { cwd, env }),
    shell: (line: string) => terminal(`cd ${quoted([cwd])}; ${line}`, 200, env),
  };
}

const FILES = (...args: string[]): string => publicServer("@modelcontextprotocol/server-filesystem", ...args);
const MEMORY = publicServer("@modelcontextprotocol/server-memory");
const SHELL_SERVER = join(import.meta.dirname, "../fixtures/shell-server.mjs");
const ENTITY = 'entities:=[{"name":"box","entityType":"thing","observations":["kept"]}]';

it("the printed command grants the missing folder of a data file", needs("bubblewrap"), async () => {
  const { home, run } = setUp();
  const data = join(home, "data/memory.jsonl");
  await run("add", "memory", "--env", `MEMORY_FILE_PATH=${data}`, "--", ...MEMORY.split(" "));
  const { out } = await run("validate");
  expect(out).toContain(`mkdir -p ${home}/data && portolan grant memory --write ${home}/data`);
  mkdirSync(join(home, "data"));
  expect((await run("grant", "memory", "--write", `${home}/data`)).code).toBe(0);
  expect((await run("call", "memory.create_entities", ENTITY)).code).toBe(0);
});

it("grant and revoke name the arguments of a server that uses only these folders", async () => {
  const { home, notes, run } = setUp();
  await run("add", "files", "--", ...FILES(notes).split(" "));
  const granted = await run("grant", "files", "--write", join(home, "memory"), "--text");
  expect(granted.err).toContain(
    `uses only the folders in its arguments: add ${home}/memory to the arguments of files`,
  );
  expect((await run("grant", "files", "--write", notes, "--text")).err).not.toContain("arguments");
  const revoked = await run("revoke", "files", "--write", notes, "--text");
  expect(revoked.err).toContain(`${notes} is still in the arguments of files`);
});

describe("granting at a terminal", needs("a terminal", "bubblewrap"), () => {
  it("servers can write after the user says yes, and comments in the file stay", async () => {
    const { home, file, notes, text, run, shell } = setUp();
    writeFileSync(file, "# mine\nservers: {}\n");
    const files = shell(`portolan add files -- ${FILES(notes)}`);
    await files.shows("files (server-filesystem) is started with ~/notes. Allow:");
    files.press(KEYS.enter);
    expect((await files.done).code).toBe(0);
    const memory = shell(`portolan add memory --env MEMORY_FILE_PATH=${home}/memory/m.jsonl -- ${MEMORY}`);
    await memory.shows("memory (server-memory) is started with ~/memory/m.jsonl (MEMORY_FILE_PATH)");
    memory.press(KEYS.enter);
    expect((await memory.done).code).toBe(0);
    expect(text()).toMatch(/^# mine\n/);
    expect(text()).toContain("write: [~/notes]");
    const [written, kept] = await Promise.all([
      run("call", "files.write_file", `path=${notes}/a.txt`, "content=hello"),
      run("call", "memory.create_entities", ENTITY),
    ]);
    expect([written.code, kept.code]).toEqual([0, 0]);
    expect(readFileSync(join(notes, "a.txt"), "utf8")).toBe("hello");
    expect(readFileSync(join(home, "memory/m.jsonl"), "utf8")).toContain("kept");
  });

  it("the missing folder of a data file is created and granted on request", async () => {
    const { home, file, text, run, shell } = setUp();
    writeFileSync(file, "servers: {}\n");
    const data = join(home, "data/memory.jsonl");
    const added = shell(`portolan add memory --env MEMORY_FILE_PATH=${data} -- ${MEMORY}`);
    await added.shows("Create the folder ~/data, and allow for all files in it:");
    added.press(KEYS.enter);
    expect((await added.done).code).toBe(0);
    expect(text()).toContain("write: [~/data]");
    expect((await run("call", "memory.create_entities", ENTITY)).code).toBe(0);
    expect(readFileSync(data, "utf8")).toContain("kept");
  });

  it("a folder that does not exist yet is created and granted on request", async () => {
    const { home, file, text, run, shell } = setUp();
    writeFileSync(file, "servers: {}\n");
    const folder = join(home, "scratch");
    const added = shell(`portolan add files -- ${FILES(folder)}`);
    await added.shows("is started with ~/scratch, which does not exist yet. Create the folder, and allow:");
    added.press(KEYS.enter);
    expect((await added.done).code).toBe(0);
    expect(text()).toContain("write: [~/scratch]");
    const written = await run("call", "files.write_file", `path=${folder}/a.txt`, "content=hello");
    expect(written.code).toBe(0);
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("hello");
  });

  it("Enter grants no folder with other files to a server that needs the folder of its data file", async () => {
    const { home, file, text, run, shell } = setUp();
    writeFileSync(file, "servers: {}\n");
    mkdirSync(join(home, "Documents"));
    const path = join(home, "Documents/m.jsonl");
    writeFileSync(path, "");
    const added = shell(`portolan add memory --env MEMORY_FILE_PATH=${path} -- ${MEMORY}`);
    await added.shows("Allow for all files in ~/Documents:");
    added.press(KEYS.enter);
    const { code, screen } = await added.done;
    expect(code).toBe(0);
    expect(text()).not.toContain("write:");
    const way = `remove MEMORY_FILE_PATH from the server's config, and run: portolan grant memory --data ${home}/server-memory. To keep the present data, then run: cp ${path} ${home}/server-memory/memory.jsonl.`;
    const shown = (all: string): string => all.replaceAll(/\s+/g, "");
    expect(shown(screen)).toContain(shown(way));
    const status = await run("status", "--text");
    expect(shown(status.out + status.err)).toContain(shown(way));
    expect(status.out + status.err).not.toContain("--write");
  });

  it("add refuses a name that is in use before it asks a question", async () => {
    const { file, shell } = setUp();
    writeFileSync(file, "servers:\n  memory: { command: node }\n");
    const { code, screen } = await shell(`portolan add memory -- ${MEMORY}`).done;
    expect(code).toBe(2);
    expect(screen).toContain("memory");
    expect(screen).not.toContain("Store the data");
  });

  it("add names a path of the system, and offers no grant for it", async () => {
    const { notes, file, text, run, shell } = setUp();
    writeFileSync(file, "servers: {}\n");
    const note = "Portolan suggests no grant for /var/log";
    const added = shell(`portolan add files -- ${FILES("/var/log", notes)}`);
    await added.shows("is started with ~/notes. Allow:");
    added.press(KEYS.enter);
    const { code, screen } = await added.done;
    expect(code).toBe(0);
    expect(screen.replaceAll(/\s+/g, " ")).toContain(note);
    expect(screen).not.toContain("/var/log. Allow:");
    expect(text()).toContain("write: [~/notes]");
    writeFileSync(join(file, "../server.js"), "");
    const { err } = await run("add", "more", "--strict", "--", "node", "server.js", "/var/log");
    expect(err).toContain(note);
    expect(err).not.toContain("--allow-write /var/log");
  });

  it("add asks about the hosts in variables, and grants them only after a yes", async () => {
    const { text, shell } = setUp();
    const env =
      "--env JIRA_URL=https://jira.example.com --env DATABASE_URL=postgres://me@db.example.com:5432/x";
    const added = shell(`portolan add work ${env} -- node -e 0`);
    await added.shows("names the host jira.example.com. May the server connect to it?");
    added.press(KEYS.enter);
    await added.shows("names the host db.example.com:5432. May");
    added.press(`${KEYS.down}${KEYS.enter}`);
    const { code, screen } = await added.done;
    expect(code).toBe(0);
    expect(screen).toContain("portolan grant work --net db.example.com:5432");
    expect(screen).not.toContain("--net jira.example.com");
    expect(text()).toContain("network: [jira.example.com]");
  });

  it("after a no, the error names the path and the command that grants it", async () => {
    const { home, notes, run, shell } = setUp();
    const added = shell(`portolan add files -- ${FILES(home)}`);
    await added.shows("is started with");
    added.press(`${KEYS.down}${KEYS.enter}`);
    const { code, screen } = await added.done;
    expect(code).toBe(0);
    expect(screen).toContain(
      "1 server may need a change of its config. Without the change, some of its tools may fail:",
    );
    const path = join(notes, "a.txt");
    const refused = await run("call", "files.write_file", `path=${path}`, "content=hello");
    expect(refused.code).toBe(1);
    expect(existsSync(path)).toBe(false);
    const [, command = ""] = /Grant it with: (portolan grant .*?) \(/.exec(refused.err) ?? [];
    expect(command).toBe(`portolan grant files --write ${home}`);
    const { _meta } = JSON.parse(refused.out) as {
      _meta: Record<string, { denied: { path: string; grant: string }[] }>;
    };
    expect(_meta["portolan/sandbox"]?.denied[0]).toMatchObject({
      path,
      grant: command,
    });
    expect((await shell(command).done).code).toBe(0);
    const again = await run("call", "files.write_file", `path=${path}`, "content=hello");
    expect({ code: again.code, err: again.err }).toEqual({ code: 0, err: "" });
    expect(readdirSync(notes)).toEqual(["a.txt"]);
  });
});

describe("granting without a terminal", needs("bubblewrap"), () => {
  it("add prints the option and the YAML for hosts in variables, and grants nothing", async () => {
    const { text, run } = setUp();
    const words = ["work", "--env", "DB=postgres://db.example.com/x", "--text", "--", "node", "-e", "0"];
    const dry = await run("add", "--dry-run", ...words);
    expect(dry.err).toContain("--allow-net db.example.com:5432");
    expect(dry.err).toContain('sandbox: { network: ["db.example.com:5432"] }');
    const { out } = await run("add", ...words);
    expect(out).toContain(
      "work: To let the server reach db.example.com:5432, which it is started with (env.DB): portolan grant work --net db.example.com:5432",
    );
    expect(text()).not.toContain("network");
  });

  it("while a gateway runs, grant and revoke are in effect when the command returns", async () => {
    const { notes, run } = setUp();
    expect((await run("add", "files", "--", ...FILES(notes).split(" "))).code).toBe(0);
    expect((await run("serve", "--daemon", "--port", "0")).code).toBe(0);
    onTestFinished(async () => void (await run("stop", "--all")));
    const write = (name: string) => run("call", "files.write_file", `path=${join(notes, name)}`, "content=x");
    const granted = await run("grant", "files", "--write", notes, "--text");
    expect(granted).toMatchObject({ code: 0, out: expect.stringContaining("has applied the change") });
    expect((await write("granted.txt")).code).toBe(0);
    const revoked = await run("revoke", "files", "--write", notes, "--json");
    expect(JSON.parse(revoked.out)).toMatchObject({ gateways: [{ applied: true }] });
    expect((await write("revoked.txt")).code).toBe(1);
    expect(readdirSync(notes)).toEqual(["granted.txt"]);
    const { gateways } = JSON.parse(revoked.out) as { gateways: [{ pid: number }] };
    const [{ pid }] = gateways;
    process.kill(pid, "SIGSTOP");
    const silent = await run("grant", "files", "--write", notes, "--text");
    process.kill(pid, "SIGCONT");
    expect(silent).toMatchObject({ code: 3, err: expect.stringContaining("did not confirm the change") });
  });

  it("a denial is printed once; after the grant, the server's own error names its arguments", async () => {
    const { home, notes, file, run } = setUp();
    const other = join(home, "other");
    mkdirSync(other);
    writeFileSync(join(other, "b.md"), "text");
    await run("add", "files", "--allow-write", notes, "--", ...FILES(notes).split(" "));
    const read = () => run("call", "files.read_text_file", `path=${join(other, "b.md")}`, "--text");
    const denied = await read();
    const add = `Add ${other} to the server's arguments in ${file}:3`;
    expect(denied.out).toBe(
      `Access denied - path outside allowed directories: ${join(other, "b.md")} not in ${notes}\n`,
    );
    expect(denied.err.match(/hides/g)).toHaveLength(1);
    expect(denied.err).toContain(`${add}, and grant it with: portolan grant files --read ${other}`);
    expect((await run("grant", "files", "--read", other)).code).toBe(0);
    const refused = await read();
    expect(refused.code).toBe(1);
    expect(refused.out).toContain(`it was not started with that folder. ${add}.`);
    expect(refused.out + refused.err).not.toContain("portolan grant");
    expect((await run("serve", "--daemon", "--port", "0")).code).toBe(0);
    onTestFinished(async () => void (await run("stop", "--all")));
    await run("revoke", "files", "--read", other);
    const relayed = await read();
    expect(relayed.out).toBe(denied.out);
    expect(relayed.err.match(/hides/g)).toHaveLength(1);
  });

  it("a misspelt script is reported as missing, without a suggested grant", async () => {
    const { notes, run } = setUp();
    const script = join(notes, "none.mjs");
    const added = await run("add", "broken", "--", "node", script);
    expect(added.err).toContain(`broken: There is no file ${script}`);
    const why = await run("why", "broken", "--text");
    expect(why.out).toContain(`There is no file ${script}`);
    const called = await run("call", "broken.any");
    const validated = await run("validate", "--text");
    for (const { out, err } of [added, why, called, validated]) {
      expect(out + err).toContain(script.slice(-14));
      expect(out + err).not.toMatch(/portolan grant|--allow-(read|write)|--write/);
    }
  });

  it("no hint and no command grants a server to write a config file, which would block the server", async () => {
    const { cwd, file, text, run } = setUp();
    writeFileSync(join(cwd, "sb.mjs"), readFileSync(SHELL_SERVER, "utf8"));
    const config = `servers:\n  sb:\n    command: node\n    args: [sb.mjs]\n`;
    writeFileSync(file, config);
    const called = await run("call", "sb.run", `script=echo evil > ${file}`, "--text");
    expect(called.err).toContain(`The sandbox of server "sb" protects ${file}`);
    expect(called.err).toContain("no grant allows this one");
    expect(called.out + called.err).not.toContain("portolan grant");
    writeFileSync(join(cwd, "portolan.lock"), "{}");
    const refused = "cannot be granted: config files decide about sandboxes";
    for (const name of ["portolan.yaml", "portolan.lock"]) {
      const granted = await run("grant", "sb", "--write", name);
      expect(granted.code).toBe(2);
      expect(envelope(granted).message).toContain(`--write ${name} ${refused}`);
    }
    const added = await run("add", "more", "--allow-write", file, "--", "node", "sb.mjs");
    expect(envelope(added).message).toContain(refused);
    expect(text()).toBe(config);
    expect((await run("grant", "sb", "--read", "portolan.yaml", "--dry-run")).code).toBe(0);
  });

  it("add grants nothing silently; with --strict it adds nothing and exits with 2", async () => {
    const { cwd, home, notes, file, text, run } = setUp();
    const words = FILES(notes).split(" ");
    const strict = await run("add", "files", "--strict", "--", ...words);
    expect(strict.code).toBe(2);
    expect(envelope(strict).hint).toContain(`portolan add files --allow-write ${notes} -- `);
    expect(envelope(strict).hint).toContain("or in the config of the server: sandbox:");
    expect(existsSync(file)).toBe(false);
    // A server on the command line has no config.
    const once = await run("list", "--strict", "--", ...words);
    expect(once.code).toBe(2);
    expect(envelope(once).hint).toContain(`--allow-write ${notes}`);
    expect(envelope(once).hint).not.toContain("config of the server");
    const added = await run("add", "files", "--", ...words);
    expect(added.code).toBe(0);
    const whole = await run("grant", "files", "--write", "/");
    expect(envelope(whole).message).toContain("--write / is the whole file system");
    const data = join(home, ".data/portolan");
    mkdirSync(data, { recursive: true });
    const refused = "cannot be granted: it is Portolan's own data, which no server is allowed to see";
    expect(envelope(await run("grant", "files", "--read", data)).message).toContain(refused);
    expect(envelope(await run("add", "more", "--allow-read", data, "--", ...words)).message).toContain(
      refused,
    );
    const dry = await run("grant", "files", "--write", home, "--dry-run", "--text");
    expect(dry.err).toContain("files could then change every file of ");
    expect(dry.err).not.toContain("portolan revoke");
    const wide = await run("add", "wide", "--allow-read", home, "--dry-run", "--", ...words);
    expect(wide.err).toContain("wide could then read every file of ");
    const around = await run("grant", "files", "--write", ".", "--dry-run", "--text");
    expect(around.err).toContain(`every file of ${cwd} except config files, for example its own program`);
    expect(added.err).toContain(`portolan grant files --write ${notes}`);
    expect(JSON.parse(added.out)).toMatchObject({ needsGrant: [{ server: "files" }] });
    expect(text()).not.toContain("sandbox");
    const list = ["call", "files.write_file", `path=${notes}/a.txt`, "content=x"];
    const why = await run("why", "files", "--text");
    expect(why.out).toContain(`portolan grant files --write ${notes}`);
    expect(why.out).not.toContain("No action needed");
    // For this call only.
    expect((await run(...list, "--allow-write", notes)).code).toBe(0);
    expect(text()).not.toContain("sandbox");
    expect((await run("grant", "files", "--read", notes)).code).toBe(0);
    const readOnly = await run(...list);
    expect(readOnly.err).toContain(`Grant it with: portolan grant files --write ${notes}`);
    expect((await run("grant", "files", "--write", notes)).code).toBe(0);
    expect(text()).toContain("write: [~/notes]");
    expect((await run(...list)).code).toBe(0);
    expect((await run("revoke", "files", "--write", notes)).code).toBe(0);
    expect(text()).not.toContain("sandbox");
    expect(envelope(await run("revoke", "files", "--write", notes)).message).toContain("does not grant");
  });

  it("for a known server without a data file, add, call, why and status name the whole fix", async () => {
    const { home, text, run } = setUp();
    const added = await run("add", "memory", "--", ...MEMORY.split(" "));
    expect(added.code).toBe(0);
    const data = join(home, "server-memory/memory.jsonl");
    const grant = `portolan grant memory --data ${join(home, "server-memory")}`;
    const failed = await run("call", "memory.create_entities", ENTITY);
    const why = await run("why", "memory", "--text");
    const status = await run("status", "--text");
    expect(failed.code).toBe(1);
    const { content } = JSON.parse(failed.out) as { content: { text: string }[] };
    for (const shown of [added.err, failed.err, content.at(-1)?.text ?? "", why.out, status.out + status.err])
      expect(shown.replaceAll(/\s+/g, " ")).toContain(grant);
    expect(why.out).not.toContain("No action needed");
    const before = text();
    expect((await run(...grant.split(" ").slice(1), "--dry-run")).code).toBe(0);
    expect([text(), existsSync(data)]).toEqual([before, false]);
    expect((await run(...grant.split(" ").slice(1))).code).toBe(0);
    expect(text()).toContain(`MEMORY_FILE_PATH: ${data}`);
    expect(envelope(await run(...grant.split(" ").slice(1))).message).toContain("keeps its data in");
    const kept = await run("call", "memory.create_entities", ENTITY);
    expect({ code: kept.code, err: kept.err }).toEqual({ code: 0, err: "" });
    expect((await run("why", "memory", "--text")).out).toContain("No action needed");
  });

  it("for a server that writes beside its data file, add, status and validate suggest the same", async () => {
    const { home, run } = setUp();
    const add = (path: string) =>
      run("add", "memory", "--env", `MEMORY_FILE_PATH=${path}`, "--", ...MEMORY.split(" "));
    const suggestions = async (path: string): Promise<string[]> => {
      writeFileSync(path, "");
      const all = [await add(path), await run("status", "--text"), await run("validate", "--text")];
      await run("remove", "memory");
      return all.map(({ out, err }) => `${out}${err}`.replaceAll(/\s+/g, " "));
    };
    for (const shown of await suggestions(join(home, "memory/m.jsonl")))
      expect(shown).toContain(`Grant it with: portolan grant memory --write ${join(home, "memory")} (or`);
    for (const shown of await suggestions(join(home, "m.jsonl")))
      expect(shown).toContain(`such as ${join(home, "server-memory/m.jsonl")}, and grant that folder.`);
  });

  it("for a server that replaces its data file, grant says before the first call that it needs the folder", async () => {
    const { home, run } = setUp();
    const folder = join(home, "memory");
    const path = join(folder, "m.jsonl");
    await run("add", "memory", "--env", `MEMORY_FILE_PATH=${path}`, "--", ...MEMORY.split(" "));
    const toFolder = `portolan grant memory --write ${folder}`;
    const remove = "remove MEMORY_FILE_PATH from the server at portolan.yaml:3";
    const isRefused = async (): Promise<void> => {
      const { message } = envelope(await run("grant", "memory", "--write", path));
      expect(message).toContain(`server-memory writes other files beside its data file`);
      expect(message).toContain(
        `Grant the folder: ${toFolder}. To give it a folder of its own, ${remove}, and run: portolan grant memory --data ${home}/server-memory`,
      );
    };
    await isRefused();
    writeFileSync(path, "");
    await isRefused();
    const data = envelope(await run("grant", "memory", "--data", join(home, "other")));
    expect(data.hint).toContain(`${toFolder}. To use another folder, ${remove}, and run this command again`);
    expect((await run(...toFolder.split(" ").slice(1))).code).toBe(0);
    expect((await run("call", "memory.create_entities", ENTITY)).code).toBe(0);
  });

  it("grant works although another server of the client's file has secrets", async () => {
    const { cwd, home, notes, text, run } = setUp();
    const [command = "", ...args] = FILES(notes).split(" ");
    const search = { command, args: [], env: { BRAVE_API_KEY: "BSA-4f9a8c7d6e5b4a39281706f5e4d3c2b1" } };
    const mcpServers = { files: { command, args }, plain: { command, args }, search };
    mkdirSync(join(home, ".cursor"));
    writeFileSync(join(home, ".cursor/mcp.json"), JSON.stringify({ mcpServers }));
    const refused = envelope(await run("grant", "search", "--net", "a.example"));
    expect(refused.message).toContain(
      "contains secrets in plain text, which Portolan does not copy to portolan.yaml: BRAVE_API_KEY (search)",
    );
    expect(existsSync(join(cwd, "portolan.yaml"))).toBe(false);
    const granted = await run("grant", "files", "--write", notes, "--text");
    expect(granted.code).toBe(0);
    expect(granted.err).toContain(
      "In this workspace, Portolan now uses only the servers of portolan.yaml, and no longer the servers of other MCP clients. search was not copied, because its config contains secrets in plain text, and is no longer available here. To add it: portolan import --write --secrets vault",
    );
    // Later errors name the file that has the server.
    const there =
      "search is in ~/.cursor/mcp.json, which this workspace does not use, because it has config files of its own. To copy the servers of MCP clients into this workspace: portolan import --write --secrets vault.";
    for (const words of [
      ["call", "search.find"],
      ["list", "search"],
      ["why", "search"],
      ["grant", "search", "--net", "a.example"],
    ])
      expect(envelope(await run(...words)).hint).toContain(there);
    expect(envelope(await run("list", "nothing")).hint).not.toContain("mcp.json");
    expect(text()).toContain("write: [~/notes]");
    expect(text()).toContain("plain:");
    expect(text()).not.toContain("BRAVE_API_KEY");
  });

  it("grant and revoke name the workspace of the clients, if this is another folder", async () => {
    const { home, notes, run } = setUp();
    const gateway = join(home, "gw");
    mkdirSync(gateway);
    writeFileSync(join(gateway, "portolan.yaml"), "servers:\n  other: { command: node }\n");
    writeFileSync(
      join(home, ".claude.json"),
      '{ "mcpServers": { "fs": { "command": "node", "args": ["x"] } } }',
    );
    expect((await run("connect", "claude-code", "-w", gateway, "--yes")).code).toBe(0);
    const note = "Your clients use the workspace ~/gw. To see its servers: portolan status -w ~/gw.";
    expect(envelope(await run("revoke", "fs", "--read", notes)).hint).toContain(note);
    expect((await run("grant", "fs", "--read", notes, "-w", join(home, "work"), "--dry-run")).err).toBe("");
    const granted = await run("grant", "fs", "--read", notes, "--text");
    expect(granted).toMatchObject({ code: 0, err: `${note}\n` });
  });

  it("grant copies a server of another client's file; for an mcpfile it says how commands are sandboxed", async () => {
    const { cwd, notes, text, run } = setUp();
    const [command = "", ...args] = FILES(notes).split(" ");
    writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { files: { command, args } } }));
    const granted = await run("grant", "files", "--write", notes, "--text");
    expect(granted.out).toMatch(/files is declared in \.mcp\.json.*\n.*\n[^]*\+ +write: \[~\/notes\]/);
    expect(text()).toContain("write: [~/notes]");
    const own = await run("grant", "files", "--read", cwd, "--text");
    expect(own.out).toContain("Granted to files: read ~/work.\n");
    expect((await run("init", "mcpfile")).code).toBe(0);
    expect((await run("validate", "mcpfile.yaml", "--text")).out).toContain("commands run in a sandbox");
    const file = join(cwd, "mcpfile.yaml");
    const whole = readFileSync(file, "utf8");
    expect((await run("grant", "my-tools", "-w", "mcpfile.yaml", "--net", "example.com")).code).toBe(0);
    expect(readFileSync(file, "utf8")).toContain("network: [example.com]");
    writeFileSync(file, whole.replace(/^sandbox:\n(?: .*\n)*/m, ""));
    expect((await run("validate", "mcpfile.yaml", "--text")).out).toContain("with all your rights");
    expect(envelope(await run("grant", "my-tools", "-w", "mcpfile.yaml", "--read", ".")).message).toContain(
      "run with all your rights",
    );
  });
});
