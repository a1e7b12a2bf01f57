// Installs one file with a known hash into the store: a program, or an archive that contains one. Nothing is unpacked before its hash
// was checked.

import { createHash } from "node:crypto";
import { chmod, mkdir, open, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readLimited } from "../base/files/limited-read.ts";
import { parseUrl, publicPart } from "../base/net/urls.ts";
import { type Integrity, toSri } from "../base/text/integrity.ts";
import { PortolanError } from "../errors/index.ts";
import { safePath, unpack } from "./archive/unpack.ts";
import { download, type Progress } from "./download.ts";
import { openStore, type Pause, type Verified } from "./store/store.ts";

export interface FileOptions {
  /** Places of the same file, tried in order. */
  readonly urls: readonly [string, ...string[]];
  readonly integrity: Integrity;
  readonly size?: number;
  /**
   * `file`: the file is the program. `archive`: it is unpacked, and `program` is a path in it; a file that is no archive is the
   * program. `package`: the same, and the program may be a script. `bundle`: a zip behind which a signature may stand; `slice` returns
   * the part that may be unpacked.
   */
  readonly content:
    | { readonly kind: "file" | "archive" | "package"; readonly program: string }
    | { readonly kind: "bundle"; readonly program: string; readonly slice: (bytes: Buffer) => Buffer };
  readonly root: string;
  /** The bearer token for a URL; undefined for foreign hosts. */
  readonly token?: (url: string) => Promise<string | undefined>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly pause?: Pause;
}

export interface InstalledFile {
  /** The program. */
  readonly file: string;
  /** The folder that the program needs, to be granted read-only. */
  readonly folder: string;
}

/** A bundle is verified and unpacked in memory. */
export const MAX_BUNDLE_BYTES: number = 256 * 1024 * 1024;
/** More seals would make every start slow. */
const MAX_SEALS = 500;

/** Finds an installed file without network. */
export async function findFile(
  options: Pick<FileOptions, "integrity" | "content" | "root">,
): Promise<InstalledFile | undefined> {
  const store = openStore(options.root, "files");
  const record = await store.find(specOf(options));
  return record && toInstalled(store.folderOf(record.key), record.name);
}

/** The facts that identify an installed file. */
export interface FileIdentity {
  readonly integrity: Integrity;
  readonly content: Pick<FileOptions["content"], "kind" | "program">;
}

/** Compares an installed file, or everything that was unpacked from it, with its hashes. Undefined if it is not installed. */
export async function verifyFile(
  options: FileIdentity & { readonly root: string; readonly discard?: boolean },
): Promise<Verified | undefined> {
  return openStore(options.root, "files").verify(specOf(options), options);
}

export async function installFile(options: FileOptions): Promise<InstalledFile> {
  const { root, integrity, urls, size, content, signal, onProgress, token } = options;
  const store = openStore(root, "files", options.pause);
  const spec = specOf(options);
  const record = await store.add(
    spec,
    async ({ folder }) => {
      const shown = labelOf(urls[0]);
      const what = `downloading ${shown}`;
      onProgress?.({ what });
      const file = join(folder, "download");
      await download({
        ...{ urls, integrity, size, file, signal, token, partials: join(root, "files", "partial") },
        onBytes: (bytes) => onProgress?.({ what, bytes }),
      });
      onProgress?.({ what: `downloaded ${shown}` });
      const { path, files } = await toProgram(file, join(folder, "content"), content, signal);
      const key = createHash("sha512").update(`${spec} ${path}`).digest("hex").slice(0, 64);
      return {
        name: path,
        version: integrity.digest.toString("hex").slice(0, 12),
        integrity: toSri(integrity),
        key,
        sealed: [path, ...files.slice(0, MAX_SEALS)].map((one) => join("content", one)),
      };
    },
    { signal },
  );
  return toInstalled(store.folderOf(record.key), record.name);
}

/** The entry is found by its hash, not by its URL. */
function specOf({ integrity, content: { kind, program } }: FileIdentity): string {
  const hash = `${integrity.algorithm}:${integrity.digest.toString("hex")}`;
  return kind === "file"
    ? `${hash} `
    : `${hash} ${safePath(program)}${kind === "package" ? " (package)" : ""}`;
}

function toInstalled(entry: string, path: string): InstalledFile {
  const folder = join(entry, "content");
  return { file: join(folder, path), folder };
}

function labelOf(url: string): string {
  const parsed = parseUrl(url);
  if (parsed?.protocol === "file:") return fileURLToPath(parsed);
  return parsed === undefined ? "a file" : publicPart(parsed).replace(/^https?:\/\//, "");
}

/** Moves the program and the files beside it into `folder`, and returns their paths there. */
async function toProgram(
  file: string,
  folder: string,
  content: FileOptions["content"],
  signal: AbortSignal | undefined,
): Promise<{ path: string; files: readonly string[] }> {
  const { kind, program } = content;
  await mkdir(folder, { mode: 0o755 });
  const archive = kind === "bundle" ? content.slice(await readLimited(file, MAX_BUNDLE_BYTES)) : file;
  const files = kind === "file" ? false : await unpack(archive, folder, undefined, signal);
  if (files === false && kind === "bundle")
    throw new PortolanError("INSTALL_FAILED", "The bundle is not a zip archive.", {
      hint: "Ask the author of the bundle for a correct one.",
    });
  if (files === false) {
    if (kind !== "package") await refuseScript(file);
    const path = safePath(basename(program));
    await rename(file, join(folder, path));
    await chmod(join(folder, path), 0o755);
    return { path, files: [] };
  }
  await rm(file);
  const path = findProgram(files, safePath(program));
  if (kind === "bundle") return { path, files };
  await chmod(join(folder, path), 0o755);
  return { path, files };
}

/** Archives often have one folder at the top, which the path need not name. */
function findProgram(files: readonly string[], wanted: string): string {
  const ending = files.filter((path) => path.endsWith(`/${wanted}`));
  const path = files.find((path) => path === wanted) ?? (ending.length === 1 ? ending[0] : undefined);
  if (path !== undefined) return path;
  throw ending.length > 1
    ? new PortolanError("INSTALL_FAILED", `The archive contains several files "${wanted}".`, {
        hint: `Give the full path of one of them: ${ending.slice(0, 10).join(", ")}.`,
      })
    : new PortolanError("INSTALL_FAILED", `The archive contains no "${wanted}".`, {
        hint: `It contains: ${files.slice(0, 10).join(", ")}.`,
      });
}

/** A shell script that is downloaded to be run would install something for the whole machine. */
async function refuseScript(path: string): Promise<void> {
  const file = await open(path, "r");
  const head = Buffer.alloc(64);
  try {
    await file.read(head, 0, head.length, 0);
  } finally {
    await file.close();
  }
  if (!/^#!.*\b(?:ba|da|z|k)?sh\b/.test(head.toString("latin1"))) return;
  throw new PortolanError("INSTALL_FAILED", "The download is a shell script, which Portolan does not run.", {
    hint: "If the script installs the program, read the script and run it yourself. Then configure the server with the path of the installed program as its command.",
  });
}
