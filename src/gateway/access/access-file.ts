// What belongs to one workspace's gateway alone: the token that lets its owner in, and the key that it signs with. Made once, kept on disk.

import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, realpath, stat, chmod } from "node:fs/promises";
import { join, resolve } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import { PortolanError, type Report } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";

export interface Access {
  readonly token: string;
  readonly key: Buffer;
  /** It was made just now: nobody has this token yet. */
  readonly created: boolean;
  /** Where it is kept; undefined for access that ends with the process. */
  readonly file: string | undefined;
}

type KeptAccess = Access & { readonly file: string };

export interface AccessOptions {
  /** Absent: in the user's data folder. */
  readonly folder?: string | undefined;
  /** Makes a new token and key, also in place of a damaged file. Who has the old token is locked out. */
  readonly renew?: boolean | undefined;
  readonly report?: Report | undefined;
}

type Kept = Pick<Access, "token" | "key">;

const VERSION = 1;
const MAX_BYTES = 64 * 1024;
const KEY_BYTES = 32;
const TOKEN = /^ptl_[\w-]{43}$/;
const KEY = /^[\w-]{43}$/;

/** Two processes that start at once get the same. Throws FILE_FAILED for a file that is damaged: it is never replaced unasked. */
export async function openAccess(workspacePath: string, options: AccessOptions = {}): Promise<KeptAccess> {
  const { report = () => {}, renew = false } = options;
  const folder = options.folder ?? (await defaultFolder());
  const workspace = await realpath(resolve(workspacePath)).catch(() => resolve(workspacePath));
  const name = createHash("sha256").update(workspace).digest("hex").slice(0, 32);
  const file = join(folder, `${name}.json`);
  try {
    const kept = renew ? undefined : await read(file, report);
    if (kept !== undefined) return { ...kept, created: false, file };
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await narrowFolder(folder, report);
    return await withFileLock(file, async () => {
      await removeLeftovers(file);
      // Another process may have been faster.
      const first = renew ? undefined : await read(file, report);
      if (first !== undefined) return { ...first, created: false, file };
      const fresh = create();
      await write(file, workspace, fresh);
      return { ...fresh, created: true, file };
    });
  } catch (error) {
    if (error instanceof PortolanError) throw error;
    const { message } = error as Error;
    throw new PortolanError("FILE_FAILED", `the gateway's access file ${file} cannot be used: ${message}`, {
      cause: error,
      data: { file },
    });
  }
}

/** Access that is kept nowhere. */
export function createAccess(): Access {
  return { ...create(), created: true, file: undefined };
}

function create(): Kept {
  return { token: `ptl_${randomBytes(32).toString("base64url")}`, key: randomBytes(KEY_BYTES) };
}

async function write(file: string, workspace: string, { token, key }: Kept): Promise<void> {
  const content = { version: VERSION, workspace, token, key: key.toString("base64url") };
  await writeAtomic(file, Buffer.from(`${JSON.stringify(content, null, 2)}\n`), { mode: 0o600 });
}

/** Nothing when there is no such file. */
async function read(file: string, report: Report): Promise<Kept | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(file, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { size, mode } = await handle.stat();
    if (size > MAX_BYTES) throw damaged(file, `it has ${size} bytes`);
    const kept = parse(await handle.readFile("utf8"), file);
    if (isWide(mode)) {
      await handle.chmod(0o600);
      report(
        narrowed(file, "Others may know the token by now; make a new one if this computer has other users."),
      );
    }
    return kept;
  } finally {
    await handle.close();
  }
}

function parse(text: string, file: string): Kept {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged(file, "it is not JSON");
  }
  if (!isObject(value)) throw damaged(file, "it holds no object");
  const { version, token, key } = value;
  if (typeof version === "number" && version > VERSION)
    throw damaged(file, `its version is ${version}, known is ${VERSION}`);
  if (version !== VERSION || typeof token !== "string" || !TOKEN.test(token))
    throw damaged(file, "its token is not one that was made here");
  if (typeof key !== "string" || !KEY.test(key)) throw damaged(file, "its key is not one that was made here");
  return { token, key: Buffer.from(key, "base64url") };
}

function damaged(file: string, reason: string): PortolanError {
  return new PortolanError("FILE_FAILED", `the gateway's access file ${file} is damaged: ${reason}`, {
    hint: "Put the right file back, or remove it: the next start makes a new token, which every client then needs.",
    data: { file },
  });
}

async function narrowFolder(folder: string, report: Report): Promise<void> {
  const { mode } = await stat(folder);
  if (!isWide(mode)) return;
  await chmod(folder, 0o700);
  report(narrowed(folder, "Nothing needs to be done."));
}

/** Windows has other rights than these bits. */
function isWide(mode: number): boolean {
  return process.platform !== "win32" && (mode & 0o077) !== 0;
}

function narrowed(file: string, hint: string): Parameters<Report>[0] {
  const message = "others could read what only the gateway should; this was changed";
  return { code: "FILE_FAILED", severity: "warning", message, file, hint };
}

async function defaultFolder(): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  return join(envPaths("portolan", { suffix: "" }).data, "gateway");
}
