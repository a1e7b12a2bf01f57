// Hints of a server that a program declares: fields of its config, no commands and no options.

import { expect, test } from "vitest";
import { connectionDenials } from "./denied-connections.ts";
import { grantCommand } from "./grant-command.ts";
import { dataFileAdvice } from "./known-servers.ts";
import { ownFoldersHint, pathGrantHint } from "./messages.ts";

const server = {
  alias: "memory",
  origin: { file: "/srv/agent/program", format: "program", line: 1, column: 1 },
  endpoint: { transport: "stdio", command: "npx", args: ["@modelcontextprotocol/server-memory"] },
} as const;

test("hints for a server of a program name the fields to write", () => {
  const command = grantCommand(server);
  const denied = { path: "/data/my notes", where: "args[1]" };
  const host = { server: "memory", host: "api.example.com", port: 443, reason: "not granted" };
  const hints = [
    pathGrantHint(denied, command),
    pathGrantHint({ ...denied, isForReading: true }, command),
    ownFoldersHint(denied, command),
    dataFileAdvice(server, "/home/me", command)?.hint,
    connectionDenials("memory", [host], ["a.test"], command)[0]?.hint,
  ];
  expect(hints).toEqual([
    'Grant it with: sandbox: { fs: { write: ["/data/my notes"] } }',
    'Grant it with: sandbox: { fs: { read: ["/data/my notes"] } }',
    'The server refuses it by itself, too. Add its folder to args of the server, and grant it with: sandbox: { fs: { read: ["/data/my notes"] } } (write: to write it)',
    'Keep the data elsewhere: mkdir -p /home/me/server-memory, set env: { MEMORY_FILE_PATH: "/home/me/server-memory/memory.jsonl" } and sandbox: { fs: { write: ["/home/me/server-memory"] } } of the server',
    'Grant it with: sandbox: { network: ["a.test", "api.example.com"] }',
  ]);
});
