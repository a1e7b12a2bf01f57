// Completion in real shells (bash, zsh, fish): servers, tools, arguments, values and clients, from files and the tools of the last run.

import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MAIN, portolan, quoted, temporaryFolder } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";
import { openTmux, programFolder, type Tmux } from "../helpers/tmux.ts";

/** A server with enums in its tools, which adds a line to a file at every start. */
const SERVER = `
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
const inputSchema = {
  type: "object",
  properties: { place: { enum: ["Oslo", "New York"] }, days: { type: "integer" }, wet: { type: "boolean" } },
  required: ["place"],
};
appendFileSync(process.argv[2], "started\\n");
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  const results = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "w", version: "1" } },
    "tools/list": { tools: [{ name: "forecast", inputSchema }, { name: "forget", inputSchema: { type: "object" } }] },
  };
  const result = results[method];
  console.log(JSON.stringify(result ? { jsonrpc: "2.0", id, result } : { jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
}
`;

async function complete(
  lines: readonly string[],
  cwd: string,
  env: Record<string, string>,
): Promise<string[][]> {
  const calls = lines.map((line) => {
    const words = line.split(/(=)|\s+/).filter((word) => word !== undefined);
    return `COMP_LINE=${quoted([line])} COMP_POINT=${line.length} COMP_CWORD=${words.length - 1}
COMP_WORDS=(${quoted(words)}); COMPREPLY=(); _portolan
printf '%s\\n' "\${COMPREPLY[@]}"; echo ---`;
  });
  const script = `portolan() { ${quoted([process.execPath, MAIN])} "$@"; }
source <(portolan completion bash)
${calls.join("\n")}`;
  const out = await new Promise<string>((resolve, reject) => {
    execFile("bash", ["-c", script], { cwd, env: { ...process.env, ...env } }, (error, text) =>
      error === null ? resolve(text) : reject(new Error("bash failed", { cause: error })),
    );
  });
  return out
    .split("---\n")
    .slice(0, lines.length)
    .map((part) => part.split("\n").filter((word) => word !== ""));
}

interface Place {
  readonly folder: string;
  readonly env: Record<string, string>;
  /** A file with a line for every start of the server. */
  readonly started: string;
}

/** A workspace whose tools are cached from an earlier run. */
async function setUp(): Promise<Place> {
  const folder = temporaryFolder();
  const home = temporaryFolder();
  const marks = join(folder, "data");
  mkdirSync(marks);
  writeFileSync(join(folder, "server.mjs"), SERVER);
  const started = join(marks, "started");
  writeFileSync(
    join(folder, "portolan.yaml"),
    `servers:\n  weather: { command: ${JSON.stringify(process.execPath)}, args: [server.mjs, ${JSON.stringify(started)}], sandbox: off }\n`,
  );
  const env = { HOME: home, XDG_CACHE_HOME: join(home, ".cache"), XDG_DATA_HOME: join(home, ".data") };
  expect((await portolan(["list", "weather"], { cwd: folder, env })).code).toBe(0);
  writeFileSync(started, "");
  return { folder, env, started };
}

test(
  "bash completes servers, tools, arguments, values and clients without starting a server",
  needs("bash"),
  async () => {
    const { folder, env, started } = await setUp();
    const words = await complete(
      [
        "portolan conn",
        "portolan connect cur",
        "portolan export --for vs",
        "portolan status w",
        "portolan call we",
        "portolan call weather.fore",
        "portolan call weather f",
        "portolan call forec",
        "portolan call forecast ",
        "portolan call weather.forecast place=",
        "portolan call weather.forecast --p",
        "portolan call weather.forecast place=Oslo --wet ",
        "portolan list weather forg",
        "portolan secrets s",
      ],
      folder,
      env,
    );
    expect(words).toEqual([
      ["connect"],
      ["cursor"],
      ["vscode"],
      ["weather"],
      ["weather."],
      ["weather.forecast"],
      ["forecast", "forget"],
      ["forecast"],
      ["place=", "days=", "wet="],
      ["Oslo", "New\\ York"],
      ["--pin", "--place"],
      ["true", "false"],
      ["forget"],
      ["set"],
    ]);
    expect(readFileSync(started, "utf8")).toBe("");
  },
);

test("fish completes the same", needs("fish"), async () => {
  const { folder, env, started } = await setUp();
  const lines = [
    "portolan conn",
    "portolan connect cur",
    "portolan export --for vs",
    "portolan status w",
    "portolan call weather.fore",
    "portolan call forecast ",
    "portolan call weather.forecast place=",
    "portolan call weather.forecast place=Oslo --wet ",
    "portolan list weather forg",
    "portolan validate portolan.y",
  ];
  const script = `portolan completion fish | source
${lines.map((line) => `complete -C ${quoted([line])}; echo ---`).join("\n")}`;
  const own = { PATH: `${programFolder()}:/usr/bin:/bin`, ...env };
  const out = await new Promise<string>((resolve, reject) => {
    execFile("/usr/bin/fish", ["--no-config", "-c", script], { cwd: folder, env: own }, (error, text) =>
      error === null ? resolve(text) : reject(new Error("fish failed", { cause: error })),
    );
  });
  const words = out
    .split("---\n")
    .slice(0, lines.length)
    .map((part) => part.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0]])));
  expect(words).toEqual([
    ["connect"],
    ["cursor"],
    ["vscode"],
    ["weather"],
    ["weather.forecast"],
    ["days=", "place=", "wet="],
    ["place=New York", "place=Oslo"],
    ["false", "true"],
    ["forget"],
    ["portolan.yaml"],
  ]);
  expect(readFileSync(started, "utf8")).toBe("");
});

test("zsh completes the same at a terminal", needs("zsh", "tmux"), async () => {
  const { folder, env, started } = await setUp();
  const path = `${programFolder()}:/usr/bin:/bin`;
  const zsh = await openTmux({ cwd: folder, env: { PATH: path, ...env, PS1: "> " }, shell: "exec zsh -f" });
  const complete = async (line: string, wanted: string): Promise<void> => {
    await zsh.type(line);
    await zsh.press("Tab");
    await expect.poll(() => lastLine(zsh)).toBe(wanted);
    await zsh.press("C-u");
    await expect.poll(() => lastLine(zsh)).toBe(">");
  };
  await zsh.type("autoload -U compinit && compinit -u && source <(portolan completion zsh); echo read");
  await zsh.press("Enter");
  await zsh.shows("\nread");
  await expect.poll(() => lastLine(zsh)).toBe(">");
  await complete("portolan conn", "> portolan connect");
  await complete("portolan connect cur", "> portolan connect cursor");
  await complete("portolan status w", "> portolan status weather");
  await complete("portolan call weather.fore", "> portolan call weather.forecast");
  await complete("portolan call forecast pl", "> portolan call forecast place=");
  await complete("portolan call forecast place=O", "> portolan call forecast place=Oslo");
  await complete("portolan list weather forg", "> portolan list weather forget");
  expect(readFileSync(started, "utf8")).toBe("");
});

async function lastLine(shell: Tmux): Promise<string | undefined> {
  return (await shell.text()).trimEnd().split("\n").at(-1)?.trimEnd();
}
