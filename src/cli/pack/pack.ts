// `portolan pack`: derives the metadata document of a package, makes its archive, and says what a person must fill in.

import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writeAtomic } from "../../base/files/atomic-write.ts";
import { readLimited } from "../../base/files/limited-read.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { parsePackage } from "../../formats/package/index.ts";
import { type DocumentChange, packDocument, textIn } from "../../packages/index.ts";
import type { Cli, Words } from "../context.ts";
import type { RawOptions } from "../options/parse.ts";
import { orInterrupted } from "../terminal/interrupt.ts";
import { pathLabeller } from "../workspace/folder.ts";
import { archiveName, DOCUMENT_NAMES, findDocument } from "./document-file.ts";
import { gather } from "./gather.ts";
import { findSubject } from "./subject.ts";
import { describePack } from "./view.ts";

export interface RawPackOptions extends RawOptions {
  out?: string;
  name?: string;
  include?: string[];
  check?: boolean;
  /** False with --no-start. */
  start?: boolean;
}

export interface PackReport {
  readonly document: string;
  readonly archive?: { readonly file: string; readonly files: readonly string[] };
  readonly hash?: string;
  readonly size?: number;
  /** Whether the document is new, and its fields that changed or were kept. */
  readonly isNew: boolean;
  readonly changes: readonly DocumentChange[];
  /** The fields that a person must still fill in before the package can be published. */
  readonly missing: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  readonly notes: readonly string[];
  /** With --check: whether the files are as pack would write them. */
  readonly isCurrent: boolean;
}

/** Files are written at the end, each in one step. */
export function pack(cli: Cli, words: Words, raw: RawPackOptions): Promise<number> {
  return orInterrupted(
    cli,
    () => ({ message: "No file was written." }),
    () => packSubject(cli, words, raw),
  );
}

async function packSubject(cli: Cli, words: Words, raw: RawPackOptions): Promise<number> {
  const { io, output } = cli;
  if (raw.name !== undefined && !/^@[a-z0-9][a-z0-9-]*\/[a-z0-9][a-z0-9-]*$/.test(raw.name))
    throw new PortolanError("USAGE", `--name ${JSON.stringify(raw.name)} is not a valid package name.`, {
      hint: "Write @user/name in lower case, such as @alice/github-mcp.",
    });
  const subject = await findSubject(words, cli);
  const gathered = await gather(cli, subject, { include: raw.include ?? [], start: raw.start !== false });
  const { facts, archive, notes } = gathered;
  const folder = raw.out === undefined ? gathered.folder : resolve(io.cwd, raw.out);
  const before = await findDocument(folder);
  const file = before?.file ?? join(folder, DOCUMENT_NAMES[0] as string);
  const { text, changes } = packDocument(facts, { name: raw.name, before });
  const parsed = parsePackage(text, file, {
    mode: "strict",
    setLater: archive === undefined ? ["publishedAt"] : ["publishedAt", "url"],
  });
  const diagnostics = parsed.diagnostics.map((one) => withHint(one, text, facts.module));
  const name = textIn(text, file, "name") ?? facts.module;
  const version = textIn(text, file, "version") ?? "0.0.0";
  const archiveFile = join(folder, archiveName(name, version));
  const isCurrent = await isSame(
    file,
    Buffer.from(text),
    archive && { file: archiveFile, bytes: archive.bytes },
  );
  cli.interrupt.signal.throwIfAborted();
  if (raw.check !== true) {
    await mkdir(folder, { recursive: true });
    // The archive first: a document never names the hash of a file that is not there.
    if (archive !== undefined) await write(archiveFile, archive.bytes);
    if (text !== before?.text) await write(file, Buffer.from(text));
  }
  const report: PackReport = {
    document: file,
    archive: archive && { file: archiveFile, files: archive.names },
    hash: facts.source?.hash,
    size: facts.source?.size,
    isNew: before === undefined,
    changes,
    missing: diagnostics.filter(({ severity }) => severity === "error"),
    warnings: diagnostics.filter(({ severity }) => severity === "warning"),
    notes,
    isCurrent,
  };
  if (output.form === "json") output.json({ ...report, isReady: report.missing.length === 0 });
  else
    output.print(
      describePack(report, { ...output, label: pathLabeller(io), text, isCheck: raw.check === true }),
    );
  return raw.check === true && !(isCurrent && report.missing.length === 0) ? 1 : 0;
}

/** The schema only knows that a text is empty, not what belongs there. */
function withHint(diagnostic: Diagnostic, text: string, module: string): Diagnostic {
  const hints: Readonly<Record<string, string>> = {
    "/name": `Write the name here, or add --name @user/${module}. @user is the scope that your registry token owns.`,
    "/version": "Write three numbers: 1.0.0.",
    "/description": "Write what the server is for, in fewer than 200 characters.",
    "/author/name": "Write the name of a person or an organisation.",
    "/mcp/executable": "Write the program of the package: a name, or a path relative to the package.",
    "/metadata/license": "Write an SPDX expression, such as MIT.",
  };
  const { file = "", path = "" } = diagnostic;
  const hint = hints[path];
  const isEmpty = textIn(text, file, ...path.split("/").slice(1)) === undefined;
  return hint === undefined || !isEmpty ? diagnostic : { ...diagnostic, hint };
}

async function isSame(
  file: string,
  bytes: Buffer,
  archive: { readonly file: string; readonly bytes: Buffer } | undefined,
): Promise<boolean> {
  const same = async (path: string, wanted: Buffer): Promise<boolean> =>
    (await readLimited(path, wanted.length + 1).catch(() => undefined))?.equals(wanted) === true;
  return (await same(file, bytes)) && (archive === undefined || (await same(archive.file, archive.bytes)));
}

async function write(file: string, bytes: Buffer): Promise<void> {
  try {
    await writeAtomic(file, bytes, { mode: 0o644 });
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `${file} cannot be written: ${(cause as Error).message}`, {
      cause,
    });
  }
}
