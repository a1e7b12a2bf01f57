// Access file of a workspace's gateway: its own token and its signing key, created once and kept on disk.

import { createHash, randomBytes } from "node:crypto";
import { type FileHandle, mkdir, open, realpath, stat, chmod } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { removeLeftovers, writeAtomic } from "../../base/files/atomic-write.ts";
import { withFileLock } from "../../base/files/file-lock.ts";
import {
  checkOptions,
  OPTION_KINDS,
  type OptionTable,
  PortolanError,
  type Report,
} from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";

export interface Access {
  readonly token: string;
  readonly key: Buffer;
  /** True if the token was created by this call, so that no client has it yet. */
  readonly created: boolean;
  /** The access file; undefined for access that ends with the process. */
  readonly file: string | undefined;
}

type KeptAccess = Access & { readonly file: string };

export interface AccessOptions {
  /** Folder of access files. Default: in the data folder of the user. */
  readonly folder?: string | undefined;
  /** Creates a new token and key, and replaces a damaged file too. Clients with the old token lose access. */
  readonly renew?: boolean | undefined;
  readonly report?: Report | undefined;
}

type Kept = Pick<Access, "token" | "key">;

const OPTIONS: OptionTable<AccessOptions> = {
  folder: OPTION_KINDS.text,
  renew: OPTION_KINDS.flag,
  report: OPTION_KINDS.callback,
};

const VERSION = 1;
const MAX_BYTES = 64 * 1024;
const KEY_BYTES = 32;
const TOKEN = /^ptl_[\w-]{43}$/;
const KEY = /^[\w-]{43}$/;
const AFTERWARDS =
  "You must give the new token to every client that used the token of the gateway, and sign in to the console again. Clients with a token of their own keep it.";
/** How to replace an access file: a command for one in the default folder, else a call by the program that named the folder. */
const REPLACEMENTS = {
  command: {
    access: `run portolan token --new (with -w <folder> for another workspace), then start the gateway, or run portolan reload if it is running. ${AFTERWARDS}`,
    token: "run portolan token --new.",
  },
  program: {
    access: `call openAccess() with renew: true. ${AFTERWARDS}`,
    token: "call openAccess() with renew: true.",
  },
};
type Replacement = Readonly<Record<"access" | "token", string>>;

/** Two processes that start at the same time get the same access. Throws FILE_FAILED for a damaged file, which only `renew` replaces. */
export async function openAccess(workspacePath: string, options: AccessOptions = {}): Promise<KeptAccess> {
  checkOptions("the options of openAccess()", options, OPTIONS);
  const { report = () => {}, renew = false } = options;
  const folder = options.folder ?? (await defaultFolder());
  const { workspace, name } = await nameOf(workspacePath);
  const file = join(folder, `${name}.json`);
  try {
    const kept = renew ? undefined : await read(file, report);
    if (kept !== undefined) return { ...kept, created: false, file };
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await narrowFolder(folder, report);
    return await withFileLock(file, async () => {
      await removeLeftovers(file);
      // Another process may have created the file meanwhile.
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

/** The token that an access file has now; `known` without a file. Throws FILE_FAILED for a damaged file. */
export async function readToken(file: string | undefined, known: string): Promise<string> {
  if (file === undefined) return known;
  return (await read(file, () => {}))?.token ?? known;
}

/** Access that is not stored and ends with the process. */
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

/** Undefined when there is no such file. */
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
    const kept =
      size > MAX_BYTES
        ? damaged(`it has ${size} bytes, but the limit is ${MAX_BYTES}`)
        : parse(await handle.readFile("utf8"));
    if ("problem" in kept) throw await unusable(file, kept);
    if (isWide(mode)) {
      await handle.chmod(0o600);
      const { token } = await replacementOf(file);
      report(narrowed(file, `Other users of this computer may know the token. To replace it, ${token}`));
    }
    return kept;
  } finally {
    await handle.close();
  }
}

/** Why the content cannot be used, in a phrase that follows the name of the file. */
interface Unusable {
  readonly problem: string;
  readonly remedy: string;
}

function parse(text: string): Kept | Unusable {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return damaged("it is not JSON");
  }
  if (!isObject(value)) return damaged("it contains no object");
  const { version, token, key } = value;
  if (typeof version === "number" && version > VERSION)
    return {
      problem: `has the version ${version}, but this version of Portolan supports only ${VERSION}`,
      remedy: "A newer version of Portolan wrote the file. Use that version of Portolan.",
    };
  if (version !== VERSION) return damaged("it has no valid version");
  if (typeof token !== "string" || !TOKEN.test(token)) return damaged("its token is malformed");
  if (typeof key !== "string" || !KEY.test(key)) return damaged("its key is malformed");
  return { token, key: Buffer.from(key, "base64url") };
}

function damaged(reason: string): Unusable {
  return { problem: `is damaged: ${reason}`, remedy: "Restore the file from a backup." };
}

async function unusable(file: string, { problem, remedy }: Unusable): Promise<PortolanError> {
  const { access } = await replacementOf(file);
  return new PortolanError("FILE_FAILED", `the gateway's access file ${file} ${problem}`, {
    hint: `${remedy} Or replace it with a new one: ${access}`,
    data: { file },
  });
}

/** The command uses only the default folder. */
async function replacementOf(file: string): Promise<Replacement> {
  return REPLACEMENTS[dirname(file) === (await defaultFolder()) ? "command" : "program"];
}

async function narrowFolder(folder: string, report: Report): Promise<void> {
  const { mode } = await stat(folder);
  if (!isWide(mode)) return;
  await chmod(folder, 0o700);
  report(narrowed(folder, "No action is needed.", "folder"));
}

/** True if other users can read it. Windows does not use these mode bits. */
function isWide(mode: number): boolean {
  return process.platform !== "win32" && (mode & 0o077) !== 0;
}

function narrowed(file: string, hint: string, noun = "file"): Parameters<Report>[0] {
  const message = `other users of this computer could read this ${noun}; Portolan has changed its permissions, so that only you can read it`;
  return { code: "FILE_FAILED", severity: "warning", message, file, hint };
}

async function nameOf(workspacePath: string): Promise<{ readonly workspace: string; readonly name: string }> {
  const workspace = await realpath(resolve(workspacePath)).catch(() => resolve(workspacePath));
  return { workspace, name: createHash("sha256").update(workspace).digest("hex").slice(0, 32) };
}

/** A file of the workspace's gateway beside its access file. */
export async function gatewayFile(workspacePath: string, suffix: string): Promise<string> {
  return join(await defaultFolder(), `${(await nameOf(workspacePath)).name}${suffix}`);
}

async function defaultFolder(): Promise<string> {
  const { default: envPaths } = await import("env-paths");
  return join(envPaths("portolan", { suffix: "" }).data, "gateway");
}
