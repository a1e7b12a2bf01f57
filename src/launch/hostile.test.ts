// A server that tries to get more than its grants: by files that it may write, by files around it, and by the
// spelling of paths. In real sandboxes, as root and as an ordinary user.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { needs } from "../../test/helpers/needs.ts";
import { BACKENDS_AND_USERS, isRoot, startedAs, type TestedBackend } from "../../test/helpers/sandbox.ts";
import type { SandboxConfig } from "../model/index.ts";
import { runProgram } from "../process/index.ts";
import { planLaunch } from "./launch.ts";
import { type LaunchRequest, prepare } from "./prepare.ts";

let folder = "";
/** The backend that the tests are about. */
let backend: TestedBackend = "bubblewrap";
const at = (name: string): string => join(folder, name);

function createFile(name: string, content = `content of ${name}\n`): string {
  mkdirSync(dirname(at(name)), { recursive: true });
  for (let above = dirname(at(name)); above !== folder; above = dirname(above)) chmodSync(above, 0o777);
  writeFileSync(at(name), content);
  chmodSync(at(name), 0o777);
  return at(name);
}

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-hostile-")));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.unstubAllEnvs());

interface Wish extends Partial<LaunchRequest> {
  readonly as?: string;
  readonly sandbox?: SandboxConfig;
  readonly cwd?: string;
}

async function run(command: readonly string[], { as, sandbox, cwd, ...more }: Wish = {}): Promise<string> {
  const [name = "", ...args] = command;
  const { plan, spawnable } = await prepare({
    server: "s",
    endpoint: { command: name, args, cwd },
    ...more,
    settings: { ...more.settings, sandbox: { mode: "enforce", backend, ...sandbox } },
  });
  // Without a sandbox, the attack would change this machine.
  if (plan.sandbox.backend !== backend) throw new Error("there is no sandbox");
  const { stdout, stderr } = await runProgram(startedAs(spawnable, as), { timeoutMs: 20_000 });
  return (stdout + stderr).trim();
}

const shell = (script: string, request: Wish = {}): Promise<string> => run(["sh", "-c", script], request);

for (const [name, as] of BACKENDS_AND_USERS)
  describe(`with ${name}, a hostile server of ${as}`, needs(name, "an ordinary user"), () => {
    beforeAll(() => {
      backend = name;
    });
    afterAll(() => {
      backend = "bubblewrap";
    });

    test("cannot move the parent folders of a hidden or read-only path", async () => {
      rmSync(at("w"), { recursive: true, force: true });
      createFile("w/a/b/secret/key");
      createFile("w/a/c/fixed/file");
      const sandbox = { fs: { write: [at("w")], deny: [at("w/a/b/secret")], read: [at("w/a/c/fixed")] } };
      const moves = [
        ...[
          ["w/a", "w/z"],
          ["w/a/b", "w/a/z"],
          ["w/a/b/secret", "w/a/b/z"],
          ["w/a/b/secret", "w/z"],
        ],
        ...[
          ["w/a/c", "w/a/z"],
          ["w/a/c/fixed", "w/a/c/z"],
        ],
      ].map((move) => move.map((name) => at(name)));
      const script = `const fs = require("node:fs");
      for (const [from, to] of ${JSON.stringify(moves)}) try { fs.renameSync(from, to); console.log("moved", from); } catch (e) { console.log(e.code); }
      // Some versions of Node say that it failed, others do not.
      try { fs.rmSync("${at("w/a/b")}", { recursive: true }); } catch {}
      fs.writeFileSync("${at("w/a/b/new")}", "");`;
      const output = await run(["node", "-e", script], { as, sandbox });
      expect(output.split("\n")).toEqual(["EBUSY", "EBUSY", "EBUSY", "EXDEV", "EBUSY", "EBUSY"]);
      for (const name of ["w/a/b/secret/key", "w/a/c/fixed/file", "w/a/b/new"])
        expect(existsSync(at(name))).toBe(true);
      const next = await shell(
        `find ${folder} -name key; cat ${at("w/a/c/fixed/file")}; echo x > ${at("w/a/c/fixed/file")}`,
        {
          ...{ as, sandbox },
        },
      );
      expect(next).toContain("content of w/a/c/fixed/file");
      expect(next).toContain("Read-only");
      expect(next).not.toContain("/key");
    });

    test("cannot connect to Unix sockets in granted folders", async () => {
      const deep = "d1/d2/d3/d4/d5/d6/d7/d8/d9/node_modules/x";
      const places = ["socks/near", "socks/.git/fsmonitor", `socks/${deep}/far`, "socks/relative"];
      for (const place of places) await listen(place);
      const connect = (name: string): string =>
        `await new Promise((done) => require("node:net").connect("${at(name)}").on("data", (d) => done(console.log("${name} " + d))).on("error", (e) => done(console.log("${name} " + e.code))))`;
      const script = `(async () => { ${places.map(connect).join("; ")} })()`;
      for (const sandbox of [{ fs: { read: [at("socks")] } }, { fs: { write: [at("socks")] } }]) {
        const output = await run(["node", "-e", script], { as, sandbox });
        expect(output.split("\n").map((line) => line.replace(/^\S+ /, ""))).toEqual(
          places.map(() => "ECONNREFUSED"),
        );
      }
      const meant = await run(["node", "-e", script], {
        ...{ as, sandbox: { fs: { read: [at("socks"), at("socks/near")] } } },
      });
      expect(meant).toContain("socks/near reached");
      expect(meant.match(/reached/g)).toHaveLength(1);
      // The same applies to the folder of its script, which needs no grant.
      const own = await run(
        ["node", createFile("socks/server.js", connect("socks/near").replace("await ", ""))],
        {
          as,
        },
      );
      expect(own).toBe("socks/near ECONNREFUSED");
    });

    test("cannot connect to a socket with a relative name in its own project folder", async () => {
      createFile("project/package.json", "{}");
      const server = createFile(
        "project/server.cjs",
        `require("node:net").connect(__dirname + "/" + process.argv[2])
        .on("data", (data) => console.log(String(data))).on("error", ({ code }) => console.log(code))`,
      );
      for (const [name, goesTo] of [
        ["dev.sock", "."],
        ["node_modules/.cache/gone.sock", "/"],
      ] as const) {
        createFile("project/node_modules/.cache/x");
        const listener = `require("node:net").createServer((socket) => socket.on("error", () => {}).end("reached"))
        .listen(${JSON.stringify(name)}, () => {
          require("node:fs").chmodSync(${JSON.stringify(name)}, 0o777);
          process.chdir(${JSON.stringify(goesTo)});
          console.log("listening");
        })`;
        const other = spawn(process.execPath, ["-e", listener], { cwd: at("project"), stdio: "pipe" });
        onTestFinished(() => void other.kill("SIGKILL"));
        await once(other.stdout, "data");
        expect(spawnSync(process.execPath, [server, name], { encoding: "utf8" }).stdout).toBe("reached\n");
        expect([name, await run([process.execPath, server, name], { as })]).toEqual([
          name,
          expect.stringMatching(/^(?:ECONNREFUSED|EACCES|ENOTSOCK)$/),
        ]);
        other.kill("SIGKILL");
        await once(other, "close");
        rmSync(at(`project/${name}`), { force: true });
      }
    });

    test("has a limited /dev/shm, and a read-only /dev", async () => {
      const sandbox = { limits: { memoryBytes: 300 * 1024 * 1024 } };
      const script =
        "df -k --output=size /dev/shm | tail -1; touch /dev/x; touch /dev/shm/x && echo shared; echo > /dev/null && echo null";
      for (const network of [undefined, ["example.com"]]) {
        if (network !== undefined && isRoot && as !== "root") continue;
        const output = await shell(script, { as, sandbox: { ...sandbox, network } });
        expect(output.split("\n").map((line) => line.trim())).toEqual([
          ...["307200", "shared", "null", "touch: cannot touch '/dev/x': Read-only file system"],
        ]);
      }
    });

    // With unshare, the programs that create a sandbox stay in it.
    if (name !== "unshare")
      test("finds no folders of programs among the libraries if exec.allow is set", async () => {
        const script = `const fs = require("node:fs"); const found = [];
      const look = (folder, deep) => { for (const e of fs.readdirSync(folder, { withFileTypes: true })) {
        const path = folder + "/" + e.name;
        if (e.isDirectory() && deep < 3) { if (/^s?bin$/.test(e.name) || /(git-core|openssh|systemd)$/.test(path)) found.push(...fs.readdirSync(path)); else if (!/python|perl|node_modules|-linux-/.test(e.name)) look(path, deep + 1); } } };
      look("/usr/lib", 0); console.log(found.length, fs.existsSync("/usr/libexec"), fs.existsSync("/usr/games"));`;
        expect(await run(["node", "-e", script], { as, sandbox: { exec: { allow: [] } } })).toBe(
          "0 false false",
        );
        const git =
          "cd /tmp && git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git log --oneline | wc -l";
        expect(await shell(git, { as, sandbox: { exec: { allow: ["git", "wc"] } } })).toBe("1");
      });

    test("starts by a path that contains a symbolic link", async () => {
      createFile("real/app/server.js", "console.log('started', require('./part.js'))");
      createFile("real/app/part.js", "module.exports = 'whole'");
      if (!existsSync(at("linked"))) symlinkSync("real", at("linked"));
      for (const sandbox of [{}, { fs: { read: ["/"] } }]) {
        expect(await run(["node", at("linked/app/server.js")], { as, sandbox })).toBe("started whole");
        for (const cwdImplied of [true, false]) {
          const request = { as, cwd: at("linked/app"), sandbox, settings: { cwdImplied } };
          expect(await run(["node", "server.js"], request)).toBe("started whole");
        }
      }
    });
  });

describe("the implied grants of a server", needs("bubblewrap"), () => {
  test.each(["written", "real"])(
    "do not contain the whole HOME if HOME is a symbolic link, by its %s path",
    async (spelling) => {
      createFile("homes/user/server.js", "console.log(require('node:fs').readdirSync(__dirname).join(' '))");
      createFile("homes/user/.ssh/id");
      mkdirSync(at("links"), { recursive: true });
      if (!existsSync(at("links/home"))) symlinkSync(at("homes/user"), at("links/home"));
      vi.stubEnv("HOME", at("links/home"));
      const home = spelling === "real" ? at("homes/user") : at("links/home");
      expect(await run(["node", join(home, "server.js")])).toBe("server.js");
      expect(await shell("ls -A", { cwd: home })).toBe("");
      if (!existsSync(at("links/to-home"))) symlinkSync(at("homes/user"), at("links/to-home"));
      expect(await shell("ls -A .", { cwd: at("links/to-home") })).toBe("");
      // The granted part is visible under both paths.
      createFile("homes/user/notes/a");
      const read = { fs: { read: ["~/notes"] } };
      expect(await shell(`cat ~/notes/a ${at("links/home/notes/a")}`, { sandbox: read })).toBe(
        "content of homes/user/notes/a\ncontent of homes/user/notes/a",
      );
    },
  );

  test("cannot be extended by files that the server writes before its next start", async () => {
    createFile("victim/bin/run", "#!/bin/sh\n");
    createFile("victim/package.json", "{}");
    createFile("victim/secret.js", "");
    const project = at("project");
    mkdirSync(project, { recursive: true });
    const list = `ls ${at("victim")} 2>&1; cat ${at("victim/secret.js")} && echo read`;
    const options = { roots: [project], cwd: project };
    for (const line of [`/usr/bin/env -S -u X ${at("victim/bin/run")}`, at("victim/bin/run")]) {
      createFile("project/server", `#!${line}\n`);
      const plan = await planLaunch(request([at("project/server")], options));
      expect(plan.sandbox.policy.mounts.filter(({ path }) => path.startsWith(at("victim")))).toEqual([]);
    }
    rmSync(at("project/server.js"), { force: true });
    symlinkSync(at("victim/secret.js"), at("project/server.js"));
    for (const name of ["server.js", "./server", at("project/server.js")]) {
      const plan = await planLaunch(request(["node", name, at("victim/bin/run")], options));
      expect(plan.sandbox.policy.mounts.filter(({ path }) => path.startsWith(at("victim")))).toEqual([]);
    }
    expect(await run(["sh", "-c", list], options)).not.toContain("read\n");
    const allow = { exec: { allow: [] } };
    createFile("project/tool", `#!${at("victim/bin/run")}\n`);
    const plan = await planLaunch(request([at("project/tool")], { ...options, sandbox: allow }));
    expect(plan.sandbox.policy.mounts.filter(({ path }) => path.startsWith(at("victim")))).toEqual([]);
  });
});

function request([command = "", ...args]: readonly string[], { sandbox, cwd, ...more }: Wish): LaunchRequest {
  const settings = { sandbox: { mode: "enforce" as const, ...sandbox } };
  return { server: "s", endpoint: { command, args, cwd }, settings, ...more };
}

async function listen(name: string): Promise<void> {
  mkdirSync(dirname(at(name)), { recursive: true });
  rmSync(at(name), { force: true });
  const server: Server = createServer((socket) => socket.on("error", () => {}).end("reached"));
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(at(name), resolve));
  chmodSync(at(name), 0o777);
}
