// The sandbox on the command line: options, plans, the doctor, and relaxed modes.

import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { envelope, portolan, resultText, temporaryFolder } from "../helpers/cli.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { needs } from "../helpers/needs.ts";

interface Plan {
  readonly server: string;
  readonly args: readonly string[];
  readonly env: readonly string[];
  readonly sandbox: {
    readonly mode: string;
    readonly by: string;
    readonly backend: string;
    readonly policy: {
      readonly mounts: readonly { path: string; access: string }[];
      readonly network: string[];
    };
  };
  readonly spawn: readonly string[];
}

/** The environment of a machine without PORTOLAN_SANDBOX. */
const STRICT = { PORTOLAN_SANDBOX: "" };

const NETWORK_SERVER = fileURLToPath(new URL("../fixtures/network-server.mjs", import.meta.url));

function setUp(servers: Record<string, unknown>) {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, "data"));
  writeFileSync(join(cwd, "portolan.yaml"), `version: 1\nservers: ${JSON.stringify(servers)}\n`);
  const run = (words: string[], env: Record<string, string> = STRICT) => portolan(words, { cwd, env });
  return { cwd, run };
}

const entry = (...flags: string[]) => {
  const { command, args } = stdioCommand(...flags);
  return { command, args: [...args] };
};

describe("why --plan", () => {
  it("shows the rights of a server, and starts nothing", async () => {
    const { cwd, run } = setUp({
      files: {
        command: process.execPath,
        args: ["-e", "require('node:fs').writeFileSync('started', '')", "--api-key", "s3cret-in-argument"],
        env: { TOKEN: "s3cret-in-env", OTHER: "${NOT_SET_ANYWHERE}" },
        cwd: ".",
        sandbox: { mode: "warn", network: ["api.example.com"], fs: { write: ["data"] } },
      },
    });
    const json = await run(["why", "--plan", "files"]);
    expect({ code: json.code, err: json.err }).toEqual({ code: 0, err: "" });
    const plan = JSON.parse(json.out) as Plan;
    expect(plan.sandbox).toMatchObject({
      mode: "warn",
      by: "config",
      policy: { network: ["api.example.com"] },
    });
    expect(plan.sandbox.policy.mounts).toContainEqual(
      expect.objectContaining({ path: join(cwd, "data"), access: "write" }),
    );
    expect(plan.env).toEqual(expect.arrayContaining(["TOKEN", "OTHER"]));
    const text = await run(["why", "--plan", "files", "--text"]);
    expect(text.out).toContain("network   api.example.com");
    expect(text.out).toMatch(/write\s+data {2}from its config/);
    for (const { out, err } of [json, text]) expect(`${out}${err}`).not.toContain("s3cret");
    expect(existsSync(join(cwd, "started"))).toBe(false);
  });

  it("includes the certificate files that a variable of the environment names", async () => {
    const { cwd, run } = setUp({ web: { command: process.execPath, args: ["-e", ""] } });
    const path = join(cwd, "company.pem");
    writeFileSync(path, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    const env = { ...STRICT, PORTOLAN_SANDBOX: "warn", NODE_EXTRA_CA_CERTS: path };
    const plan = JSON.parse((await run(["why", "--plan", "web"], env)).out) as Plan;
    expect(plan.sandbox.policy.mounts).toContainEqual({ path, access: "read", reason: "certificates" });
    expect(plan.env).toContain("NODE_EXTRA_CA_CERTS");
  });

  it("also works for a command, and reports servers without a program", async () => {
    const { run } = setUp({ away: { url: "https://mcp.example.com/mcp" } });
    const { command, args } = stdioCommand();
    const ran = await run(["why", "--plan", "--sandbox", "off", "--", command, ...args]);
    expect(JSON.parse(ran.out)).toMatchObject({ sandbox: { mode: "off", backend: "none" } });
    const away = await run(["why", "--plan", "away", "--text"]);
    expect(away).toMatchObject({
      code: 0,
      out: "away is reached by its URL: there is no program to start.\n",
    });
    expect(envelope(await run(["why", "--", command])).message).toContain("a server of the workspace");
  });

  it("follows --sandbox and PORTOLAN_SANDBOX", async () => {
    const { run } = setUp({ a: entry(), b: { ...entry(), sandbox: "enforce" } });
    const sandboxOf = async (words: string[], env?: Record<string, string>) =>
      (JSON.parse((await run(["why", "--plan", ...words], env)).out) as Plan).sandbox;
    expect(await sandboxOf(["a"])).toMatchObject({ mode: "enforce", by: "default" });
    expect(await sandboxOf(["a", "--sandbox", "a=off"])).toMatchObject({ mode: "off", by: "command line" });
    const owner = { PORTOLAN_SANDBOX: "off" };
    expect(await sandboxOf(["a"], owner)).toMatchObject({ mode: "off", by: "PORTOLAN_SANDBOX" });
    expect(await sandboxOf(["b"], owner)).toMatchObject({ mode: "enforce", by: "config" });
  });
});

describe("a relaxed sandbox", () => {
  const servers = { open: { ...entry(), sandbox: "off" }, plain: entry() };

  it("is shown in status, why, events and validate", async () => {
    const { run } = setUp(servers);
    const owner = { PORTOLAN_SANDBOX: "off" };
    const status = await run(["status", "--text"], owner);
    expect(status.out).toContain("sandbox off (set by its config), not enforced");
    expect(status.out).toContain("PORTOLAN_SANDBOX is off, so these servers run without a sandbox: plain.");
    const why = await run(["why", "open", "--text"]);
    expect(why.out).toMatch(/sandbox\s+off \(set by its config\), not enforced/);
    const events = await run(["events", "open"]);
    expect(events.out.split("\n").filter((line) => line.includes("relaxed"))).toHaveLength(1);
    const validate = await run(["validate", "--text"]);
    expect(validate).toMatchObject({ code: 0 });
    expect(validate.out).toContain("note sandbox is off: the program can use every file, host and program");
  });

  it("needs the name of its server in --sandbox", async () => {
    const { run } = setUp(servers);
    const status = await run(["status", "plain", "--sandbox", "plain=off"]);
    expect(JSON.parse(status.out)).toMatchObject({
      servers: [{ alias: "plain", state: "ready", sandbox: { mode: "off", by: "command line" } }],
    });
    for (const command of ["status", "list", "events"]) {
      const refused = envelope(await run([command, "--sandbox", "off"]));
      expect(refused).toMatchObject({ code: "USAGE" });
      expect(refused.message).toContain("--sandbox <server>=off");
    }
    expect(envelope(await run(["list", "--sandbox", "plai=off"]))).toMatchObject({
      code: "SERVER_UNKNOWN",
      hint: 'Did you mean "plain"?',
    });
    expect(envelope(await run(["list", "--allow-net", "a.com"])).code).toBe("USAGE");
    expect((await run(["list", "plain", "--allow-net", "a.com"])).code).toBe(0);
  });
});

it("a command gets the sandbox mode of its options, and wrong options are refused", async () => {
  const { cwd, run } = setUp({});
  writeFileSync(join(cwd, "data", "note.txt"), "hello");
  const { command, args } = stdioCommand();
  const off = await run(["call", "echo", "text=hi", "--sandbox", "off", "--", command, ...args]);
  expect(resultText(off)).toContain("hi");
  const wrong = envelope(
    await run(["list", "--allow-read", "nowhere", "--allow-net", "http://a", "--", command]),
  );
  expect(wrong.message).toContain("--allow-net");
});

it("add writes the granted rights", async () => {
  const { run } = setUp({});
  const ran = await run([
    "add",
    "x",
    "--allow-net",
    "a.com",
    "--allow-write",
    "data",
    "--dry-run",
    "--text",
    "--",
    "node",
  ]);
  expect(ran.out).toContain("sandbox:");
  expect(ran.out).toContain("network: [a.com]");
  expect(ran.out).toContain("write: [data]");
});

describe("the doctor", () => {
  it("reports the rules that can be enforced, also by its exit code", async () => {
    const ran = await portolan(["doctor", "--json"], { env: STRICT });
    const found = JSON.parse(ran.out) as { enforced: boolean; backends: { name: string }[] };
    expect(ran.code).toBe(found.enforced ? 0 : 3);
    expect(found.backends.length).toBeGreaterThan(0);
    const text = await portolan(["doctor", "--text"], { env: STRICT });
    expect(text.out).toMatch(/This machine (can|cannot) enforce the default profile of the sandbox/);
  });

  it("shows the command that fixes it", async () => {
    const empty = temporaryFolder();
    const ran = await portolan(["doctor", "--text"], { env: { ...STRICT, PATH: empty } });
    expect(ran.out).toMatch(/bubblewrap does not work here.*\n.*\n +fix sudo .*bubblewrap/);
  });

  it("compares the backends, and says which one is used", needs("unshare"), async () => {
    const empty = temporaryFolder();
    const ran = await portolan(["doctor", "--text"], { env: { ...STRICT, PATH: empty } });
    expect(ran.code).toBe(0);
    expect(ran.out).toContain("bubblewrap does not work here (not needed: unshare is used)");
    expect(ran.out).toMatch(/^unshare [\d.]+ works here, and is used$/m);
    expect(ran.out).toMatch(/exec\.allow: only these programs +yes +no/);
    expect(ran.out).toContain("This machine can enforce the default profile of the sandbox.");
  });
});

describe("without bubblewrap", needs("unshare"), () => {
  it("a server runs in a sandbox of unshare; an error names the rules that unshare cannot enforce", async () => {
    const bin = temporaryFolder();
    symlinkSync(process.execPath, join(bin, "node"));
    const { command, args } = stdioCommand();
    const { run } = setUp({
      a: { ...entry(), sandbox: { exec: { allow: [] } } },
      web: { command: process.execPath, args: [NETWORK_SERVER] },
    });
    const bare = (words: string[]): ReturnType<typeof run> => run(words, { ...STRICT, PATH: bin });
    const one = await bare(["call", "echo", "text=hi", "--", command, ...args]);
    expect(resultText(one)).toContain("hi");
    const call = await bare(["call", "web.reach", "--args", '{"way":"fetch","url":"http://127.0.0.1:8123"}']);
    expect(call.err).toContain("denied a connection to localhost:8123");
    const plan = await bare(["why", "web", "--plan", "--text"]);
    expect(plan.out).toContain("enforce (by default), enforced by unshare");
    const refused = envelope(await bare(["call", "a.echo", "text=hi"]));
    expect(refused).toMatchObject({ code: "SANDBOX_UNAVAILABLE" });
    expect(refused.message).toContain("exec.allow: []: without bubblewrap");
    expect(refused.hint).toMatch(/^Run `sudo .* bubblewrap`\./);
  });
});

describe("a sandbox of bubblewrap", needs("bubblewrap"), () => {
  it("a server without sandbox settings runs in the default profile", async () => {
    const { run } = setUp({ a: entry() });
    const status = await run(["status"]);
    expect(JSON.parse(status.out)).toMatchObject({
      healthy: true,
      servers: [{ sandbox: { mode: "enforce", by: "default" } }],
    });
    expect((await run(["status", "--text"])).out).not.toContain("sandbox");
  });

  it(
    "a denied host is reported, with the command that grants it",
    needs("the dynamic linker's cache"),
    async () => {
      const needs = `fetch("https://needed.example").catch(() => process.exit(1))`;
      const { run } = setUp({
        web: { command: process.execPath, args: [NETWORK_SERVER] },
        needs: { command: process.execPath, args: ["-e", needs] },
      });
      const remedy = (server: string, host: string): string => `portolan grant ${server} --net ${host}`;
      const call = await run(["call", "web.reach", "--args", '{"way":"fetch","url":"http://asked.example"}']);
      expect(call.err).toContain("denied a connection to asked.example: the server's sandbox grants no host");
      expect(call.err).toContain(remedy("web", "asked.example"));
      const failed = envelope(await run(["call", "needs.anything"]));
      expect(failed.hint).toContain(
        "The server tried to reach needed.example, which its sandbox does not allow.",
      );
      expect(failed.hint).toContain(remedy("needs", "needed.example"));
      expect((await run(["why", "needs", "--text"])).out).toContain(remedy("needs", "needed.example"));
      const command = await run([
        ...["call", "reach", "--args", '{"way":"fetch","url":"http://asked.example"}', "--quiet"],
        ...["--", process.execPath, NETWORK_SERVER],
      ]);
      expect(command.err).toBe("");
    },
  );

  it("a denied local address is reported, with the command that grants it", async () => {
    const { run } = setUp({
      web: { command: process.execPath, args: [NETWORK_SERVER] },
      db: { command: process.execPath, args: ["-e", 'require("node:net").connect(5432, "127.0.0.1")'] },
    });
    const call = await run(["call", "web.reach", "--args", '{"way":"fetch","url":"http://127.0.0.1:8123"}']);
    expect(call.err).toContain(
      "denied a connection to localhost:8123: the server's sandbox has a network of its own",
    );
    expect(call.err).toContain("portolan grant web --net localhost:8123");
    // A client shows the result only.
    const { content } = JSON.parse(call.out) as { content: { text: string }[] };
    expect(content.at(-1)?.text).toMatch(
      /^The sandbox of server "web" denied the host localhost:8123: .* Grant it with: portolan grant web --net localhost:8123$/,
    );
    const { hint } = envelope(await run(["call", "db.anything"]));
    expect(hint).toContain("The server tried to reach localhost:5432, which its sandbox does not allow.");
    expect(hint).toContain("portolan grant db --net localhost:5432");
  });
});
