// Programs in a real sandbox reach the hosts of their allow-list with any client, and no others; needs bubblewrap.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { needs } from "../../../test/helpers/needs.ts";
import type { Denied } from "../../model/index.ts";
import { type Egress, openEgress } from "./egress.ts";

let [http, https] = [0, 0];
let folder = "";
let egress: Egress | undefined;
let denied: Denied[] = [];
const servers: Server[] = [];

describe("a sandbox with a network list", needs("bubblewrap", "openssl"), () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "portolan-egress-test-"));
    makeCertificate(folder);
    const plain = createHttpServer((request, response) => response.end(`plain ${request.headers.host}`));
    const secure = createHttpsServer(
      { key: readFileSync(join(folder, "key.pem")), cert: readFileSync(join(folder, "cert.pem")) },
      (request, response) => response.end(`secure ${(request.socket as { servername?: string }).servername}`),
    );
    [http, https] = [await listen(plain), await listen(secure)];
  });

  afterAll(() => {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  beforeEach(async () => {
    egress = await open([
      `allowed.test:${http}`,
      `*.wild.test:${http}`,
      `allowed.test:${https}`,
      `inside.test:8080`,
      "allowed.test",
      `127.0.0.2:${http}`,
      `127.0.0.2:${https}`,
    ]);
  });

  afterEach(() => egress?.close());

  test("fetch and http of Node.js reach allowed names, also by wildcards", async () => {
    const script = `
      const http = require("node:http");
      (async () => {
        const one = await (await fetch("http://allowed.test:${http}/")).text();
        const two = await (await fetch("http://a.b.wild.test:${http}/")).text();
        const three = await new Promise((resolve, reject) => http.get("http://allowed.test:${http}/", (r) => {
          let text = ""; r.on("data", (d) => (text += d)).on("end", () => resolve(text));
        }).on("error", reject));
        console.log([one, two, three].join("|"));
      })();`;
    const { stdout, stderr } = await run(process.execPath, ["-e", script]);
    expect(stderr).toBe("");
    expect(stdout).toBe(
      `plain allowed.test:${http}|plain a.b.wild.test:${http}|plain allowed.test:${http}\n`,
    );
    expect(denied).toEqual([]);
  });

  test("TLS connections are end to end", async () => {
    const script = `
      const https = require("node:https");
      https.get("https://allowed.test:${https}/", (r) => {
        r.on("data", (d) => console.log(String(d), r.socket.authorized, r.socket.getPeerCertificate().subject.CN));
      });`;
    const { stdout, stderr } = await run(process.execPath, ["-e", script], {
      NODE_EXTRA_CA_CERTS: join(folder, "cert.pem"),
    });
    expect(stderr).toBe("");
    expect(stdout).toBe("secure allowed.test true allowed.test\n");
  });

  test("curl reaches allowed names", needs("curl"), async () => {
    const { stdout } = await run("/usr/bin/curl", [
      ...["-sS", "--cacert", join(folder, "cert.pem")],
      ...[`https://allowed.test:${https}/`, `http://x.wild.test:${http}/`],
    ]);
    expect(stdout).toBe(`secure allowed.testplain x.wild.test:${http}`);
  });

  test("Python reaches allowed names", needs("python3"), async () => {
    const script = `import urllib.request as u; print(u.urlopen("http://allowed.test:${http}/").read().decode())`;
    const { stdout } = await run("/usr/bin/python3", ["-c", script]);
    expect(stdout).toBe(`plain allowed.test:${http}\n`);
  });

  test("a name outside of the list is not found, and its lookup is reported", async () => {
    const { stdout } = await run(process.execPath, ["-e", tries(`{ host: "denied.test", port: ${http} }`)]);
    expect(stdout).toBe("ENOTFOUND\n");
    expect(denied).toEqual([
      {
        server: "sandboxed",
        host: "denied.test",
        port: 0,
        reason: "denied.test is not in the server's network list",
      },
    ]);
  });

  test("a listed name with a private address is refused, and the reason names the rule that allows it", async () => {
    const { stdout } = await run(process.execPath, ["-e", tries(`{ host: "inside.test", port: 8080 }`)]);
    expect(stdout).toBe("ECONNRESET\n");
    expect(denied).toMatchObject([{ host: "inside.test", port: 8080 }]);
    expect(denied[0]?.reason).toContain("also list 10.0.0.7:8080");
  });

  test.each(["169.254.169.254", "93.184.215.14", "127.0.0.1", "::1", "2606:4700::1"])(
    "the IP address %s is refused and reported",
    needs("iproute2 and setpriv"),
    async (host) => {
      const { stdout } = await run(process.execPath, ["-e", tries(`{ host: "${host}", port: ${http} }`)]);
      expect(stdout).toBe("ECONNRESET\n");
      expect(denied).toMatchObject([{ host, port: http }]);
    },
  );

  test("a listed IP address is reachable", async () => {
    const { stdout } = await run(process.execPath, [
      "-e",
      `fetch("http://127.0.0.2:${http}/").then((r) => r.text()).then(console.log)`,
    ]);
    expect(stdout).toBe(`plain 127.0.0.2:${http}\n`);
  });

  test("IP addresses are not reachable if iproute2 or setpriv is missing", async () => {
    egress?.close();
    egress = await open([`allowed.test:${http}`, `127.0.0.2:${http}`], false);
    expect(egress.caps).not.toContain("CAP_NET_ADMIN");
    const { stdout } = await run(process.execPath, [
      "-e",
      `${tries(`{ host: "169.254.169.254", port: ${http} }`)}
       fetch("http://allowed.test:${http}/").then((r) => r.text()).then(console.log)`,
    ]);
    expect(stdout.split("\n").toSorted()).toEqual(["", "ENETUNREACH", `plain allowed.test:${http}`]);
  });

  test(
    "the name server answers UDP and TCP queries and ignores invalid packets",
    needs("iproute2 and setpriv"),
    async () => {
      const script = `
      const dns = require("node:dns").promises, dgram = require("node:dgram"), net = require("node:net");
      const code = (e) => e.code;
      (async () => {
        const junk = dgram.createSocket("udp4");
        for (let n = 0; n < 200; n++) await new Promise((r) => junk.send(require("node:crypto").randomBytes(n), 53, "127.0.0.1", r));
        junk.close();
        const query = Buffer.from("000701000001000000000000" + "07616c6c6f7765640474657374" + "0000010001", "hex");
        const overTcp = await new Promise((resolve) => {
          const socket = net.connect(53, "127.0.0.1").on("data", (d) => (resolve(d), socket.destroy()));
          socket.write(Buffer.concat([Buffer.from([0, query.length]), query.subarray(0, 20)]));
          setTimeout(() => socket.write(query.subarray(20)), 20);
        });
        console.log(JSON.stringify([
          await dns.resolve4("Allowed.TEST"), await dns.resolve4("a.wild.test"), await dns.resolve4("allowed.test"),
          await dns.resolve6("allowed.test").catch(code), await dns.resolveMx("allowed.test").catch(code),
          await dns.resolveTxt("secret.denied.test").catch(code), await dns.reverse("127.64.0.1").catch(code),
          await dns.resolve4(".").catch(code), await dns.resolve4("gone.wild.test").catch(code),
          [...overTcp.subarray(-4)].join("."),
        ]));
      })();`;
      // Without a route for every address, names resolve to placeholder addresses.
      for (const [bareAddresses, first, second] of [
        [true, "127.0.0.2", "127.0.0.2"],
        [false, "127.64.0.1", "127.64.0.2"],
      ] as const) {
        egress?.close();
        egress = await open([`allowed.test:${http}`, `*.wild.test:${http}`], bareAddresses);
        const { stdout } = await run(process.execPath, ["-e", script]);
        const missing = ["ENODATA", "ENODATA", "ENOTFOUND", "ENOTFOUND", "ENOTFOUND", "ENOTFOUND"];
        expect(JSON.parse(stdout)).toEqual([[first], [second], [first], ...missing, first]);
        expect(denied.filter(({ host }) => host === "secret.denied.test")).toHaveLength(1);
      }
    },
  );

  test("names resolve to their real addresses, IPv4 and IPv6", needs("iproute2 and setpriv"), async () => {
    egress?.close();
    egress = await open(["public.test", `*:${http}`]);
    const script = `
      const dns = require("node:dns").promises;
      const { connect } = require("node:net");
      const reach = (host) => new Promise((resolve) => {
        const socket = connect(${http}, host, () => resolve(socket.remoteAddress)).on("error", (e) => resolve(e.code));
      });
      (async () => {
        const found = await dns.lookup("public.test", { all: true });
        const raw = [await dns.resolve4("public.test"), await dns.resolve6("public.test")];
        console.log(JSON.stringify([found.map(({ address }) => address).sort(), raw, await Promise.all(raw.flat().map(reach))]));
        process.exit();
      })();`;
    const { stdout } = await run(process.execPath, ["-e", script]);
    const [four, six] = ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"];
    expect(JSON.parse(stdout)).toEqual([
      [six, four],
      [[four], [six]],
      [four, six],
    ]);
    expect(denied).toEqual([]);
  });

  test(
    "if the routes cannot be created, names resolve to placeholder addresses",
    needs("iproute2 and setpriv"),
    async () => {
      egress?.close();
      const opened = await open([`allowed.test:${http}`, `127.0.0.2:${http}`]);
      const settings = JSON.parse(opened.settings) as { setup: object };
      const failing = { ...settings, setup: { ...settings.setup, file: "/usr/bin/false" } };
      egress = { ...opened, settings: JSON.stringify(failing) };
      const script = `
      const { promises: dns } = require("node:dns");
      dns.resolve4("allowed.test").then(console.log);
      fetch("http://allowed.test:${http}/").then((r) => r.text()).then(console.log);`;
      const { stdout } = await run(process.execPath, ["-e", script]);
      expect(stdout.trim().split("\n").toSorted()).toEqual([
        "[ '127.64.0.1' ]",
        `plain allowed.test:${http}`,
      ]);
    },
  );

  test("localhost is the host machine if it is listed", async () => {
    egress?.close();
    egress = await open([`localhost:${http}`]);
    const script = `fetch("http://localhost:${http}/").then((r) => r.text()).then(console.log)`;
    const { stdout } = await run(process.execPath, ["-e", script]);
    expect(stdout).toBe(`plain localhost:${http}\n`);
  });

  test("a server can listen on its own ports in the sandbox", async () => {
    const script = `
      require("node:http").createServer((q, s) => s.end("own")).listen(${http === 9999 ? 9998 : 9999}, "127.0.0.1", function () {
        fetch("http://127.0.0.1:" + this.address().port).then((r) => r.text()).then((t) => { console.log(t); process.exit(); });
      });`;
    expect((await run(process.execPath, ["-e", script])).stdout).toBe("own\n");
  });

  test("a program that imitates the relay is refused", async () => {
    const script = `
      const net = require("node:net");
      const socket = net.connect(${JSON.stringify(egress?.socket.inside)});
      socket.write(JSON.stringify({ token: "guessed", host: "allowed.test", port: ${http} }) + "\\n");
      socket.on("data", (d) => console.log(String(d)));`;
    expect((await run(process.execPath, ["-e", script])).stdout).toBe("-\n");
    expect(denied).toMatchObject([{ host: "", reason: "an unknown program connected to the egress proxy" }]);
  });

  test("no other program can find the proxy after the start, and nothing in the sandbox contains the token", async () => {
    const { outside = "", inside = "" } = egress?.socket ?? {};
    const { token } = JSON.parse(egress?.settings ?? "") as { token: string };
    expect([existsSync(outside), token.length]).toEqual([true, 43]);
    const script = `
      const fs = require("node:fs");
      const shown = fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).flatMap((pid) =>
        [...["cmdline", "environ", "mountinfo"], ...fs.readdirSync("/proc/" + pid + "/fd").map((fd) => "fd/" + fd)].map((file) => {
          try { return fs.statSync("/proc/" + pid + "/" + file).isFile() ? fs.readFileSync("/proc/" + pid + "/" + file, "latin1") : ""; } catch { return ""; }
        }));
      console.log(JSON.stringify([fs.statSync("${inside}").isSocket(), fs.existsSync("${outside}"), shown.join("\\n")]));
      process.stdin.resume();`;
    const child = start(process.execPath, ["-e", script]);
    const [data] = (await once(child.stdout, "data")) as [Buffer];
    expect(existsSync(dirname(outside))).toBe(false);
    child.stdin.end();
    await once(child, "close");
    const [isSocket, isOutside, shown] = JSON.parse(data.toString()) as [boolean, boolean, string];
    expect([isSocket, isOutside, shown.includes("relay.cjs"), shown.includes(token)]).toEqual([
      ...[true, false, true, false],
    ]);
  });

  test.each([true, false])(
    "the server gets its environment, its arguments and no capabilities (bare addresses: %s)",
    needs("iproute2 and setpriv"),
    async (bareAddresses) => {
      egress?.close();
      egress = await open([], bareAddresses);
      const script = `
      const caps = require("node:fs").readFileSync("/proc/self/status", "latin1").match(/Cap(Eff|Bnd|Amb|Inh):\\s0+\\n/g);
      console.log(JSON.stringify([process.env.NODE_OPTIONS, process.env.PLAIN, process.argv.slice(1), caps?.length]));`;
      const { stdout } = await run(process.execPath, ["-e", script, "--", "a b", "-x", ""], {
        NODE_OPTIONS: "--no-warnings",
        PLAIN: "yes",
      });
      expect(JSON.parse(stdout)).toEqual(["--no-warnings", "yes", ["a b", "-x", ""], 4]);
    },
  );

  test("exit codes, signals and missing programs are reported as without a sandbox", async () => {
    // One egress proxy serves one start: a second relay cannot connect to it.
    const runOnce = async (file: string, args: string[]): ReturnType<typeof run> => {
      egress?.close();
      egress = await open([]);
      return run(file, args);
    };
    expect((await runOnce(process.execPath, ["-e", "process.exit(7)"])).code).toBe(7);
    expect((await runOnce(process.execPath, ["-e", "process.kill(process.pid, 'SIGKILL')"])).code).toBe(137);
    const missing = await runOnce("/usr/bin/no-such-program", []);
    expect(missing.code).toBe(127);
    expect(missing.stderr).toContain("no-such-program");
  });

  test("no connection is possible after the proxy closes", async () => {
    const script = `
      const again = () => new Promise((resolve) => require("node:http")
        .get("http://allowed.test:${http}/", { agent: false }, () => resolve("reached"))
        .on("error", (e) => resolve(e.code)));
      process.stdin.once("data", async () => { console.log(await again()); process.exit(); });
      again().then(console.log);`;
    const child = start(process.execPath, ["-e", script]);
    const lines: string[] = [];
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (data: Buffer) => {
        lines.push(data.toString().trim());
        if (lines.length > 1) return;
        egress?.close();
        child.stdin.write("again\n");
      });
      child.on("close", () => resolve());
    });
    expect(lines).toEqual(["reached", "ECONNRESET"]);
    expect(existsSync(egress?.socket.outside ?? "")).toBe(false);
  });
});

function open(rules: string[], bareAddresses?: boolean): Promise<Egress> {
  denied = [];
  return openEgress({
    server: "sandboxed",
    rules,
    bareAddresses,
    onDenied: (one) => denied.push(one),
    lookup: async (host) => {
      if (host === "gone.wild.test") throw new Error("ENOTFOUND");
      if (host === "public.test") return ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"];
      return host === "inside.test" ? ["10.0.0.7"] : host === "localhost" ? ["127.0.0.1"] : ["127.0.0.2"];
    },
  });
}

function run(
  file: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<{ stdout: string; stderr: string; code: number | null }> {
  const child = start(file, args, env);
  child.stdin.end();
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (data: Buffer) => (stdout += data.toString()));
  child.stderr.on("data", (data: Buffer) => (stderr += data.toString()));
  return new Promise((resolve) => child.on("close", (code) => resolve({ stdout, stderr, code })));
}

function start(file: string, args: string[], env: Record<string, string> = {}) {
  if (egress === undefined) throw new Error("no egress");
  const fds = [...egress.files.map((entry) => entry.content), egress.settings];
  const program = { file, args, cwd: "/", env: { PATH: "/usr/bin:/bin", ...env } };
  const command = egress.command(program, fds.length + 2);
  const binds = [...egress.mounts, folder].flatMap((path) => ["--ro-bind", path, path]);
  const { outside, inside } = egress.socket;
  const data = egress.files.flatMap(({ path }, index) => ["--ro-bind-data", String(3 + index), path]);
  const child = spawn(
    "bwrap",
    [
      ...["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"],
      ...egress.caps.flatMap((cap) => ["--cap-add", cap]),
      ...["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"],
      ...["--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"],
      ...binds,
      ...["--ro-bind", outside, inside],
      ...data,
      ...["--", command.file, ...command.args],
    ],
    { env: command.env, stdio: ["pipe", "pipe", "pipe", ...fds.map(() => "pipe" as const)] },
  );
  fds.forEach((content, index) => (child.stdio[3 + index] as NodeJS.WritableStream).end(content));
  return child;
}

function tries(where: string): string {
  return `require("node:net").connect(${where}).on("connect", function () { this.write("x"); }).on("error", (e) => console.log(e.code)).on("data", (d) => console.log("data", String(d)));`;
}

function listen(server: Server): Promise<number> {
  servers.push(server);
  return new Promise((resolve) => {
    server.listen(0, "0.0.0.0", () => resolve((server.address() as AddressInfo).port));
  });
}

function makeCertificate(where: string): void {
  writeFileSync(join(where, "empty.cnf"), "[req]\ndistinguished_name=dn\n[dn]\n");
  const output = ["-keyout", join(where, "key.pem"), "-out", join(where, "cert.pem")];
  const subject = ["-subj", "/CN=allowed.test", "-addext", "subjectAltName=DNS:allowed.test"];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", ["req", "-config", join(where, "empty.cnf"), ...kind, ...output, ...subject], {
    stdio: "ignore",
  });
}
