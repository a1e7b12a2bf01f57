// Servers that are container images: their plans, their engines, and starts that end.

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { envelope, portolan, start, temporaryFolder } from "../helpers/cli.ts";
import { killWithEnv, pidsWithEnv } from "../fixtures/processes.mjs";
import { until } from "../helpers/connect.ts";

const STAND_IN = fileURLToPath(new URL("../fixtures/docker-stand-in.mjs", import.meta.url));
const DIGEST = `@sha256:${"d".repeat(64)}`;

interface Plan {
  readonly env: readonly string[];
  readonly sandbox: {
    readonly mode: string;
    readonly by: string;
    readonly policy: { readonly mounts: readonly { readonly path: string }[] };
    readonly missing: readonly { readonly rule: string }[];
  };
  readonly spawn: readonly string[];
}

interface Call {
  readonly argv: readonly string[];
  readonly host?: string;
}

/** A workspace with these servers, and a container engine that records its calls. */
function setUp(servers: Record<string, unknown>) {
  const [cwd, engine] = [temporaryFolder(), temporaryFolder()];
  writeFileSync(join(engine, "docker"), `#!/bin/sh\nexec "${process.execPath}" "${STAND_IN}" "$@"\n`);
  chmodSync(join(engine, "docker"), 0o755);
  writeFileSync(join(cwd, "portolan.yaml"), JSON.stringify({ servers }));
  onTestFinished(async () => {
    killWithEnv("DOCKER_STAND_IN", engine);
    await until(() => pidsWithEnv("DOCKER_STAND_IN", engine).length === 0);
  });
  const env = { PATH: `${engine}:${process.env.PATH}`, DOCKER_STAND_IN: engine, PORTOLAN_SANDBOX: "" };
  const calls = (): Call[] =>
    existsSync(join(engine, "calls.jsonl"))
      ? readFileSync(join(engine, "calls.jsonl"), "utf8")
          .split("\n")
          .filter(Boolean)
          .map((line) => JSON.parse(line) as Call)
      : [];
  return { cwd, env, calls, run: (words: string[]) => portolan(words, { cwd, env }) };
}

const web = (image: string, more: object = {}) => ({
  ...{ docker: `${image}${DIGEST}`, transport: "http", port: 8080, path: "/mcp" },
  ...more,
});
const OPEN = { sandbox: { mode: "warn", network: ["*"] } };

/** The part of the command line that is the same at every start. */
const lasting = (words: readonly string[]): string[] =>
  words.slice(words.indexOf("run")).filter((word) => !/^portolan[-.]|^…$/.test(word));

describe.skipIf(process.platform === "win32")("the driver of an image", () => {
  it("can set a sandbox mode in its file, and gets it if the workspace allows it", async () => {
    const { run, cwd } = setUp({});
    mkdirSync(join(cwd, ".drivers/web"), { recursive: true });
    mkdirSync(join(cwd, "tools/echo"), { recursive: true });
    const about = "name: Web\ndescription: d\nversion: 1.0.0";
    const contract = `${about}\nid: echo\ninputs: { type: object }\noutputs: { type: object }\nmutates: []`;
    writeFileSync(join(cwd, "tools/echo/TOOL.md"), `---\n${contract}\n---\n`);
    const binding =
      '{ tool: ./tools/echo/TOOL.md, version: "^1.0.0", metadata: { mcp: { tool_name: echo } } }';
    const head = `${about}\nid: web\nkind: mcp\ntransport: stdio\nimplements: [${binding}]`;
    const server = `server: { kind: docker, image: "stdio${DIGEST}" }\nnetwork: { egress: [api.example.com] }`;
    const write = (contracts: string, sandbox = "sandbox: { mode: warn }"): void => {
      writeFileSync(join(cwd, ".drivers/web/DRIVER.md"), `---\n${head}\n${server}\n${sandbox}\n---\n`);
      writeFileSync(join(cwd, "portolan.yaml"), `version: 1\nservers: {}\n${contracts}\n`);
    };
    const agree = "contracts: { sandbox: { web: warn } }";
    write("");
    const asked = await run(["why", "--plan", "web"]);
    expect([asked.code, (JSON.parse(asked.out) as Plan).sandbox]).toMatchObject([
      3,
      { mode: "enforce", by: "default", missing: [{ rule: "network: api.example.com" }] },
    ]);
    expect((await run(["validate", "--text"])).out).toContain("requests the sandbox mode warn");
    expect((await run(["why", "web", "--text"])).out).toMatch(
      /no effect until you agree\. .* contracts: \{ sandbox: \{ web: warn \} \} in portolan\.yaml/,
    );
    write(agree);
    expect((await run(["why", "web", "--text"])).out).not.toContain("cannot be held");
    const agreed = await run(["why", "--plan", "web"]);
    expect([agreed.code, (JSON.parse(agreed.out) as Plan).sandbox]).toMatchObject([
      0,
      { mode: "warn", by: "config" },
    ]);
    expect((await run(["validate", "--text"])).out).not.toContain("requests the sandbox mode warn");
    // The workspace decides the mode, whatever the driver requests; a driver cannot request `off`.
    write(agree, "");
    expect((await run(["why", "--plan", "web"])).code).toBe(0);
    write("", "sandbox: { mode: off }");
    expect((await run(["validate", "--text"])).out).toContain("mode");
    expect((await run(["validate"])).code).not.toBe(0);
  });
});

describe.skipIf(process.platform === "win32")("the plan of an image", () => {
  it("is the same as the real start, with its port, and starts and ends nothing", async () => {
    const { run, calls } = setUp({ strict: web("http"), open: web("http", OPEN) });
    const strict = await run(["why", "--plan", "strict"]);
    const plan = JSON.parse(strict.out) as Plan;
    expect(strict.code).toBe(3);
    expect(plan.sandbox.missing).toMatchObject([{ rule: "network: none" }]);
    expect(plan.spawn.join(" ")).toContain("--network bridge --publish 127.0.0.1::8080");
    const open = await run(["why", "--plan", "open"]);
    expect(open.code).toBe(0);
    expect(new Set(calls().map(({ argv }) => argv[0]))).toEqual(new Set(["version"]));

    expect((await run(["list", "open"])).code).toBe(0);
    const real = calls().find(({ argv }) => argv[0] === "run")?.argv ?? [];
    expect(lasting((JSON.parse(open.out) as Plan).spawn)).toEqual(lasting(real));
    expect(envelope(await run(["list", "strict"])).message).toContain("with a published port");
  });

  it("lists only the paths that the container gets", async () => {
    const { run, cwd } = setUp({
      bare: { docker: `stdio${DIGEST}`, env: { TOKEN: "x" } },
      data: { docker: `stdio${DIGEST}`, sandbox: { fs: { read: ["."] } } },
      big: { command: "docker", args: ["run", "-i", "--memory", "9g", `stdio${DIGEST}`] },
    });
    const of = async (name: string): Promise<Plan> =>
      JSON.parse((await run(["why", "--plan", name])).out) as Plan;
    expect(await of("bare")).toMatchObject({ env: ["TOKEN"], sandbox: { policy: { mounts: [] } } });
    expect((await of("data")).sandbox.policy.mounts).toMatchObject([{ path: cwd, access: "read" }]);
    const text = (await run(["why", "--plan", "bare", "--text"])).out;
    expect(text).toMatch(/programs +those of the image/);
    expect(text).not.toMatch(/Files and folders|\/usr/);
    expect((await run(["why", "--plan", "big", "--text"])).out).toMatch(/limits +256 processes, 1024/);
  });

  it("reports that another backend cannot enforce it, as the start does", async () => {
    const { run, calls } = setUp({ time: { docker: `stdio${DIGEST}`, sandbox: { backend: "bubblewrap" } } });
    const plan = await run(["why", "--plan", "time", "--text"]);
    expect(plan.code).toBe(3);
    expect(plan.out).toContain("backend: bubblewrap the server is a container image");
    const refused = envelope(await run(["list", "time"]));
    expect(refused).toMatchObject({ code: "SANDBOX_UNAVAILABLE" });
    expect(refused.hint).toContain("Remove backend from its sandbox config");
    expect(calls().filter(({ argv }) => argv[0] === "run")).toEqual([]);
  });
});

describe.skipIf(process.platform === "win32")("an image's engine", () => {
  it("is the configured one for every engine command", async () => {
    const DOCKER_HOST = "tcp://engine.example:2376";
    const { run, calls } = setUp({ away: web("http", { ...OPEN, env: { DOCKER_HOST } }) });
    expect((await run(["list", "away"])).code).toBe(0);
    await until(() => calls().some(({ argv }) => argv[0] === "kill"));
    const asked = new Set(calls().map(({ argv }) => argv[0]));
    for (const word of ["version", "image", "pull", "ps", "run", "port", "kill"])
      expect(asked).toContain(word);
    expect(new Set(calls().map(({ host }) => host))).toEqual(new Set([DOCKER_HOST]));
  });
});

describe.skipIf(process.platform === "win32")("an image whose port refuses connections", () => {
  it("fails after its start timeout", async () => {
    const { run } = setUp({ index: web("closed", OPEN) });
    const listed = await run(["list", "index", "--start-timeout", "1s", "--json"]);
    expect(listed.err).not.toContain("MaxListeners");
    expect(envelope(listed)).toMatchObject({ code: "SERVER_START_FAILED" });
    const status = await run(["status", "--start-timeout", "1s", "--json"]);
    expect(status.code).toBe(3);
    expect(JSON.parse(status.out)).toMatchObject({ servers: [{ alias: "index", state: "failed" }] });
  });

  it("lets the command end: the first signal closes, a second one exits at once", async () => {
    const { cwd, env, calls } = setUp({ index: web("closed", OPEN) });
    for (const signals of [1, 2]) {
      const before = calls().filter(({ argv }) => argv[0] === "port").length;
      const { child, done } = start(["list", "index"], { cwd, env });
      await until(() => calls().filter(({ argv }) => argv[0] === "port").length > before);
      const begun = performance.now();
      child.kill("SIGTERM");
      // The operating system would merge two signals that are sent at once.
      if (signals === 2) setTimeout(() => child.kill("SIGTERM"), 200);
      expect((await done).code).toBe(143);
      expect(performance.now() - begun).toBeLessThan(signals === 1 ? 9_000 : 4_000);
    }
  });
});
