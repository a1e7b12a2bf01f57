// Servers from packages: portolan.yaml names a package, portolan.lock its version and hash, and the store has its files.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeTarGz } from "../fixtures/lib/tar.mjs";
import { envelope, MAIN, portolan, type Ran, resultText } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";
import {
  filePackage,
  SERVER_SCRIPT,
  sri,
  startFileServer,
  writePackageWorkspace,
} from "../helpers/packages.ts";

const env = (folder: string): Record<string, string> => ({ XDG_DATA_HOME: join(folder, "data") });
const inWorkspace = (folder: string, ...words: string[]): Promise<Ran> =>
  portolan(words, { cwd: folder, env: env(folder) });

it("a server starts from its package, without network after the first time", async () => {
  const files = await startFileServer();
  const url = files.serve("/server.js", SERVER_SCRIPT);
  const { folder } = await writePackageWorkspace(
    filePackage(url, SERVER_SCRIPT, (document) => {
      document["security"].sandbox.required = false;
    }),
  );
  const plan = await inWorkspace(folder, "why", "--plan", "tiny", "--text");
  expect(plan.out).toContain("@alice/github-mcp@1.0.0");
  expect(plan.out).toContain("not installed yet");
  expect(files.requests).toEqual([]);
  const first = await inWorkspace(folder, "call", "tiny.echo", "--json");
  expect(JSON.parse(resultText(first))).toEqual({
    args: ["--from", "package", "--own"],
    url: "https://api.example.com",
  });
  files.serve("/server.js", "other bytes");
  expect((await inWorkspace(folder, "call", "tiny.echo", "--json")).code).toBe(0);
  expect(files.requests).toHaveLength(1);
  const after = await inWorkspace(folder, "why", "--plan", "tiny", "--text");
  expect(after.out).toContain(sri(SERVER_SCRIPT));
  const again = await inWorkspace(folder, "install", "--frozen", "--text");
  expect(again).toMatchObject({
    code: 0,
    out: expect.stringContaining("@alice/github-mcp@1.0.0 is installed") as string,
  });
});

it("--frozen reports every difference from the lock file with the exit code 1, and installs nothing", async () => {
  const files = await startFileServer();
  const url = files.serve("/server.js", SERVER_SCRIPT);
  const { folder, lock } = await writePackageWorkspace(filePackage(url, SERVER_SCRIPT), {
    reference: "@alice/github-mcp@^2.0.0",
  });
  const before = readFileSync(lock, "utf8");
  const other = await inWorkspace(folder, "install", "--frozen", "--json");
  expect(other.code).toBe(1);
  expect(other.out).toContain("requires @alice/github-mcp@^2.0.0");
  const yaml = join(folder, "portolan.yaml");
  writeFileSync(yaml, 'servers:\n  more:\n    package: "@bob/x-mcp@1.0.0"\n');
  const missing = await inWorkspace(folder, "install", "--frozen", "--text");
  expect(missing.code).toBe(1);
  expect(missing.out).toContain("has no entry for @bob/x-mcp");
  expect(missing.out).toContain("portolan.yaml has no package for this server");
  expect(files.requests).toEqual([]);
  expect(readFileSync(lock, "utf8")).toBe(before);
  expect(existsSync(join(folder, "data", "portolan", "store", "files"))).toBe(false);
  const usage = await inWorkspace(folder, "install", "--frozen", "--update", "--json");
  expect(envelope(usage).code).toBe("USAGE");
});

it(
  "a full disk is reported, leaves no files, and the next installation works",
  needs("bubblewrap"),
  async () => {
    const files = await startFileServer();
    const honest = makeTarGz([
      { path: "server.js", body: SERVER_SCRIPT },
      { path: "large", body: randomBytes(4_000_000) },
    ]);
    const { folder } = await writePackageWorkspace(filePackage(files.serve("/file", honest), honest));
    const root = join(folder, "data", "portolan", "store");
    const documents = join(root, "documents");
    // The store is on a disk of six megabytes: the archive fits, its content beside it does not.
    const bwrap = (...words: string[]): Promise<Ran> =>
      new Promise((resolve) => {
        const place = [
          "--dev-bind",
          "/",
          "/",
          "--size",
          "6000000",
          "--tmpfs",
          root,
          "--bind",
          documents,
          documents,
        ];
        const script = `${words.join(" ")}; code=$?; ls -A ${root}/files/entries ${root}/files/specs ${root}/files/work ${root}/files/partial; exit $code`;
        const child = spawn("bwrap", [...place, "sh", "-c", script], {
          cwd: folder,
          env: { ...process.env, ...env(folder) },
        });
        let [out, err] = ["", ""];
        child.stdout.on("data", (text: Buffer) => (out += text.toString()));
        child.stderr.on("data", (text: Buffer) => (err += text.toString()));
        child.once("close", (code) => resolve({ code, out, err }));
      });
    const full = await bwrap(process.execPath, MAIN, "install", "--text");
    expect(full.code).toBe(3);
    expect(full.out).toMatch(/no space left|disk full/i);
    const listed = full.out.slice(full.out.indexOf(`${root}/files/entries:`));
    expect(listed.split("\n").filter((line) => line !== "" && !line.endsWith(":"))).toEqual([]);
    expect((await inWorkspace(folder, "install", "--frozen", "--json")).code).toBe(0);
  },
);
