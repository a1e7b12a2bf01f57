// Tampered artifacts: each is refused with a clear error, and nothing of it stays in the store.

import { existsSync, readdirSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { isPortolanError, type PortolanError } from "../../src/errors/index.ts";
import { parsePackageReference, type PackageReference } from "../../src/model/index.ts";
import { type LockedPackage, openLockedPackage, type PackageProgram } from "../../src/packages/index.ts";
import { makeTar, makeTarGz, type TarEntry } from "../fixtures/lib/tar.mjs";
import { makeZip, type ZipEntry } from "../fixtures/lib/zip.mjs";
import {
  filePackage,
  packageFolder,
  SERVER_SCRIPT,
  sri,
  startFileServer,
  writePackageWorkspace,
} from "../helpers/packages.ts";
import type { Loose } from "../helpers/registry.ts";

type Answer = Buffer | string | ((request: IncomingMessage, response: ServerResponse) => void);

interface Case {
  /** The bytes that the publisher hashed. */
  readonly honest?: Buffer | string;
  /** The answer of the web server; the honest bytes by default. */
  readonly served?: Answer;
  readonly change?: (document: Loose) => void;
  readonly locked?: Partial<LockedPackage>;
  readonly reference?: string;
}

/** Opens the package as a start of its server does. */
async function open(
  test: Case,
): Promise<{ root: string; opened: Promise<PackageProgram>; requests: string[] }> {
  const files = await startFileServer();
  const { honest = SERVER_SCRIPT, served = honest } = test;
  const url = files.serve("/file", served);
  const document = filePackage(url, honest, test.change);
  const { root, lock } = await writePackageWorkspace(document, test);
  const reference = parsePackageReference(test.reference ?? `${document["name"]}@^1.0.0`) as PackageReference;
  const opened = openLockedPackage(
    { server: "tiny", reference, lock: { file: lock, server: "tiny" } },
    { root },
  );
  opened.catch(() => {});
  return { root, opened, requests: files.requests };
}

async function refused(test: Case): Promise<PortolanError> {
  const { root, opened } = await open(test);
  const error: unknown = await opened.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isPortolanError(error)) throw new Error(`it was not refused in our words: ${String(error)}`);
  expect(error.hint).not.toBe("");
  expect(leftIn(root)).toEqual([]);
  return error;
}

/** Entries, records, work folders and partial downloads. */
function leftIn(root: string): string[] {
  return ["entries", "specs", "work", "partial"].flatMap((name) => {
    const folder = join(root, "files", name);
    return existsSync(folder) ? readdirSync(folder).map((found) => `${name}/${found}`) : [];
  });
}

const honestZip = makeZip([{ path: "server.js", body: SERVER_SCRIPT }]);

it.each([
  ["one file", SERVER_SCRIPT],
  ["a tar.gz", makeTarGz([{ path: "package/server.js", body: SERVER_SCRIPT }])],
  ["a zip", honestZip],
])("an untampered package is installed: %s", async (_, honest) => {
  const { opened, root } = await open({ honest });
  expect((await opened).program).toMatchObject({ kind: "file", command: process.execPath });
  expect(leftIn(root).map((path) => path.split("/")[0])).toEqual(["entries", "specs"]);
});

it("an interrupted download is resumed by the next command, from where it ended", async () => {
  const half = Math.floor(SERVER_SCRIPT.length / 2);
  const total = Buffer.byteLength(SERVER_SCRIPT);
  let isBroken = true;
  const files = await startFileServer();
  const url = files.serve("/file", ({ headers }, response) => {
    const start = Number(/^bytes=(\d+)-$/.exec(headers.range ?? "")?.[1] ?? 0);
    expect(start === 0 ? undefined : headers["if-range"]).toBe(start === 0 ? undefined : '"1"');
    if (isBroken && start > 0) return void response.destroy();
    response.writeHead(start === 0 ? 200 : 206, {
      etag: '"1"',
      "content-length": total - start,
      ...(start === 0 ? {} : { "content-range": `bytes ${start}-${total - 1}/${total}` }),
    });
    if (isBroken) {
      response.write(SERVER_SCRIPT.slice(0, half));
      // The connection ends when the first half is on the disk.
      void vi.waitFor(() => expect(partSizes()).toContain(half)).then(() => response.destroy());
    } else response.end(SERVER_SCRIPT.slice(start));
  });
  const { root, lock } = await writePackageWorkspace(filePackage(url, SERVER_SCRIPT));
  const parts = join(root, "files", "partial");
  const partSizes = (): number[] => readdirSync(parts).map((name) => statSync(join(parts, name)).size);
  const reference = parsePackageReference("@alice/github-mcp@1") as PackageReference;
  const start = (): Promise<PackageProgram> =>
    openLockedPackage({ server: "tiny", reference, lock: { file: lock, server: "tiny" } }, { root });
  await expect(start()).rejects.toMatchObject({ code: "INSTALL_FAILED" });
  isBroken = false;
  expect((await start()).program.kind).toBe("file");
  expect(files.requests.at(-1)).toBe(`GET /file bytes=${half}-`);
  expect(readdirSync(parts)).toEqual([]);
});

describe("a download is refused", () => {
  it.each<[string, Case, RegExp]>([
    [
      "with swapped bytes",
      { served: SERVER_SCRIPT.replace("echo", "evil") },
      /its hash is sha256-.* was expected/,
    ],
    ["that is larger than declared", { served: `${SERVER_SCRIPT}more` }, /bytes, but its publisher declares/],
    [
      "that is smaller than declared",
      { served: SERVER_SCRIPT.slice(1) },
      /bytes, but its publisher declares/,
    ],
    [
      "that goes on for ever without a length",
      { served: (_, response) => void (response.write(SERVER_SCRIPT), response.end("more")) },
      /larger than \d+ bytes/,
    ],
    [
      "that is cut short, without a length",
      { served: (_, response) => void (response.write(SERVER_SCRIPT.slice(9)), response.end()) },
      /bytes, but its publisher declares/,
    ],
    [
      "whose connection breaks",
      {
        served: (_, response) => {
          response.writeHead(200, { "content-length": Buffer.byteLength(SERVER_SCRIPT) });
          response.write(SERVER_SCRIPT.slice(0, 50), () => response.destroy());
        },
      },
      /could not be downloaded/,
    ],
    ["that is an error", { served: (_, response) => void response.writeHead(500).end() }, /status 500/],
    ["that redirects to http", { served: redirect("http://example.com/x") }, /not https/],
    ["that redirects to a private address", { served: redirect("https://10.0.0.1/x") }, /private address/],
    ["that redirects in a loop", { served: redirect("/file") }, /too many redirects/],
    [
      "of another platform's file",
      {
        change: (document) => {
          const key = `${process.platform}-${process.arch}`;
          const { url } = document["source"];
          document["source"].platforms = { [key]: { url, hash: sri("for this platform") } };
        },
      },
      /its hash is/,
    ],
  ])("%s", async (_, test, message) => {
    const error = await refused(test);
    expect(error.code).toBe("INSTALL_FAILED");
    expect(error.message).toMatch(message);
  });

  it("whose second half belongs to another file, because all bytes are verified together", async () => {
    const half = Math.floor(SERVER_SCRIPT.length / 2);
    const served = (request: IncomingMessage, response: ServerResponse): void => {
      const total = Buffer.byteLength(SERVER_SCRIPT);
      if (request.headers.range === undefined) {
        response.writeHead(200, { etag: '"1"', "content-length": total });
        response.write(SERVER_SCRIPT.slice(0, half), () => response.socket?.end());
      } else {
        response.writeHead(206, { etag: '"1"', "content-range": `bytes ${half}-${total - 1}/${total}` });
        response.end("x".repeat(total - half));
      }
    };
    // Every attempt ends in the middle, so that each is resumed with the wrong half.
    const { opened, requests } = await open({ served });
    await expect(opened).rejects.toMatchObject({ code: "INSTALL_FAILED" });
    expect(requests.length).toBeLessThan(12);
  });
});

function redirect(location: string) {
  return (_: IncomingMessage, response: ServerResponse): void =>
    void response.writeHead(302, { location }).end();
}

const PROGRAM: TarEntry = { path: "server.js", body: SERVER_SCRIPT };
const tar = (...entries: TarEntry[]): Buffer => makeTarGz([PROGRAM, ...entries]);
const zip = (...entries: ZipEntry[]): Buffer =>
  makeZip([{ path: "server.js", body: SERVER_SCRIPT }, ...entries]);
const damaged = (): Buffer => {
  const bytes = makeTar([PROGRAM]);
  bytes[0] = 65;
  return gzipSync(bytes);
};

describe("an archive with the right hash is refused because of", () => {
  it.each<[string, Buffer, RegExp]>([
    ["tar: a path upwards", tar({ path: "../x", body: "x" }), /contains the path "\.\.\/x"/],
    ["tar: a hidden path upwards", tar({ path: "a/../../x", body: "x" }), /contains the path/],
    ["tar: an absolute path", tar({ path: "/tmp/x", body: "x" }), /contains the path/],
    ["tar: a backslash", tar({ path: "..\\x", body: "x" }), /contains the path/],
    ["tar: a drive letter", tar({ path: "C:/x", body: "x" }), /contains the path/],
    ["tar: a control character", tar({ path: "a\nb", body: "x" }), /contains the path/],
    [
      "tar: a long name upwards",
      tar({ path: "y", type: "L", body: "../x\0" }, { path: "z", body: "" }),
      /contains the path/,
    ],
    [
      "tar: an extended name upwards",
      tar({ path: "y", type: "x", body: "13 path=../x\n" }, { path: "z", body: "" }),
      /contains the path/,
    ],
    ["tar: a link out", tar({ path: "x", type: "2", link: "/etc/passwd" }), /is a link or a device/],
    ["tar: a link inside", tar({ path: "x", type: "2", link: "server.js" }), /is a link or a device/],
    ["tar: a hard link", tar({ path: "x", type: "1", link: "server.js" }), /is a link or a device/],
    ["tar: a device", tar({ path: "x", type: "3" }), /is a link or a device/],
    ["tar: a pipe", tar({ path: "x", type: "6" }), /is a link or a device/],
    ["tar: a setuid program", tar({ path: "x", body: "x", mode: 0o4755 }), /setuid/],
    ["tar: one file twice", tar({ path: "./server.js", body: "evil" }), /twice/],
    ["tar: other capitals", tar({ path: "Server.js", body: "evil" }), /the same name on some systems/],
    [
      "tar: other code points",
      tar({ path: "\u00e9", body: "1" }, { path: "e\u0301", body: "2" }),
      /the same name on some systems/,
    ],
    ["tar: a file as a folder", tar({ path: "server.js/x", body: "x" }), /twice/],
    [
      "tar: a bomb",
      tar({ path: "x", body: Buffer.alloc(30 * 1024 * 1024) }),
      /larger than the limit for this archive/,
    ],
    ["tar: an end in the middle", gzipSync(makeTar([PROGRAM]).subarray(0, 700)), /truncated/i],
    ["tar: a lying size", tar({ path: "x", body: "1", size: 99_999 }), /truncated/i],
    ["tar: a damaged header", damaged(), /checksum/],
    ["tar: half of the gzip", makeTarGz([PROGRAM]).subarray(0, 100), /end of file|archive/],
    [
      "tar: a very deep path",
      tar({ path: "d/".repeat(45) + "x".repeat(5), body: "x" }, ...deep()),
      /path|deep/,
    ],
    ["tar: no program", makeTarGz([{ path: "readme", body: "x" }]), /contains no "server.js"/],
    ["xz", Buffer.from("fd377a585a000000", "hex"), /packed with xz/],
    ["zstd", Buffer.from("28b52ffd00000000", "hex"), /packed with zstd/],
    ["zip: a path upwards", zip({ path: "../x", body: "x" }), /invalid relative path/],
    ["zip: an absolute path", zip({ path: "/tmp/x", body: "x" }), /absolute path/],
    ["zip: a backslash", zip({ path: "..\\x", body: "x" }), /invalid characters/],
    ["zip: a link", zip({ path: "x", body: "/etc/passwd", mode: 0o120777 }), /is a link or a device/],
    ["zip: a setuid program", zip({ path: "x", body: "x", mode: 0o104755 }), /setuid/],
    [
      "zip: a size that is too small",
      zip({ path: "x", body: "x".repeat(999), size: 3 }),
      /too many bytes|size/,
    ],
    ["zip: a size that is too large", zip({ path: "x", body: "x", size: 999 }), /not enough bytes|size/],
    [
      "zip: a bomb",
      zip({ path: "x", body: Buffer.alloc(30 * 1024 * 1024) }),
      /larger than the limit for this archive/,
    ],
    ["zip: one file twice", zip({ path: "server.js", body: "evil" }), /twice/],
    ["zip: other capitals", zip({ path: "SERVER.js", body: "evil" }), /the same name on some systems/],
    ["zip: two names for one file", zip({ path: "x", localPath: "y", body: "x" }), /two different names/],
    ["zip: an encrypted file", zip({ path: "x", body: "x", encrypted: true }), /encrypted/],
    ["zip: an end in the middle", honestZip.subarray(0, honestZip.length - 30), /central directory|end of/i],
  ])("%s", async (_, honest, message) => {
    const error = await refused({ honest });
    expect(error.code).toBe("INSTALL_FAILED");
    expect(error.message).toMatch(message);
  });
});

function deep(): TarEntry[] {
  return [
    { path: "y", type: "L", body: `${"d/".repeat(70)}x\0` },
    { path: "z", body: "x" },
  ];
}

describe("a start is refused", () => {
  it.each<[string, Case, string, RegExp]>([
    [
      "on another operating system",
      {
        change: (document) =>
          (document["requirements"] = { os: [process.platform === "linux" ? "win32" : "linux"] }),
      },
      "PLATFORM_UNSUPPORTED",
      /supports only the operating system/,
    ],
    [
      "on another processor",
      {
        change: (document) =>
          (document["requirements"] = { arch: [process.arch === "x64" ? "arm64" : "x64"] }),
      },
      "PLATFORM_UNSUPPORTED",
      /supports only the processor/,
    ],
    [
      "with another Node.js",
      { change: (document) => (document["requirements"] = { runtime: { node: ">=99" } }) },
      "VERSION_MISMATCH",
      /needs Node\.js >=99/,
    ],
    [
      "without a transport that can be started",
      { change: (document) => (document["mcp"].transport = ["websocket"]) },
      "NOT_SUPPORTED",
      /supports websocket, but not stdio/,
    ],
    [
      "with another hash in the lock",
      { locked: { integrity: sri("x") } },
      "FORBIDDEN",
      /The integrity of .* in portolan.lock/,
    ],
    [
      "with another source in the lock",
      { locked: { source: "https://example.com/x" } },
      "FORBIDDEN",
      /The source of/,
    ],
    [
      "with an older version in the lock",
      { locked: { version: "1.0.0-beta.1" } },
      "VERSION_MISMATCH",
      /portolan.lock has the version 1.0.0-beta.1/,
    ],
    ["with a newer version in the lock", { locked: { version: "1.9.9" } }, "FORBIDDEN", /The version of/],
    [
      "with another package in the lock",
      { locked: { name: "@alice/other-mcp" } },
      "VERSION_MISMATCH",
      /names the package/,
    ],
    [
      "with a version outside of the range",
      { reference: "@alice/github-mcp@^2" },
      "VERSION_MISMATCH",
      /requires @alice\/github-mcp@\^2/,
    ],
    [
      "without the hash of the metadata",
      { locked: { metadata: undefined } },
      "FILE_INVALID",
      /no hash of the metadata/,
    ],
    [
      "without the metadata",
      { locked: { metadata: sri("other") } },
      "INSTALL_FAILED",
      /is not on this machine/,
    ],
  ])("%s", async (_, test, code, message) => {
    const error = await refused(test);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  it("with other metadata than the lock file names, and the store does not keep it", async () => {
    const files = await startFileServer();
    const document = filePackage(files.serve("/file", SERVER_SCRIPT), SERVER_SCRIPT);
    const { root, lock } = await writePackageWorkspace(document, { folder: packageFolder(), keep: false });
    const reference = parsePackageReference("@alice/github-mcp@^1.0.0") as PackageReference;
    const other = Buffer.from(JSON.stringify({ ...document, description: "other" }));
    const opened = openLockedPackage(
      { server: "tiny", reference, lock: { file: lock, server: "tiny" } },
      { root, fetchDocument: async () => other },
    );
    await expect(opened).rejects.toMatchObject({
      code: "FORBIDDEN",
      message: expect.stringContaining("is not the document that portolan.lock names") as string,
    });
    expect(existsSync(join(root, "documents"))).toBe(false);
    expect(files.requests).toEqual([]);
  });
});
