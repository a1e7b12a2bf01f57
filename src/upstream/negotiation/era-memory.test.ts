import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createEraMemory } from "./era-memory.ts";

const server = { transport: "stdio", command: "node", args: ["a.js"] } as const;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-eras-"));
});

afterEach(() => rm(folder, { recursive: true }));

it("stores that a command is legacy, with its version and a date, also for other processes", async () => {
  const file = join(folder, "deep", "eras.json");
  await createEraMemory(file).remember(server, { legacy: true, serverVersion: "1.2" });
  expect(await createEraMemory(file).isLegacy(server)).toBe(true);
  expect(await createEraMemory(file).isLegacy({ ...server, args: ["b.js"] })).toBe(false);
  const [verdict] = Object.values(JSON.parse(await readFile(file, "utf8")) as object) as [
    { serverVersion: string; date: string },
  ];
  // The file contains a hash, because a server can use any text as its version.
  expect(verdict.serverVersion).toMatch(/^[0-9a-f]{32}$/);
  expect(Date.now() - Date.parse(verdict.date)).toBeLessThan(60_000);
  expect(await readdir(join(folder, "deep"))).toEqual(["eras.json"]);
});

it.each([
  ["another version", { legacy: true, serverVersion: "2.0" }],
  ["the modern era", { legacy: false, serverVersion: "1.2" }],
])("forgets that a command is legacy when it sees %s", async (_name, found) => {
  const memory = createEraMemory(join(folder, "eras.json"));
  await memory.remember(server, { legacy: true, serverVersion: "1.2" });
  await memory.remember(server, found);
  expect(await memory.isLegacy(server)).toBe(false);
});

it("keeps the entries of servers that start at the same time", async () => {
  const memory = createEraMemory(join(folder, "eras.json"));
  const servers = Array.from({ length: 20 }, (_, n) => ({ ...server, args: [`${n}.js`] }));
  await Promise.all(servers.map((one) => memory.remember(one, { legacy: true, serverVersion: "1" })));
  const known = await Promise.all(servers.map((one) => memory.isLegacy(one)));
  expect(known.every(Boolean)).toBe(true);
});

it("forgets a server after a week", async () => {
  const file = join(folder, "eras.json");
  const memory = createEraMemory(file);
  await memory.remember(server, { legacy: true, serverVersion: "1" });
  const old = new Date(Date.now() - 8 * 24 * 3_600_000).toISOString();
  await writeFile(file, (await readFile(file, "utf8")).replace(/"date": "[^"]+"/, `"date": "${old}"`));
  expect(await memory.isLegacy(server)).toBe(false);
});

it.each(["", "not json", "[1,2]", '{"x":null}', '{"__proto__":{"era":"legacy"}}'])(
  "treats a damaged file as empty: %j",
  async (text) => {
    const file = join(folder, "eras.json");
    await writeFile(file, text);
    const memory = createEraMemory(file);
    expect(await memory.isLegacy(server)).toBe(false);
    await memory.remember(server, { legacy: true, serverVersion: "1" });
    expect(await memory.isLegacy(server)).toBe(true);
  },
);
