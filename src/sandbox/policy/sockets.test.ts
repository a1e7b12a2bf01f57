// Sockets that the sandbox hides in a granted folder: sockets that a search finds and well-known ones, except those
// that the config grants.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Mount } from "../types.ts";
import { parseList, socketCovers } from "./sockets.ts";

let folder = "";
const at = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "p-sock-")));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.unstubAllEnvs());

async function listen(name: string): Promise<string> {
  mkdirSync(dirname(at(name)), { recursive: true });
  const server = createServer();
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(at(name), resolve));
  return at(name);
}

const grant = (path: string, reason: Mount["reason"] = "declared"): Mount => ({
  path,
  access: "read",
  reason,
});

async function covered(...grants: Mount[]): Promise<string[]> {
  const { mounts, problems } = await socketCovers(grants, grants, at("home"));
  expect(problems).toEqual([]);
  expect(mounts.every(({ access, reason }) => access === "hidden" && reason === "socket")).toBe(true);
  return mounts.map(({ path }) => path).filter((path) => path.startsWith(folder));
}

describe.skipIf(process.platform !== "linux")("hidden sockets", () => {
  test("are the sockets at any depth of a granted folder, and no others", async () => {
    const near = await listen("a/near");
    const far = await listen("a/1/2/3/4/5/6/7/8/9/far");
    await listen("b/other");
    expect((await covered(grant(at("a")))).sort()).toEqual([far, near].sort());
    expect(await covered(grant(at("a"), "kept home"))).toEqual([]);
    expect(await covered(grant(at("a")), grant(near))).toEqual([far]);
  });

  test("include the socket in SSH_AUTH_SOCK, also through links", async () => {
    const agent = await listen("agents/node_modules/ssh");
    symlinkSync(at("agents"), at("agents-link"));
    vi.stubEnv("SSH_AUTH_SOCK", at("agents-link/node_modules/ssh"));
    expect(await covered(grant(at("agents")))).toEqual([agent]);
  });

  test("include a whole runtime folder, unless a path in it is granted", async () => {
    const bus = await listen("run/user/7/bus");
    const other = await listen("run/user/7/other");
    vi.stubEnv("XDG_RUNTIME_DIR", at("run/user/7"));
    expect(await covered(grant(at("run")))).toEqual([at("run/user/7")]);
    expect((await covered(grant(at("run/user/7")))).sort()).toEqual([bus, other].sort());
    expect(await covered(grant(at("run")), grant(bus))).toEqual([other]);
  });

  test("include the egress proxies of other servers", async () => {
    vi.stubEnv("TMPDIR", at("tmp"));
    await listen("tmp/portolan-egress-1/proxy");
    expect(await covered(grant(at("tmp")))).toEqual([at("tmp/portolan-egress-1")]);
  });

  test("include sockets that are bound by a relative name, also in the folder of a program", async () => {
    const socket = await listenIn("project", "dev.sock");
    expect(await covered(grant(at("project"), "own"))).toEqual([socket]);
    expect(await covered(grant(at("project")))).toEqual([socket]);
    expect(await covered(grant(at("elsewhere"), "own"))).toEqual([]);
  });

  test("include sockets that are bound by a relative name, also after the program changed its folder", async () => {
    const one = await listenIn("gone/node_modules/.cache", "dev.sock", "/");
    const two = await listenIn("gone/src", "../run.sock", "/");
    expect((await covered(grant(at("gone"), "own"))).sort()).toEqual([one, two].sort());
  });

  test("include sockets in the folder of a program whose path contains a link", async () => {
    mkdirSync(at("linked/package"), { recursive: true });
    symlinkSync(at("linked/package"), at("link-to-it"));
    await listen("link-to-it/dev.sock");
    expect(await covered(grant(at("linked/package"), "own"))).toEqual([at("linked/package/dev.sock")]);
  });
});

/** Starts a program in this folder that binds a relative name, and then changes its working folder. */
async function listenIn(name: string, socket: string, goesTo = "."): Promise<string> {
  mkdirSync(at(name), { recursive: true });
  const script = `require("node:net").createServer().listen(${JSON.stringify(socket)}, () => {
    process.chdir(${JSON.stringify(goesTo)});
    console.log("listening");
  })`;
  const child = spawn(process.execPath, ["-e", script], {
    cwd: at(name),
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return join(at(name), socket);
}

test("parseList reads the names in the kernel's list, and ignores names without a folder", () => {
  const row = (flags: string, type: string, name: string): string =>
    `0000000062eacc1f: 00000002 00000000 ${flags} ${type} 01 12947043${name === "" ? "" : ` ${name}`}`;
  const list = (...rows: string[]): ReturnType<typeof parseList> =>
    parseList(["Num RefCount Protocol Flags Type St Inode Path", ...rows, ""].join("\n"));
  expect(
    list(
      row("00010000", "0001", "/run/a b.sock"),
      row("00000000", "0001", "/run/a b.sock"),
      row("00010000", "0001", "@abstract"),
      row("00010000", "0001", "dev.sock"),
      row("00010000", "0001", "dev.sock"),
      row("00000000", "0001", "dev.sock"),
      row("00000000", "0002", "private/log"),
      row("00000000", "0001", ""),
    ),
  ).toEqual({
    absolute: new Set(["/run/a b.sock"]),
    relative: new Map([
      ["dev.sock", 2],
      ["private/log", 1],
    ]),
    isOdd: false,
  });
  expect(list(row("00010000", "0001", "/proc/self/fd/7/x")).isOdd).toBe(true);
  expect(list(row("00010000", "0001", "with\na break")).isOdd).toBe(true);
});
