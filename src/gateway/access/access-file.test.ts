import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { openAccess } from "./access-file.ts";

let top: string;
let folder: string;
let workspace: string;

beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "portolan-access-"));
  folder = join(top, "data", "gateway");
  workspace = join(top, "workspace");
  await mkdir(workspace);
});
afterEach(() => rm(top, { recursive: true }));

const mode = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

test("openAccess creates the access file at the first start, and reads it at later starts", async () => {
  const first = await openAccess(workspace, { folder });
  expect(first).toMatchObject({ created: true, token: expect.stringMatching(/^ptl_[\w-]{43}$/) });
  expect(first.key).toHaveLength(32);
  expect(first.file.startsWith(folder)).toBe(true);
  const second = await openAccess(workspace, { folder });
  expect(second).toEqual({ ...first, created: false });
  expect(await readdir(folder)).toHaveLength(1);
});

test.skipIf(process.platform === "win32")("only the owner can read the access file", async () => {
  const { file } = await openAccess(workspace, { folder });
  expect([await mode(file), await mode(folder)]).toEqual(["600", "700"]);
});

test("each workspace has its own access file, whichever path leads to the workspace", async () => {
  const other = join(top, "other");
  await mkdir(other);
  await symlink(workspace, join(top, "link"), "junction");
  const first = await openAccess(workspace, { folder });
  expect((await openAccess(other, { folder })).token).not.toBe(first.token);
  expect((await openAccess(join(top, "link"), { folder })).token).toBe(first.token);
  expect((await openAccess(`${workspace}/../workspace/`, { folder })).token).toBe(first.token);
});

test('the option "renew" replaces the token and the key', async () => {
  const first = await openAccess(workspace, { folder });
  const second = await openAccess(workspace, { folder, renew: true });
  expect(second).toMatchObject({ created: true, file: first.file });
  expect(second.token).not.toBe(first.token);
  expect(second.key.equals(first.key)).toBe(false);
  expect(await openAccess(workspace, { folder })).toEqual({ ...second, created: false });
});

test.skipIf(process.platform === "win32")(
  "too wide file permissions are corrected and reported",
  async () => {
    const { file } = await openAccess(workspace, { folder });
    await chmod(file, 0o644);
    const found: Diagnostic[] = [];
    await openAccess(workspace, { folder, report: (one) => found.push(one) });
    expect(found).toMatchObject([{ severity: "warning", code: "FILE_FAILED", file }]);
    expect(await mode(file)).toBe("600");
    await openAccess(workspace, { folder, report: (one) => found.push(one) });
    expect(found).toHaveLength(1);
  },
);

test.each([
  ["", "it is not JSON"],
  ["{", "it is not JSON"],
  ["[]", "it contains no object"],
  ["{}", "it has no valid version"],
  [`{"version": 1, "token": "short", "key": "${"a".repeat(43)}"}`, "its token is malformed"],
  [`{"version": 1, "token": "ptl_${"a".repeat(43)}", "key": ""}`, "its key is malformed"],
  ["x".repeat(70_000), "it has 70000 bytes, but the limit is 65536"],
])("a damaged file is reported and not changed (%#)", async (content, reason) => {
  const { file } = await openAccess(workspace, { folder });
  await writeFile(file, content);
  await expect(openAccess(workspace, { folder })).rejects.toMatchObject({
    code: "FILE_FAILED",
    message: `the gateway's access file ${file} is damaged: ${reason}`,
    hint: "Restore the file from a backup. Or replace it with a new one: call openAccess() with renew: true. You must give the new token to every client that used the token of the gateway, and sign in to the console again. Clients with a token of their own keep it.",
  });
  expect(await readFile(file, "utf8")).toBe(content);
  expect((await openAccess(workspace, { folder, renew: true })).created).toBe(true);
});

test("for a damaged file in the default folder, the hint names a command", async () => {
  vi.stubEnv("XDG_DATA_HOME", top);
  vi.stubEnv("LOCALAPPDATA", top);
  vi.stubEnv("HOME", top);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { file } = await openAccess(workspace);
  onTestFinished(() => rm(file, { force: true }));
  await writeFile(file, "{");
  await expect(openAccess(workspace)).rejects.toMatchObject({
    hint: expect.stringContaining(
      "Or replace it with a new one: run portolan token --new (with -w <folder> for another workspace), then start the gateway, or run portolan reload if it is running. You must",
    ),
  });
});

test("a file of a newer version is reported as unsupported, not as damaged", async () => {
  const { file } = await openAccess(workspace, { folder });
  await writeFile(file, '{"version": 2}');
  await expect(openAccess(workspace, { folder })).rejects.toMatchObject({
    code: "FILE_FAILED",
    message: `the gateway's access file ${file} has the version 2, but this version of Portolan supports only 1`,
  });
});

test("a folder that cannot be created is an error that names the file", async () => {
  await writeFile(join(top, "data"), "");
  await expect(openAccess(workspace, { folder })).rejects.toMatchObject({
    code: "FILE_FAILED",
    data: { file: expect.any(String) },
  });
});

test("concurrent calls of openAccess get the same token", async () => {
  const all = await Promise.all(Array.from({ length: 10 }, () => openAccess(workspace, { folder })));
  expect(new Set(all.map(({ token }) => token)).size).toBe(1);
  expect(all.filter(({ created }) => created)).toHaveLength(1);
});

test("processes that start at the same time get the same token", async () => {
  // Node 20 does not read TypeScript, and dist/ may be older than the sources.
  await build({
    configFile: false,
    logLevel: "silent",
    root: fileURLToPath(new URL(".", import.meta.url)),
    build: {
      ssr: fileURLToPath(new URL("access-file.ts", import.meta.url)),
      outDir: join(top, "built"),
      target: "node20",
      rolldownOptions: { output: { entryFileNames: "access-file.mjs" } },
    },
  });
  const script = join(top, "built", "script.mjs");
  await writeFile(
    script,
    `import { openAccess } from ${JSON.stringify(pathToFileURL(join(top, "built", "access-file.mjs")).href)};
     const { token, created } = await openAccess(${JSON.stringify(workspace)}, { folder: ${JSON.stringify(folder)} });
     process.stdout.write(JSON.stringify({ token, created }));`,
  );
  const run = async (): Promise<{ token: string; created: boolean }> => {
    const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
    const [output] = await Promise.all([text(child.stdout), once(child, "close")]);
    return JSON.parse(output) as { token: string; created: boolean };
  };
  const all = await Promise.all(Array.from({ length: 5 }, run));
  expect(new Set(all.map(({ token }) => token)).size).toBe(1);
  expect(all.filter(({ created }) => created)).toHaveLength(1);
  expect((await openAccess(workspace, { folder })).token).toBe(all[0]?.token);
  expect(await readdir(folder)).toHaveLength(1);
});
