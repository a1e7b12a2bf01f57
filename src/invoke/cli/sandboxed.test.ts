// Sandboxed commands: arguments of a call choose values, but grant the sandbox no access.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import type { CliInvocation, CliPart } from "../../model/index.ts";
import { startProgram } from "../../process/index.ts";
import { needs } from "../../../test/helpers/needs.ts";
import type { Outcome } from "../types.ts";
import { createCliRunner } from "./run.ts";
import { sandboxCommand } from "./sandboxed.ts";

let folder = "";
const at = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-sandboxed-")));
  for (const name of ["mine", "theirs"]) {
    mkdirSync(at(name));
    writeFileSync(at(`${name}/package.json`), "{}");
    writeFileSync(at(`${name}/check.js`), "");
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const text = (one: string): CliPart => ({ kind: "text", text: one });
const PLACE = { name: "s", report: (): void => {}, reportDenied: (): void => {} };
const placeholder: CliPart = { kind: "input", path: ["f"] };

/** The folders of this test that are mounted. */
async function given(
  parts: readonly (readonly CliPart[])[],
  args: readonly string[],
  more: Partial<CliInvocation> = {},
  cwd = at("mine"),
): Promise<string[]> {
  const words = parts.map((one) => ({ kind: "word" as const, parts: one }));
  const invocation: CliInvocation = {
    ...{ kind: "cli", words, appendUnused: false, sandbox: { mode: "enforce" }, ...more },
  };
  const built = { program: more.shell?.program ?? "node", args, cwd, env: {} };
  const { spawnable: command } = await sandboxCommand(built, invocation, PLACE);
  command.spawned?.();
  command.ended?.();
  const mounted = command.args.filter((_, index) => /^--(?:ro-)?bind$/.test(command.args[index - 1] ?? ""));
  return mounted.filter((path) => path.startsWith(folder));
}

test("a script that the mcpfile names is mounted with its folder", needs("bubblewrap"), async () => {
  expect(
    await given([[text("node")], [text("check.js")], [placeholder]], ["check.js", at("theirs/check.js")]),
  ).toEqual([at("mine")]);
});

test("an argument of a call mounts no folder", needs("bubblewrap"), async () => {
  const theirs = at("theirs/check.js");
  expect(await given([[text("node")], [text("--check")], [placeholder]], ["--check", theirs])).toEqual([]);
  expect(await given([[text("node")], [text(`${folder}/`), placeholder]], [theirs])).toEqual([]);
  const shell = { program: "sh" as const, script: [text("node "), placeholder] };
  expect(await given([], ["-c", `node '${theirs}'`], { shell })).toEqual([]);
});

test("a working folder that an argument chooses is not mounted", needs("bubblewrap"), async () => {
  const words = [[text("node")], [text("check.js")]];
  const cwd = [
    { kind: "text" as const, text: `${folder}/` },
    { kind: "input" as const, path: ["f"] },
  ];
  expect(await given(words, ["check.js"], { cwd }, at("theirs"))).toEqual([]);
});

test("a stopped command gets SIGTERM first, also in its sandbox", needs("bubblewrap"), async () => {
  const script = `
    process.on("SIGTERM", () => { console.log("saved"); process.exit(7); });
    setTimeout(() => {}, 60_000);
    console.log("up");`;
  const invocation: CliInvocation = {
    ...{ kind: "cli", words: [], appendUnused: false, sandbox: { mode: "enforce" } },
  };
  const built = { program: process.execPath, args: ["-e", script], cwd: at("mine"), env: {} };
  const said: string[] = [];
  const running = await startProgram((await sandboxCommand(built, invocation, PLACE)).spawnable, {
    stdout: (chunk) => said.push(chunk.toString()),
    background: "kill",
  });
  await expect.poll(() => said.join("")).toContain("up");
  expect(await running.stop()).toMatchObject({ code: 7, signal: null });
  expect(said.join("")).toContain("saved");
});

test(
  "the result explains a file that the sandbox hides, with the command that grants it",
  needs("bubblewrap"),
  async () => {
    const hidden = at("theirs/check.js");
    const words = [[text("cat")], [placeholder]].map((parts) => ({ kind: "word" as const, parts }));
    const invocation: CliInvocation = {
      ...{
        kind: "cli",
        words,
        appendUnused: false,
        sandbox: { mode: "enforce", fs: { read: [at("mine")] } },
      },
    };
    const reported: Diagnostic[] = [];
    const paths: string[] = [];
    const { run } = createCliRunner(
      invocation,
      { type: "object" },
      {
        ...{ folder: at("mine"), env: new Map(), started: () => {}, name: "s", reportDenied: () => {} },
        ...{ grantCommand: "portolan grant s", report: (one) => void reported.push(one) },
        onDeniedPath: ({ path }) => void paths.push(path),
      },
    );
    const outcome = await run({
      ...{ args: { f: hidden }, headers: {}, progress: () => {}, signal: new AbortController().signal },
    });
    expect(outcome.failure).toBe("The command failed with exit code 1.");
    expect(outcome.meta?.["portolan/sandbox"]).toMatchObject({
      denied: [
        {
          path: hidden,
          grant: expect.stringContaining(`portolan grant s --read ${hidden}`) as string,
        },
      ],
    });
    expect(reported).toMatchObject([{ code: "SANDBOX_DENIED", server: "s" }]);
    expect(reported[0]?.hint).toContain("Grant it with: portolan grant s");
    expect(paths).toEqual([hidden]);
  },
);

/** The outcome of a shell script in a sandbox that may only read the folder `mine`. */
async function runScript(script: string, account?: string): Promise<Outcome> {
  const { run } = createCliRunner(
    {
      ...{ kind: "cli", words: [], appendUnused: false, shell: { program: "sh", script: [text(script)] } },
      ...{ sandbox: { mode: "enforce", fs: { read: [at("mine")] } } },
    },
    { type: "object" },
    {
      ...{ folder: at("mine"), env: new Map(), started: () => {}, ...PLACE, name: "ops" },
      grantCommand: "portolan grant ops",
    },
  );
  return run({
    ...{ args: {}, headers: {}, progress: () => {}, signal: new AbortController().signal },
    ...(account === undefined
      ? {}
      : { caller: { account, clientInfo: { name: "test", version: "1" }, capabilities: {} } }),
  });
}

test("the result explains a relative path that a command may not change", needs("bubblewrap"), async () => {
  const outcome = await runScript("rm check.js");
  expect(outcome.notes?.join()).toContain(`portolan grant ops --write ${at("mine")}`);
  const ofCaller = await runScript("rm check.js", "dev");
  expect(ofCaller.notes?.join()).toContain("Ask the operator of the gateway to grant access to check.js.");
  expect(JSON.stringify([ofCaller.notes, ofCaller.meta])).not.toMatch(/portolan grant|\/mine/);
});

test("a failure that may come from the sandbox names the sandbox", needs("bubblewrap"), async () => {
  const failing = "echo 'fatal: not a git repository' >&2; exit 128";
  expect((await runScript(failing)).notes).toEqual([
    "Note: this command ran in a sandbox. To see its grants: portolan why --plan ops",
  ]);
  expect((await runScript(failing, "dev")).notes).toEqual(["Note: this command ran in a sandbox."]);
  expect((await runScript("echo 'wrong option' >&2; exit 1")).notes).toEqual([]);
});
