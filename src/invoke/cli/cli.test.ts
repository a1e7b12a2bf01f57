// CLI invocations with real processes: their arguments, their results, and that no process is left behind.

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  argv,
  atEnd,
  cli,
  open,
  openTool,
  script,
  shell,
  template,
  textOf,
  tool,
  variable,
} from "../../../test/helpers/invoke.ts";
import type { Progress } from "../../model/index.ts";
import { needs } from "../../../test/helpers/needs.ts";

const properties = {
  repoUrl: { type: "string" },
  depth: { type: "integer" },
  verbose: { type: "boolean" },
  tags: { type: "array", items: { type: "string" } },
  deep: { type: "object", properties: { a: { type: "number" } } },
};
const schema = { type: "object", properties };

async function wordsOf(
  ...args: Parameters<typeof argv>
): Promise<(given: Record<string, unknown>) => Promise<unknown>> {
  const { call } = await openTool(argv(...args), schema);
  return async (given) => {
    const result = await call(given);
    return result.isError === true ? textOf(result) : JSON.parse(textOf(result));
  };
}

test("the example of the mcpfile format gives the expected arguments", async () => {
  const words = await wordsOf([
    "clone",
    variable("repoUrl", "{repoUrl}"),
    variable("depth", "--depth {anything}"),
    variable("verbose", "--verbose", true),
  ]);
  expect(await words({ repoUrl: "u r l", depth: 1, verbose: true })).toEqual([
    "clone",
    "u r l",
    "--depth",
    "1",
    "--verbose",
  ]);
  expect(await words({ repoUrl: "url", verbose: false })).toEqual(["clone", "url"]);
  expect(await words({})).toEqual(["clone"]);
});

test("an argument with a missing value is left out; one with an empty value stays", async () => {
  const words = await wordsOf(["{repoUrl}", "a{repoUrl}:{depth}", "--n={depth}", "{deep.a}", "end"]);
  expect(await words({ depth: 2 })).toEqual(["--n=2", "end"]);
  expect(await words({ repoUrl: "", deep: { a: 1.5 } })).toEqual(["", "1.5", "end"]);
});

test("a list gives one argument per item, an object gives JSON, and false is passed on", async () => {
  const words = await wordsOf(["{tags}", "--tag={tags}", "{deep}", variable("verbose", "--verbose={v}")]);
  expect(await words({ tags: ["a b", "c"], deep: { a: 1 }, verbose: false })).toEqual([
    "a b",
    "c",
    "--tag=a b",
    "--tag=c",
    '{"a":1}',
    "--verbose=false",
  ]);
  expect(await words({ tags: [] })).toEqual([]);
});

test("appendUnused adds unused values as options, in the order of the schema", needs("bash"), async () => {
  const words = await wordsOf(["{depth}"], { appendUnused: true });
  expect(await words({ tags: ["x", "y"], verbose: true, depth: 1, repoUrl: "-u" })).toEqual([
    "1",
    "--repoUrl=-u",
    "--verbose=true",
    "--tags=x",
    "--tags=y",
  ]);
  const elsewhere = await wordsOf(["{depth}"], {
    appendUnused: true,
    env: [{ name: "URL", value: template("{repoUrl}") }],
    ignored: [["verbose"]],
  });
  expect(await elsewhere({ tags: ["x"], verbose: true, depth: 1, repoUrl: "u" })).toEqual(["1", "--tags=x"]);
  const { call } = await openTool(shell("printf '<%s>' {depth}\n", { appendUnused: true }), schema);
  expect(textOf(await call({ depth: 1, repoUrl: "a b" }))).toBe("<1><--repoUrl=a b>");
});

test(
  "a script gets quoted values in lists, formats and pipes, and no missing values",
  needs("bash"),
  async () => {
    const parts = [
      { kind: "text", text: "printf '<%s>' " } as const,
      ...template("{tags} x{depth} "),
      variable("repoUrl", "--url {u}"),
      { kind: "text", text: " | tr a-z A-Z" } as const,
    ];
    const { call } = await openTool(shell(parts), schema);
    expect(textOf(await call({ tags: ["a b", "c"], repoUrl: "it's" }))).toBe("<A B><C><X><--URL><IT'S>");
    const sh = cli([], { shell: { program: "sh", script: template('echo "${NAME}" {depth}') } });
    const second = await openTool(sh, schema, { env: { NAME: "$(id) 'x" } });
    expect(textOf(await second.call({ depth: 3 }))).toBe("$(id) 'x 3\n");
  },
);

test("a command gets the declared folder and environment, and no private variables of Portolan", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-cli-")));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  process.env.PORTOLAN_TEST_PRIVATE = "private";
  atEnd(() => delete process.env.PORTOLAN_TEST_PRIVATE);
  const code = "console.log(JSON.stringify([process.cwd(), process.env]))";
  const env = [
    { name: "TOKEN", value: template("t-${KEY}") },
    { name: "DEPTH", value: template("{depth}") },
    { name: "ABSENT", value: template("{repoUrl}") },
  ];
  const { upstream } = await open(
    { folder, tools: [tool(script(code, [], { env }), schema)] },
    { env: { KEY: "k{depth}" } },
  );
  const params = { name: "it", arguments: { depth: 4 } };
  const result = await upstream.request({ method: "tools/call", params });
  const [cwd, seen] = JSON.parse(textOf(result)) as [string, Record<string, string>];
  expect(cwd).toBe(folder);
  expect(seen).toMatchObject({ TOKEN: "t-k{depth}", DEPTH: "4", PATH: process.env.PATH });
  expect(seen.ABSENT).toBeUndefined();
  expect(seen.PORTOLAN_TEST_PRIVATE).toBeUndefined();
});

test("stdout is the result; stderr is part of a failure, and separate otherwise", async () => {
  const code = "console.log('out'); console.error('err'); process.exitCode = Number(process.argv[1])";
  const { call } = await openTool(script(code, ["{depth}"]), schema);
  expect(await call({ depth: 0 })).toEqual({
    resultType: "complete",
    content: [
      { type: "text", text: "out\n" },
      { type: "text", text: "stderr:\nerr" },
    ],
    _meta: { "portolan/cli": { exitCode: 0 } },
  });
  // A success without output says so, and shows what the command wrote to stderr.
  const quiet = await openTool(script("console.error('did it')"));
  expect(textOf(await quiet.call())).toBe("The command succeeded without output on stdout. stderr:\ndid it");
  expect(await call({ depth: 3 })).toEqual({
    resultType: "complete",
    isError: true,
    content: [
      { type: "text", text: "The command failed with exit code 3." },
      { type: "text", text: "out\n" },
      { type: "text", text: "err" },
    ],
    _meta: { "portolan/cli": { exitCode: 3 } },
  });
  const killed = await openTool(script("process.kill(process.pid, 'SIGKILL'); setInterval(() => {}, 9)"));
  expect(await killed.call()).toMatchObject({
    content: [{ text: "The command was ended by SIGKILL." }],
    _meta: { "portolan/cli": { exitCode: null, signal: "SIGKILL" } },
  });
});

test("a program that does not exist gives an error with its name", async () => {
  const { call } = await openTool(cli(["no-such-program-anywhere"]));
  expect(await call()).toMatchObject({ isError: true });
  expect(textOf(await call())).toContain('there is no program "no-such-program-anywhere"');
});

test("a program or a folder without permission gives an error with its path", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-cli-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const program = join(folder, "program");
  writeFileSync(program, "", { mode: 0o600 });
  const { call } = await openTool(cli([program]));
  expect(textOf(await call())).toContain(`"${program}" is not executable`);
  // Root can enter every folder.
  if (process.getuid?.() === 0) return;
  const closed = join(folder, "closed");
  mkdirSync(closed, { mode: 0o000 });
  const inClosed = await openTool(cli([process.execPath, "-v"], { cwd: template(closed) }));
  expect(textOf(await inClosed.call())).toContain(`there is no permission to enter the folder "${closed}"`);
});

test("output that breaks outputSchema gives a warning, or an error if the tool is idempotent", async () => {
  const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const code = "process.stdout.write(process.argv[1])";
  const { call } = await open({ tools: [tool(script(code, ["{repoUrl}"]), schema, { outputSchema })] });
  const annotations = { idempotentHint: true };
  const again = await open({
    tools: [tool(script(code, ["{repoUrl}"]), schema, { outputSchema, annotations })],
  });
  expect((await call({ repoUrl: '{"n": 1}\n' })).structuredContent).toEqual({ n: 1 });
  const warned = await call({ repoUrl: "{}" });
  expect(warned.isError).toBeUndefined();
  expect(warned.content).toMatchObject([
    { text: "{}" },
    { text: expect.stringMatching(/^Warning: The output does not match .* was carried out; do not repeat/) },
  ]);
  expect(warned).toMatchObject({
    structuredContent: {},
    _meta: { "portolan/outputMismatch": expect.stringContaining("does not match") },
  });
  expect((await call({ repoUrl: "hello" })).content).toMatchObject([
    { text: "hello" },
    { text: expect.stringContaining("is not JSON") },
  ]);
  expect(await again.call({ repoUrl: "{}" })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("does not match the tool's outputSchema") }, { text: "{}" }],
  });
});

test("long output keeps its beginning and its end", async () => {
  const code = "process.stdout.write('é'.repeat(5) + 'x'.repeat(300000) + 'ü'.repeat(5))";
  const { call } = await openTool(script(code, [], { maxOutputBytes: 15 }));
  const text = textOf(await call());
  expect(text).toMatch(/^éééé\n\[\.\.\. 3000\d\d bytes are left out here \.\.\.\]\n.*üüü$/);
  expect(text).not.toContain("\ufffd");
  const whole = await openTool(script("process.stdout.write('x'.repeat(1_000_000))"));
  expect(textOf(await whole.call()).length).toBe(1_000_000);
});

test("progress contains the last line of the output, at most once a second", async () => {
  const code = `let n = 0; const t = setInterval(() => { console.log("step " + ++n + "\\x1b[0m"); if (n === 26) clearInterval(t); }, 100)`;
  const { call } = await openTool(script(code));
  const heard: Progress[] = [];
  await call({}, { onProgress: (progress) => heard.push(progress), timeoutMs: 2_000 });
  expect(heard.length).toBeGreaterThanOrEqual(2);
  expect(heard[0]).toMatchObject({ progress: 1, message: expect.stringMatching(/^step \d+$/) as string });
  expect(heard.map(({ progress }) => progress)).toEqual(heard.map((_, index) => index + 1));
});

/** Starts a child process that ignores SIGTERM, and writes both process ids to a file. */
const STUBBORN = `
  const { spawn } = require("node:child_process");
  const helper = spawn(process.execPath, ["-e", "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"]);
  process.on("SIGTERM", () => {});
  helper.on("spawn", () => setTimeout(() => {
    console.log("ready");
    require("node:fs").writeFileSync(process.argv[1], process.pid + " " + helper.pid);
  }, 300));
  setInterval(() => {}, 1000);
`;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie process no longer runs.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

function pidFile(): { path: string; pids: () => number[] } {
  const folder = mkdtempSync(join(tmpdir(), "portolan-pids-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "pids");
  const pids = (): number[] => {
    try {
      return readFileSync(path, "utf8").split(" ").map(Number);
    } catch {
      return [];
    }
  };
  return { path, pids };
}

test.each(["cancel", "patience", "time", "close"])(
  "%s ends the command and its child processes",
  async (how) => {
    const { path, pids } = pidFile();
    const more = how === "time" ? { timeoutMs: 4_000 } : {};
    const { call, upstream } = await openTool(script(STUBBORN, ["{repoUrl}"], more), schema);
    const cancel = new AbortController();
    const patience = how === "patience" ? { timeoutMs: 4_000 } : {};
    const result = call({ repoUrl: path }, { signal: cancel.signal, ...patience }).catch(
      (error: unknown) => error,
    );
    await expect.poll(() => pids().length, { timeout: 10_000 }).toBe(2);
    const running = pids();
    expect(running.map(isAlive)).toEqual([true, true]);
    if (how === "cancel") cancel.abort();
    if (how === "close") await upstream.close();
    const answer = await result;
    if (how === "time") {
      expect(answer).toMatchObject({
        isError: true,
        content: [{ text: "The command took longer than 4 s and was stopped." }, { text: "ready\n" }],
        _meta: { "portolan/cli": { timedOut: true } },
      });
    } else {
      const code = { cancel: "CANCELLED", patience: "TIMEOUT", close: "CONNECTION_CLOSED" }[how];
      expect(answer).toMatchObject({ code });
    }
    await expect.poll(() => running.map(isAlive), { timeout: 10_000 }).toEqual([false, false]);
  },
);

test("arguments that the schema allows but the command does not use are refused", async () => {
  const open = {
    ...schema,
    properties: { ...properties, deep: { type: "object" } },
    patternProperties: { "^dry": {} },
    additionalProperties: true,
  };
  const refusal = async (given: Record<string, unknown>, more = {}): Promise<string> => {
    const { call } = await openTool({ ...argv(["{repoUrl}", "{deep.a}"]), ...more }, open);
    return textOf(await call(given));
  };
  for (const name of ["dryRun", "force"])
    expect(await refusal({ [name]: true })).toContain(`the command does not use the argument "${name}"`);
  expect(await refusal({ deep: { a: 1, dryRun: true } })).toContain('argument "deep.dryRun"');
  expect(await refusal({ force: true }, { appendUnused: true })).toContain('argument "force"');
  expect(await refusal({ force: true }, { ignored: [["force"]] })).toBe("[]");
  expect(await refusal({ depth: 1 }, { appendUnused: true })).toBe('["--depth=1"]');
});

test(
  "the result of a sandboxed script that starts background processes contains a note",
  needs("bubblewrap"),
  async () => {
    const { shell: script, ...rest } = shell("sleep 100 & echo done");
    const given = {
      ...rest,
      shell: script && { ...script, leavesBackground: true },
      sandbox: { mode: "enforce" },
    };
    const { call } = await openTool(given as typeof rest, schema);
    expect((await call({})).content).toMatchObject([
      { text: "done\n" },
      { text: expect.stringMatching(/^Note: the command starts processes in the background/) },
    ]);
  },
);

test("a background process does not delay the result, and is stopped", needs("bash"), async () => {
  const { path, pids } = pidFile();
  const code = `sleep 100 & echo "$!" > {repoUrl}; echo done`;
  const { call } = await openTool(shell(code), schema);
  const started = performance.now();
  expect((await call({ repoUrl: path })).content).toMatchObject([
    { text: "done\n" },
    { text: expect.stringMatching(/^Note: the command left processes in the background/) },
  ]);
  // A background process that ended by itself gives no note.
  const waits = await openTool(shell("sleep 0.05 & wait; echo done"), schema);
  expect((await waits.call()).content).toEqual([{ type: "text", text: "done\n" }]);
  expect(performance.now() - started).toBeLessThan(15_000);
  const [pid = 0] = pids();
  expect(pid).toBeGreaterThan(0);
  await expect.poll(() => isAlive(pid)).toBe(false);
});
