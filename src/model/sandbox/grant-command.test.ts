// Hints for servers of a program or a driver: config fields instead of commands and options.

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

test("hints for a server that a program declares name the config fields to write", () => {
  const command = grantCommand(server);
  const denied = { path: "/data/my notes", where: "args[1]" };
  const granted = { read: ["/data/a"], write: ["/data/b"], deny: ["/data/a/private"] };
  const host = { server: "memory", host: "api.example.com", port: 443, reason: "not granted" };
  const hints = [
    pathGrantHint(denied, command),
    pathGrantHint({ ...denied, isForReading: true }, command),
    pathGrantHint({ ...denied, isReadOnly: true }, command),
    pathGrantHint({ ...denied, isForReading: false, granted }, command),
    pathGrantHint({ ...denied, isForReading: true, granted }, command),
    pathGrantHint({ ...denied, isDenied: true, granted }, command),
    ownFoldersHint({ ...denied, folder: undefined }, command, { granted }),
    dataFileAdvice(server, "/home/me", command)?.hint,
    connectionDenials("memory", [host], ["a.test"], command)[0]?.hint,
  ];
  expect(hints).toEqual([
    'Grant it with: sandbox: { fs: { read: ["/data/my notes"] } } (or write in place of read, if the server writes it)',
    'Grant it with: sandbox: { fs: { read: ["/data/my notes"] } }',
    'Grant it with: sandbox: { fs: { write: ["/data/my notes"] } }',
    'Grant it with: sandbox: { fs: { read: ["/data/a"], write: ["/data/b", "/data/my notes"], deny: ["/data/a/private"] } }',
    'Grant it with: sandbox: { fs: { read: ["/data/a", "/data/my notes"], write: ["/data/b"], deny: ["/data/a/private"] } }',
    "The rule sandbox.fs.deny of this server hides the path, and a grant does not change that. To allow the path, remove it from fs.deny.",
    'The server itself refuses this path, too. Add the folder of the path to args of the server, and grant it with: sandbox: { fs: { read: ["/data/a", "/data/my notes"], write: ["/data/b"], deny: ["/data/a/private"] } } (or write in place of read, if the server writes it)',
    'Keep the data in another folder. Create it: mkdir -p /home/me/server-memory. Then set env: { MEMORY_FILE_PATH: "/home/me/server-memory/memory.jsonl" } and sandbox: { fs: { write: ["/home/me/server-memory"] } } of the server',
    'Grant it with: sandbox: { network: ["a.test", "api.example.com"] }',
  ]);
});

test("hints for the server of a driver name the fields of its DRIVER.md", () => {
  const command = grantCommand({ alias: "notes", origin: { ...server.origin, format: "driver" } });
  const host = { server: "notes", host: "api.example.com", port: 443, reason: "not granted" };
  const [denied] = connectionDenials("notes", [host], ["a.test"], command);
  expect(denied?.hint).toBe(
    "Grant it with: network: { egress: [a.test, api.example.com] } in the definition of the driver (DRIVER.md)",
  );
  const path = { path: "/data/notes", where: "args[1]", isForReading: true };
  expect(pathGrantHint(path, command)).toBe(
    'Grant it with: sandbox: { fs: { read: ["/data/notes"] } } in the definition of the driver (DRIVER.md)',
  );
});

test("the hint for a path that the server itself refuses grants the access that the call needs", () => {
  const command = "portolan grant notes";
  const path = "/data/a/new.md";
  expect(ownFoldersHint({ path, folder: "/data/a", isNew: true }, command)).toContain(
    "and grant it with: portolan grant notes --write /data/a (or --read, if the server only reads it)",
  );
  expect(ownFoldersHint({ path, folder: "/data/a", isForReading: true }, command)).toContain(
    "and grant it with: portolan grant notes --read /data/a (or --write, if the server also writes it)",
  );
  // A grant of a file that does not exist is refused.
  expect(ownFoldersHint({ path: "/data/new.md", folder: undefined, isNew: true }, command)).toBe(
    "The server itself refuses this path, too. Name a file in a separate folder: a grant of /data would be too wide.",
  );
});
