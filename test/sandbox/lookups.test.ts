// A server without network access, the default: its name look-ups are denied and reported.

import { existsSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openWorkspaceWith } from "../../src/hub/index.ts";
import type { HubEvent, Workspace } from "../../src/index.ts";
import { prepare } from "../../src/launch/index.ts";
import { runProgram } from "../../src/process/run.ts";
import type { Denied, SandboxConfig } from "../../src/model/index.ts";
import { needs } from "../helpers/needs.ts";
import { BACKENDS, type TestedBackend } from "../helpers/sandbox.ts";

const SERVER = fileURLToPath(new URL("../fixtures/network-server.mjs", import.meta.url));

/** The working folder of the sandbox is there too if this checkout is below /tmp. */
const ownFolder = SERVER.startsWith("/tmp/") ? SERVER.split("/").slice(2, 3) : [];

/** The backend that the tests are about. */
let backend: TestedBackend = "bubblewrap";

interface Ran {
  readonly out: string;
  readonly denied: readonly Denied[];
}

async function run(
  [command = "", ...args]: readonly string[],
  sandbox: SandboxConfig = {},
  timeoutMs = 20_000,
): Promise<Ran> {
  const denied: Denied[] = [];
  const { spawnable } = await prepare({
    server: "s",
    endpoint: { command, args },
    settings: { sandbox: { mode: "enforce", backend, ...sandbox } },
    onLaunch: (news) => {
      if (news.type === "denied") denied.push(news);
    },
  });
  const { stdout, stderr } = await runProgram(spawnable, { timeoutMs });
  return { out: `${stdout}${stderr}`.trim(), denied };
}

const shell = (script: string, sandbox?: SandboxConfig): Promise<Ran> => run(["sh", "-c", script], sandbox);
const node = (script: string, sandbox?: SandboxConfig): Promise<Ran> =>
  run([process.execPath, "-e", script], sandbox);
const hosts = ({ denied }: Ran): string[] => denied.map(({ host }) => host);

async function open(): Promise<{ workspace: Workspace; events: HubEvent[] }> {
  const events: HubEvent[] = [];
  const workspace = await openWorkspaceWith(
    {
      servers: [
        {
          alias: "one",
          origin: { file: "/portolan.yaml", line: 1, column: 1, format: "workspace" },
          enabled: true,
          endpoint: { transport: "stdio", command: process.execPath, args: [SERVER] },
          launch: { sandbox: { mode: "enforce", backend }, cwdImplied: true },
        },
      ],
    },
    { snapshots: false, onEvent: (event) => events.push(event), onDiagnostic: () => {} },
  );
  onTestFinished(() => workspace.close());
  return { workspace, events };
}

for (const name of BACKENDS)
  describe(`with ${name}, a server without network access`, needs(name, "the dynamic linker's cache"), () => {
    beforeAll(() => {
      backend = name;
    });

    it.each(["fetch", "http", "curl", "python"])(
      "is reported when it looks up a host name with %s",
      needs("curl", "python3"),
      async (way) => {
        const { workspace, events } = await open();
        await workspace.callTool("one.reach", { way, url: `http://${way}.example/` });
        // The event comes before the server gets its answer.
        expect(events.filter(({ type }) => type === "mcp.sandbox_denied")).toMatchObject([
          {
            ...{ server: "one", host: `${way}.example`, port: undefined },
            reason: "the server's sandbox grants no host",
          },
        ]);
      },
    );

    it("can resolve localhost, its own host name and its user accounts", async () => {
      const script = `const dns = require("node:dns");
      dns.lookup("localhost", { all: true }, (e, all) => console.log("localhost", all?.map((a) => a.address).sort().join()));
      dns.lookup(require("node:os").hostname(), (e, address) => console.log("own", e?.code ?? address));
      dns.lookupService("127.0.0.1", 80, (e, name) => console.log("name", e?.code ?? name));
      dns.lookup("127.0.0.1", (e, address) => console.log("number", e?.code ?? address));
      console.log("user", require("node:os").userInfo().username);`;
      const ran = await node(script);
      expect(ran.out.split("\n").sort()).toEqual([
        ...["localhost 127.0.0.1,::1", "name localhost", "number 127.0.0.1", "own 127.0.0.1", "user user"],
      ]);
      expect(hosts(ran)).toEqual([]);
      const programs = await shell(
        "id -un; id -u nobody; getent passwd user | cut -d: -f1; getent group user | cut -d: -f1; getent passwd none; echo $?; getent hosts localhost | tr -s ' '; getent ahosts localhost | wc -l; ls -A /tmp",
      );
      expect(programs.out.split("\n")).toEqual([
        "user",
        "65534",
        "user",
        "user",
        "2",
        "::1 localhost",
        "6",
        ...["home", ...ownFolder].toSorted(),
      ]);
      expect(hosts(programs)).toEqual([]);
    });

    it("can resolve them with Python too; other host names are reported", needs("python3"), async () => {
      const script = `import os, pwd, socket
print(pwd.getpwuid(os.getuid()).pw_name, socket.gethostbyname("localhost"), socket.gethostbyname(socket.gethostname()), socket.getfqdn())
print(sorted({a[4][0] for a in socket.getaddrinfo("localhost", 80)}))
for name in ["a.example", "b.example"]:
  try: socket.getaddrinfo(name, 443)
  except socket.gaierror as e: print(e.errno == socket.EAI_NONAME)
try: socket.gethostbyname("c.example")
except socket.gaierror as e: print("no")`;
      const ran = await run(["/usr/bin/python3", "-c", script]);
      expect(ran.out.split("\n")).toEqual([
        ...["user 127.0.0.1 127.0.0.1 localhost", "['127.0.0.1', '::1']", "True", "True", "no"],
      ]);
      expect(hosts(ran)).toEqual(["a.example", "b.example", "c.example"]);
    });

    if (name === "bubblewrap")
      it("is also reported with few allowed programs; a look-up only fails if it can read system folders", async () => {
        const lookup = `require("node:dns").lookup("a.example", (e) => console.log(e.code))`;
        for (const exec of [{ spawn: false }, { allow: [] }])
          expect(hosts(await node(lookup, { exec }))).toEqual(["a.example"]);
        for (const read of ["/etc", "/var", "/run", "/"].filter((path) => existsSync(path))) {
          const ran = await node(lookup, { fs: { read: [read] } });
          expect([read, ran.out]).toEqual([read, expect.stringMatching(/^(?:ENOTFOUND|EAI_AGAIN)$/)]);
        }
      });

    if (name === "bubblewrap")
      it("can make only a limited number of look-ups per second", async () => {
        const script = `const net = require("node:net"); let [left, done] = [10000, { answered: 0, closed: 0 }];
      const key = (n) => { const k = Buffer.from("h" + n + ".example\\0"); const h = Buffer.alloc(12); h.writeInt32LE(2, 0); h.writeInt32LE(14, 4); h.writeInt32LE(k.length, 8); return Buffer.concat([h, k]); };
      const next = () => { if (left-- <= 0) return; let got = 0; const s = net.connect("/var/run/nscd/socket");
        s.on("error", () => {}).on("data", (d) => got += d.length).on("close", () => { done[got === 24 ? "answered" : "closed"] += 1; next(); if (done.answered + done.closed === 10000) console.log(JSON.stringify(done)); }); s.write(key(left)); };
      for (let i = 0; i < 40; i += 1) next();`;
        const begun = performance.now();
        const ran = await run([process.execPath, "-e", script], {}, 110_000);
        const seconds = (performance.now() - begun) / 1_000;
        const { answered, closed } = JSON.parse(ran.out) as { answered: number; closed: number };
        expect(answered + closed).toBe(10_000);
        expect(answered).toBeGreaterThan(100);
        // The limit allows a burst, and then a rate per second.
        expect(answered).toBeLessThanOrEqual(2_000 + 200 * seconds);
        expect(ran.denied.length).toBeLessThanOrEqual(answered);
      });

    const base = process.env.XDG_RUNTIME_DIR ?? tmpdir();
    const folder = join(base, `portolan-egress-${process.getuid?.()}`);
    const own = (): string[] => readdirSync(folder).filter((name) => name.startsWith(`${process.pid}.`));

    it("does not see the sockets with which Portolan answers look-ups", async () => {
      const ran = await shell(`ls -A ${folder}; getent hosts a.example`, {
        fs: { read: [base] },
      });
      expect(ran.out).toBe("");
      expect(hosts(ran)).toEqual(["a.example"]);
    });

    it("leaves no sockets behind", async () => {
      await shell("getent hosts a.example; true");
      await expect.poll(own).toEqual([]);
    });
  });
