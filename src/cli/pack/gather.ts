// Gathers what `portolan pack` writes about a subject: its facts, and the bytes of its archive.

import { stat } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { integrityOf, toSri } from "../../base/text/integrity.ts";
import { PortolanError } from "../../errors/index.ts";
import { parseMcpfile } from "../../formats/mcpfile/index.ts";
import { packNpmPackage } from "../../install/index.ts";
import type { InvokedServer } from "../../model/index.ts";
import { factsOfMcpfile, factsOfNpm, packArchive, type PackageFacts } from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { withSpinner } from "../output/progress.ts";
import { listServer, permissionsOfOptions } from "./live.ts";
import { readNpmManifest } from "./npm-manifest.ts";
import { readText, refuseErrors } from "./source-files.ts";
import type { Subject } from "./subject.ts";

export interface Gathered {
  readonly facts: PackageFacts;
  /** The archive that belongs beside the document. An archive of npm comes from npm. */
  readonly archive?: { readonly bytes: Buffer; readonly names: readonly string[] };
  /** The folder that the files are written to by default. */
  readonly folder: string;
  /** Remarks for the person. */
  readonly notes: readonly string[];
}

export interface GatherOptions {
  /** Further files of the archive. */
  readonly include: readonly string[];
  /** False: an npm package is not started, so that its tools stay unknown. */
  readonly start: boolean;
}

export async function gather(cli: Cli, subject: Subject, options: GatherOptions): Promise<Gathered> {
  switch (subject.kind) {
    case "mcpfile":
      return gatherMcpfile(cli, subject, options);
    case "driver": {
      refuseIncludes(options);
      const { gatherDriver } = await import("./driver.ts");
      return gatherDriver(cli, subject.file, (what) => fetchNpm(cli, what));
    }
    case "npm":
      return gatherNpm(cli, subject, options);
    case "server":
      refuseIncludes(options);
      return { ...(await listServer(cli, subject.target)), folder: cli.io.cwd };
  }
}

async function gatherMcpfile(
  cli: Cli,
  { file, server: wanted }: Subject & { kind: "mcpfile" },
  { include }: GatherOptions,
): Promise<Gathered> {
  const { servers, diagnostics } = parseMcpfile(await readText(file), file);
  refuseErrors(cli, diagnostics);
  const [first] = servers;
  const names = servers.map(({ info }) => info.name);
  const server = wanted === undefined ? first : servers.find(({ info }) => info.name === wanted);
  if (server === undefined || (wanted === undefined && servers.length > 1))
    throw new PortolanError(
      "USAGE",
      servers.length === 0
        ? `${basename(file)} has no servers.`
        : wanted !== undefined
          ? `The mcpfile ${basename(file)} does not contain the server ${JSON.stringify(wanted)}.`
          : `${basename(file)} has ${servers.length} servers, but a package contains one server.`,
      {
        hint:
          names.length === 0
            ? "Check that the file is an mcpfile with tools, prompts or resources."
            : `Choose one: ${names.map((name) => `portolan pack ${shellWord(relative(cli.io.cwd, file))} ${shellWord(name)}`).join(", or ")}`,
      },
    );
  const folder = dirname(file);
  const { envNames } = await import("../../invoke/index.ts");
  const beside = await serverConfigOf(file);
  const {
    bytes,
    hash,
    size,
    names: packed,
  } = await packArchive(folder, [
    basename(file),
    ...beside,
    ...include.map((path) => resolve(cli.io.cwd, path)),
  ]);
  const facts = factsOfMcpfile(server, {
    file: basename(file),
    isOneOfSeveral: servers.length > 1,
    variables: [...envNames(server)].sort(),
  });
  return {
    facts: { ...facts, source: { type: "binary", hash, size } },
    archive: { bytes, names: packed },
    folder,
    notes: await missingFiles(server, packed, cli.io.cwd),
  };
}

/** The settings beside the mcpfile: `mcpserver.yaml`, or `payments.mcpserver.yaml` for `payments.mcpfile.yaml`. */
async function serverConfigOf(file: string): Promise<string[]> {
  const [, before = "", ending] = /^(|.+\.)mcpfile\.(ya?ml)$/i.exec(basename(file)) ?? [];
  if (ending === undefined) return [];
  for (const end of [ending, ending.toLowerCase() === "yml" ? "yaml" : "yml"]) {
    const name = `${before}mcpserver.${end}`;
    if (await isFile(join(dirname(file), name))) return [name];
  }
  return [];
}

/** Commands that name files of the mcpfile's folder: without these files the package would not work elsewhere. */
async function missingFiles(
  server: InvokedServer,
  packed: readonly string[],
  cwd: string,
): Promise<string[]> {
  const texts = server.tools.flatMap(({ invocation }) =>
    invocation.kind === "cli"
      ? invocation.words.flatMap((word) => {
          const [part, more] = word.kind === "word" ? word.parts : [];
          return part?.kind === "text" && more === undefined ? [part.text] : [];
        })
      : [],
  );
  const missing = new Set<string>();
  for (const text of new Set(texts)) {
    const name = text.replace(/^\.\//, "");
    if (name === "" || /^[-/~]|^\.\.|:/.test(name) || packed.includes(name)) continue;
    if (await isFile(join(server.folder, name))) missing.add(name);
  }
  return [...missing].map(
    (name) =>
      `A command names the file ${name}, which is not in the package. Add it: --include ${shellWord(relative(cwd, join(server.folder, name)))}`,
  );
}

async function fetchNpm(cli: Cli, what: string, isFolder = false): Promise<Buffer> {
  const { io, interrupt } = cli;
  const { bytes } = await withSpinner(cli, (spinner) => {
    spinner.start(isFolder ? "packing with npm" : `fetching ${what}`);
    return packNpmPackage(what, { signal: interrupt.signal, env: io.env });
  });
  return bytes;
}

async function gatherNpm(
  cli: Cli,
  { what, isFolder }: Subject & { kind: "npm" },
  { include, start }: GatherOptions,
): Promise<Gathered> {
  refuseIncludes({ include });
  const { io, interrupt, options } = cli;
  const bytes = await fetchNpm(cli, what, isFolder);
  const manifest = await readNpmManifest(bytes);
  const source = { manifest, hash: toSri(integrityOf(bytes, "sha512")), size: bytes.length };
  const folder = isFolder ? what : io.cwd;
  const permissions = permissionsOfOptions(cli);
  const variables = Object.keys(options.env).sort();
  const plain = factsOfNpm({ ...source, permissions, variables });
  const command = isFolder ? await ownCommand(what, manifest) : ["npx", "-y", what];
  if (!start) return { facts: plain, folder, notes: [NOT_STARTED] };
  if (command === undefined) return { facts: plain, folder, notes: [NO_PROGRAM] };
  try {
    const { takeTarget } = await import("../target/connect.ts");
    const { target } = takeTarget({ words: [], server: command }, cli);
    const { facts } = await listServer(cli, { kind: "direct", direct: target, rest: [] });
    const { capabilities, version: revision } = facts.mcp;
    return {
      facts: factsOfNpm({ ...source, permissions, variables, capabilities, revision }),
      folder,
      notes: [],
    };
  } catch (error) {
    interrupt.signal.throwIfAborted();
    const why = error instanceof Error ? error.message.split("\n")[0] : String(error);
    return { facts: plain, folder, notes: [`Portolan could not list the tools: ${why} ${NOT_LISTED}`] };
  }
}

const NOT_STARTED =
  "The metadata lists no tools, because Portolan did not start the server. Run pack again without --no-start, or write the tools into mcp.capabilities by hand.";

const NO_PROGRAM =
  "The metadata lists no tools: Portolan could not start the server, because package.json names no program (bin) that exists in the folder. Build the package and run pack again, or write the tools into mcp.capabilities by hand.";

const NOT_LISTED =
  "The metadata lists no tools. Run pack again with the options that the server needs (such as --env and --allow-net), or write the tools into mcp.capabilities by hand.";

/** The command that runs the first program of a folder's package. */
async function ownCommand(folder: string, manifest: unknown): Promise<string[] | undefined> {
  const { bin } = (manifest ?? {}) as { bin?: unknown };
  const paths = typeof bin === "string" ? [bin] : Object.values((bin ?? {}) as Record<string, unknown>);
  const [path] = paths;
  if (typeof path !== "string" || !(await isFile(join(folder, path)))) return undefined;
  return [process.execPath, join(folder, path)];
}

function refuseIncludes({ include }: Pick<GatherOptions, "include">): void {
  if (include.length > 0)
    throw new PortolanError(
      "USAGE",
      "--include works only with an mcpfile, because Portolan creates the archive only for mcpfiles.",
    );
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}
