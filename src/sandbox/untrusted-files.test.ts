// Files that Portolan reads at a start: refused if a sandboxed server can replace or link them, or if they are
// Portolan's own data.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import envPaths from "env-paths";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ServerConfig, SandboxConfig, StdioEndpoint } from "../model/index.ts";
import { checkStart, checkWorkspaceFiles, fileRefusal } from "./untrusted-files.ts";
import { createWriteHistory } from "./write-history.ts";

let folder = "";
const at = (name: string): string => join(folder, name);

function file(name: string): string {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), "text");
  return at(name);
}

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-places-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const server = (
  alias: string,
  sandbox: SandboxConfig | undefined,
  endpoint: { readonly command?: string; readonly args?: readonly string[] } & Pick<
    StdioEndpoint,
    "env" | "cwd"
  > = {},
): ServerConfig => ({
  alias,
  origin: { file: at("portolan.yaml"), line: 3, column: 5, format: "workspace" },
  enabled: true,
  endpoint: { transport: "stdio", command: "server", ...endpoint },
  launch: { sandbox },
});

const refusal = (path: string, ...servers: ServerConfig[]): Promise<string | undefined> =>
  fileRefusal(path, { servers, roots: [] });

describe("a file that Portolan reads at a start", () => {
  const writer = (fs: SandboxConfig["fs"] = {}): ServerConfig =>
    server("files", { fs: { write: [at("data")], ...fs } });

  test("is refused if a sandboxed server can write or create it", async () => {
    expect(await refusal(file("data/token"), writer())).toBe(
      `the server files, which can write to ${at("data")}, could replace it`,
    );
    expect(await refusal(at("data/new"), writer())).toMatch(/could create it$/);
    expect(await refusal(file("token"), writer())).toBeUndefined();
    expect(await fileRefusal(at("token"), { servers: [], roots: [folder] })).toMatch(/can write to the root/);
  });

  test("is refused behind a link that a server may have made, for any target", async () => {
    file("data/x");
    symlinkSync(file("key"), at("data/token"));
    expect(await refusal(at("data/token"), writer())).toMatch(/data\/token is a link that the server files,/);
    symlinkSync(at("data"), at("way"));
    expect(await refusal(at("way/x"), writer())).toMatch(/could replace it/);
    // The link may be older than the rule that covers its path now.
    const denied = writer({ deny: [at("data/token")] });
    expect(await refusal(at("data/token"), denied)).toMatch(/is a link/);
    expect(
      await fileRefusal(at("data/token"), { servers: [writer()], roots: [] }, { isCovered: true }),
    ).toMatch(/is a link/);
  });

  test("is accepted if the server cannot write it", async () => {
    file("data/token");
    expect(await refusal(at("data/token"), writer({ deny: [at("data/token")] }))).toBeUndefined();
    expect(await refusal(at("data/token"), writer({ read: [at("data/token")] }))).toBeUndefined();
    const inner = writer({ write: [at("data/in")], read: [at("data")] });
    expect(await refusal(file("data/in/token"), inner)).toMatch(/data\/in, could replace it/);
  });

  test("is refused if it belongs to Portolan's own data", async () => {
    const { data } = envPaths("portolan", { suffix: "" });
    expect(await refusal(join(data, "token"))).toBe("it is Portolan's own data");
  });

  test("is accepted if only a server without a sandbox can write it", async () => {
    const off = server("files", { mode: "off", fs: { write: [at("data")] } });
    expect(await refusal(file("data/token"), off)).toBeUndefined();
  });

  test("is refused if a server of this process could write it since the start", async () => {
    const mounts = [{ path: at("data"), access: "write", reason: "root" } as const];
    const writes = createWriteHistory();
    await writes.record("earlier", {
      ...{ mounts, home: "/home/user", network: [], limits: {}, configuredLimits: new Set() },
      exec: { allow: undefined, spawn: true },
    });
    expect(await fileRefusal(file("data/token"), { servers: [], roots: [], writes })).toBe(
      "the server earlier may have written this file from its sandbox",
    );
  });
});

test("checkStart reports every reference of a server and each program that another server could replace", async () => {
  file("data/token");
  file("data/run.sh");
  const writer = server("files", { fs: { write: [at("data")] } });
  const reader = server("reader", undefined, {
    ...{ command: "./data/run.sh", cwd: folder, args: ["--key=${file:data/token}"] },
    env: { TOKEN: "Bearer ${file:./data/token}", OTHER: "${file:elsewhere}" },
  });
  const writers = { servers: [writer, reader], roots: [] };
  const found = await checkStart(reader, writers);
  expect(found).toMatchObject([
    { severity: "error", code: "SANDBOX_DENIED", server: "reader", line: 3 },
    { severity: "error", message: expect.stringMatching(/^env\.TOKEN of the server reader reads/) as string },
    { severity: "warning", message: expect.stringContaining("run.sh, which the server files,") as string },
  ]);
  expect(await checkStart(writer, writers)).toEqual([]);
});

test("checkWorkspaceFiles reports an env_file, a link and a token that a server could replace", async () => {
  const writers = { servers: [server("files", { fs: { write: [at("data")] } })], roots: [] };
  const check = (envFile: string, tokens: string[] = []): Promise<unknown> =>
    checkWorkspaceFiles({ folder, envFile, tokens }, writers);
  expect(await check(at("data/.env"))).toMatchObject([{ severity: "warning" }]);
  // Every sandbox makes an existing env_file read-only.
  file("data/.env");
  expect(await check(at("data/.env"))).toEqual([]);
  symlinkSync(file("key"), at("data/.link"));
  expect(await check(at("data/.link"))).toMatchObject([{ severity: "error" }]);
  expect(await check(at("key"), ["${file:data/token}"])).toMatchObject([
    { message: expect.stringMatching(/^the token file .*data\/token cannot be used/) as string },
  ]);
});
