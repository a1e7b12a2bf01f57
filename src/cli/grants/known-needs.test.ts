import { expect, it, vi } from "vitest";
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

function person(answer: string | undefined) {
  const questions: string[] = [];
  const notes: string[] = [];
  const select = vi.fn(async ({ message }: { message: string }) => {
    questions.push(message);
    return answer;
  });
  const cli = {
    io: { env: { HOME: "/home/me" }, platform: "linux", cwd: "/", createPrompter: async () => ({ select }) },
    output: { note: (text: string) => void notes.push(text), noteColors: createColors(false) },
    interrupt: { signal: new AbortController().signal },
  } as unknown as Cli;
  const choose = (name: string, { canAsk = true, sandbox = {} } = {}) =>
    chooseKnownNeeds(cli, {
      server: server(name, sandbox),
      known: knownServer(["npx", "-y", name]),
      how: (flags) => `portolan x ${flags}`,
      canAsk,
    });
  return { questions, notes, choose };
}

const GITHUB = "@modelcontextprotocol/server-github@2025.4.8";
const MEMORY = "@modelcontextprotocol/server-memory";

it("hosts and a place for data are granted after a yes only", async () => {
  const yes = person("yes");
  expect(await yes.choose(GITHUB)).toMatchObject({ network: ["api.github.com"], write: [], env: {} });
  expect(await yes.choose(MEMORY)).toMatchObject({
    network: [],
    write: ["/home/me/server-memory"],
    env: { MEMORY_FILE_PATH: "/home/me/server-memory/memory.jsonl" },
  });
  expect(yes.questions[0]).toBe("server-github reaches api.github.com. Allow:");
  const no = person("no");
  expect(await no.choose(GITHUB)).toMatchObject({ network: [] });
  expect(await no.choose(MEMORY)).toMatchObject({ write: [], env: {} });
  await expect(person(undefined).choose(GITHUB)).rejects.toMatchObject({ code: "CANCELLED" });
});

it("where nobody can be asked, the command is printed and nothing is granted", async () => {
  const { choose, notes, questions } = person("yes");
  expect(await choose(GITHUB, { canAsk: false })).toMatchObject({ network: [] });
  expect(notes[0]).toContain("portolan x --allow-net api.github.com");
  expect(await choose(MEMORY, { canAsk: false })).toMatchObject({ write: [] });
  expect(notes[1]).toContain("--env MEMORY_FILE_PATH=/home/me/server-memory/memory.jsonl");
  await choose("some-other-server", { canAsk: false });
  await choose(GITHUB, { canAsk: false, sandbox: { network: ["api.github.com"] } });
  await choose(GITHUB, { canAsk: false, sandbox: { mode: "off" } });
  expect(notes).toHaveLength(2);
  expect(questions).toEqual([]);
});
