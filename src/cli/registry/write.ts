// `portolan publish`, `deprecate` and `unpublish`: changes in a registry.

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { readLimited } from "../../base/files/limited-read.ts";
import { shellWord } from "../../base/text/command-line.ts";
import { parseIntegrity, sameIntegrity, toSri } from "../../base/text/integrity.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { openDocument } from "../../formats/document/index.ts";
import { parsePackage } from "../../formats/package/index.ts";
import type { Cli } from "../context.ts";
import { diagnosticLine } from "../output/diagnostic.ts";
import { archiveName, DOCUMENT_NAMES, findDocument } from "../pack/document-file.ts";
import { type Left, orInterrupted } from "../terminal/interrupt.ts";
import { count } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { openForWriting, parseSpec, type RawRegistryOptions } from "./options.ts";

const MAX_DOCUMENT = 1024 * 1024;

export function publish(cli: Cli, written: string | undefined, raw: RawRegistryOptions): Promise<number> {
  let sent: string | undefined;
  const left = (): Left =>
    sent === undefined
      ? { message: "No version was published." }
      : {
          message: `The registry may have published ${plainLine(sent, 214)}.`,
          hint: `Check it: portolan versions ${plainLine(sent, 214)}. If the version is missing, publish it again.`,
        };
  return orInterrupted(cli, left, () => publishDocument(cli, written, raw, (name) => (sent = name)));
}

/** `sending` is called before the request after which the version may be published. */
async function publishDocument(
  cli: Cli,
  written: string | undefined,
  raw: RawRegistryOptions,
  sending: (name: string) => void,
): Promise<number> {
  const { io, output } = cli;
  const document = written ?? (await defaultDocument(io.cwd));
  const path = resolve(io.cwd, document);
  let text = (
    await readLimited(path, MAX_DOCUMENT).catch((error: Error) => {
      throw new PortolanError("FILE_FAILED", `${document} cannot be read: ${error.message}`, {
        cause: error,
      });
    })
  ).toString("utf8");
  const { draft } = parsePackage(text, document, { mode: "draft" });
  const registry = await openForWriting(cli, raw, draft.name);
  const uploads = raw.file?.map((file) => resolve(io.cwd, file)) ?? (await packedBeside(path, text));
  for (const file of uploads) {
    const actual = await hashOfDeclared(file, text, document);
    await registry.upload(file, actual);
    text = withUrl(text, document, registry.fileUrl(actual), actual);
  }
  cli.interrupt.signal.throwIfAborted();
  sending(draft.name ?? document);
  const answer = await registry.publish(text, { tag: raw.tag, file: basename(document) });
  const { name, version, tags, files = [], warnings = [] } = answer as unknown as Answer;
  for (const warning of warnings) output.note(diagnosticLine(warning, output.noteColors.yellow));
  if (output.form === "json") output.json(answer);
  else {
    const tagged = Object.entries(tags).flatMap(([tag, at]) => (at === version ? [tag] : []));
    const note = tagged.length === 0 ? "" : ` with the tag ${plainLine(tagged.join(", "))}`;
    const kept =
      files.length === 0
        ? ""
        : ` The registry stores ${files.length === 1 ? "its file" : `${files.length} files`}.`;
    output.print(`Published ${plainLine(name)}@${plainLine(version)}${note} in ${registry.label}.${kept}`);
  }
  return 0;
}

async function defaultDocument(folder: string): Promise<string> {
  const found = await findDocument(folder);
  if (found !== undefined) return found.file;
  throw new PortolanError(
    "USAGE",
    `No document was given, and this folder has no ${DOCUMENT_NAMES.join(" or ")}.`,
    {
      hint: "Create it: portolan pack mcpfile.yaml, or portolan init package",
    },
  );
}

/** The archive that `portolan pack` wrote beside a document without a URL. */
async function packedBeside(path: string, text: string): Promise<string[]> {
  const { name, version, source } = parsePackage(text, path, { mode: "draft" }).draft;
  if (name === undefined || version === undefined || source?.url !== undefined) return [];
  const file = join(dirname(path), archiveName(name, version));
  return (await stat(file).catch(() => undefined))?.isFile() === true ? [file] : [];
}

/** The document that is sent: its main file is where it was uploaded, unless its author says another place. */
function withUrl(text: string, document: string, url: string, hash: string): string {
  const { source } = parsePackage(text, document, { mode: "draft" }).draft;
  const main = source?.hash === undefined ? undefined : parseIntegrity(source.hash);
  if (source?.url !== undefined || main === undefined || toSri(main) !== hash) return text;
  return openDocument("json", text).set(["source", "url"], url)?.render() ?? text;
}

interface Answer {
  readonly name: string;
  readonly version: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
  readonly warnings?: readonly Diagnostic[];
}

/** The hash in the document that a file has. Throws if the document names no such file. */
async function hashOfDeclared(file: string, text: string, document: string): Promise<string> {
  const { draft } = parsePackage(text, document, { mode: "draft" });
  const { hash, platforms = {} } = draft.source ?? {};
  const declared = [hash, ...Object.values(platforms).map((platform) => platform.hash)]
    .flatMap((written) => (written === undefined ? [] : [parseIntegrity(written)]))
    .filter((parsed) => parsed !== undefined);
  for (const algorithm of new Set(declared.map((one) => one.algorithm))) {
    const digest = createHash(algorithm);
    try {
      for await (const chunk of createReadStream(file)) digest.update(chunk as Buffer);
    } catch (error) {
      throw new PortolanError("FILE_FAILED", `${file} cannot be read: ${(error as Error).message}`, {
        cause: error,
      });
    }
    const actual = { algorithm, digest: digest.digest() };
    if (declared.some((one) => sameIntegrity(one, actual))) return toSri(actual);
  }
  throw new PortolanError("INPUT_INVALID", `No source.hash in ${document} matches the file ${file}.`, {
    hint: "If portolan pack made the file, run portolan pack again. Otherwise write the hash of this file into source.hash.",
  });
}

export async function deprecate(
  cli: Cli,
  spec: string,
  message: string | undefined,
  raw: RawRegistryOptions,
): Promise<number> {
  const { name, wanted } = parseSpec(spec);
  if (raw.undo !== true && message === undefined)
    throw new PortolanError("USAGE", "No message was given.", {
      hint: `Write what to use instead: portolan deprecate ${shellWord(spec)} "Use @alice/other-mcp."`,
    });
  const registry = await openForWriting(cli, raw, name);
  const answer = await registry.deprecate(name, {
    ...(wanted === undefined ? {} : { versions: wanted }),
    ...(raw.undo === true ? { undo: true } : { message }),
  });
  return report(cli, answer, name, raw.undo === true ? "No longer deprecated" : "Deprecated");
}

export async function unpublish(
  cli: Cli,
  spec: string,
  message: string | undefined,
  raw: RawRegistryOptions,
): Promise<number> {
  const { name, wanted } = parseSpec(spec);
  if ((wanted === undefined) === (raw.all !== true))
    throw new PortolanError(
      "USAGE",
      wanted === undefined ? "No version was given." : "--all cannot be used with a version.",
      {
        hint: `Name one version, such as portolan unpublish ${name}@1.0.0, or remove all with --all.`,
      },
    );
  const registry = await openForWriting(cli, raw, name);
  const change = { versions: wanted ?? "*", ...(message === undefined ? {} : { message }) };
  return report(cli, await registry.unpublish(name, change), name, "Unpublished");
}

export async function star(cli: Cli, spec: string, raw: RawRegistryOptions): Promise<number> {
  const { name, wanted } = parseSpec(spec);
  if (wanted !== undefined)
    throw new PortolanError("USAGE", "A star is for all versions of a package.", {
      hint: `Leave out the version: portolan star ${name}`,
    });
  const answer = await (await openForWriting(cli, raw, name)).star(name, { undo: raw.undo === true });
  const { output } = cli;
  if (output.form === "json") output.json(answer);
  else output.print(`${name} has ${count(Number(answer["stars"] ?? 0), "star")}.`);
  return 0;
}

function report(
  { output }: Cli,
  answer: Readonly<Record<string, unknown>>,
  name: string,
  done: string,
): number {
  const changed = Array.isArray(answer["changed"]) ? answer["changed"].map(String) : [];
  if (output.form === "json") output.json(answer);
  else
    output.print(
      changed.length === 0
        ? `No version of ${name} was changed: the versions have this status already, or they are unpublished.`
        : `${done}: ${changed.map((version) => `${name}@${plainLine(version, 60)}`).join(", ")}.`,
    );
  return 0;
}
