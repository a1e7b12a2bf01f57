import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { knownServer, type ServerConfig } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { createColors } from "../terminal/colors.ts";
import { chooseKnownNeeds } from "./known-needs.ts";

const server = (name: string, sandbox?: object): ServerConfig => ({
  alias: "one",
  enabled: true,
  origin: { file: "/f", line: 1, column: 1, format: "cursor" },
  endpoint: { transport: "stdio", command: "npx", args: ["-y", name] },
  launch: { sandbox },
});

function person(answer: string | undefined, home = "/home/me") {
  const questions: string[] = [];
  const notes: string[] = [];
  const labels: string[] = [];
  const select = vi.fn(async ({ message, options }: { message: string; options: { label: string }[] }) => {
    questions.push(message);
    labels.push(options[0]?.label ?? "");
    return answer;
  });
  const cli = {
    io: { env: { HOME: home }, platform: "linux", cwd: "/", createPrompter: async () => ({ select }) },
    output: { note: (text: string) => void notes.push(text), noteColors: createColors(false) },
    interrupt: { signal: new AbortController().signal },
  } as unknown as Cli;
  const choose = (name: string, { canAsk = true, sandbox = {} } = {}) =>
    chooseKnownNeeds(cli, {
      server: server(name, sandbox),
      known: knownServer(["npx", "-y", name]),
      canAsk,
    });
  return { questions, labels, notes, choose };
}

const GITHUB = "@modelcontextprotocol/server-github@2025.4.8";
const MEMORY = "@modelcontextprotocol/server-memory";

it("hosts and a data folder are granted only after the user agrees", async () => {
  const yes = person("yes");
  expect(await yes.choose(GITHUB)).toMatchObject({ network: ["api.github.com"], write: [], env: {} });
  expect(await yes.choose(MEMORY)).toMatchObject({
    network: [],
    write: ["/home/me/server-memory"],
    env: { MEMORY_FILE_PATH: "/home/me/server-memory/memory.jsonl" },
  });
  expect(yes.questions[0]).toBe("one (server-github) connects to api.github.com. May it connect?");
  const no = person("no");
  expect(await no.choose(GITHUB)).toMatchObject({ network: [] });
  expect(await no.choose(MEMORY)).toMatchObject({ write: [], env: {} });
  await expect(person(undefined).choose(GITHUB)).rejects.toMatchObject({ code: "CANCELLED" });
});

it("without a prompt, the needed options are printed and no access is granted", async () => {
  const { choose, notes, questions } = person("yes");
  expect(await choose(GITHUB, { canAsk: false })).toMatchObject({ network: [] });
  expect(notes[0]).toContain("To let the server reach api.github.com: --allow-net api.github.com");
  expect(await choose(MEMORY, { canAsk: false })).toMatchObject({ write: [] });
  expect(notes[1]).toContain("--env MEMORY_FILE_PATH=/home/me/server-memory/memory.jsonl");
  await choose("some-other-server", { canAsk: false });
  await choose(GITHUB, { canAsk: false, sandbox: { network: ["api.github.com"] } });
  await choose(GITHUB, { canAsk: false, sandbox: { mode: "off" } });
  expect(notes).toHaveLength(2);
  expect(questions).toEqual([]);
});

it("the question names the existing data of the server", async () => {
  const home = mkdtempSync(join(tmpdir(), "portolan-needs-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const put = (...parts: string[]): void => {
    const file = join(home, ...parts);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "{}");
  };
  const { choose, labels, notes } = person("no", home);
  await choose(MEMORY);
  put(".npm/_npx/a1/node_modules", MEMORY, "dist/memory.jsonl");
  await choose(MEMORY);
  await choose(MEMORY, { canAsk: false });
  put("server-memory/memory.jsonl");
  await choose(MEMORY);
  expect(labels).toEqual([
    expect.stringMatching(/ \(a new file: no existing data was found\)$/),
    expect.stringMatching(/, with a copy of its present data \(.*\/dist\/memory\.jsonl\)$/),
    expect.stringMatching(/, which exists already$/),
  ]);
  expect(notes[0]).toMatch(
    /\. To keep the present data of the server: cp .*\/dist\/memory\.jsonl .*\/server-memory\/memory\.jsonl$/,
  );
});
