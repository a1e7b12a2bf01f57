// Gathers what `portolan pack` writes about a subject: its facts, and the bytes of its archive.

import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { readLimited } from "../../base/files/limited-read.ts";
import { integrityOf, toSri } from "../../base/text/integrity.ts";
import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { parseDriver } from "../../formats/driver/index.ts";
import { parseMcpfile } from "../../formats/mcpfile/index.ts";
import { packNpmPackage } from "../../install/index.ts";
import type { InvokedServer } from "../../model/index.ts";
import {
  factsOfDriver,
  factsOfMcpfile,
  factsOfNpm,
  packArchive,
  type PackageFacts,
} from "../../packages/index.ts";
import type { Cli } from "../context.ts";
import { configError } from "../output/diagnostic.ts";
import { withSpinner } from "../output/progress.ts";
import { listServer, permissionsOfOptions } from "./live.ts";
import { readNpmManifest } from "./npm-manifest.ts";
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

const MAX_TEXT = 4 * 1024 * 1024;

export async function gather(cli: Cli, subject: Subject, options: GatherOptions): Promise<Gathered> {
  switch (subject.kind) {
    case "mcpfile":
      return gatherMcpfile(cli, subject, options);
    case "driver":
      return gatherDriver(cli, subject.file, options);
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
        : `${basename(file)} has ${servers.length} servers, and a package is one of them.`,
      { hint: `Name one: ${names.map((name) => `portolan pack ${basename(file)} ${name}`).join(", or ")}` },
    );
  const folder = dirname(file);
  const { envNames } = await import("../../invoke/index.ts");
  const beside = (await isFile(join(folder, "mcpserver.yaml"))) ? ["mcpserver.yaml"] : [];
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
    notes: await missingFiles(server, packed),
  };
}

/** Commands that name files of the mcpfile's folder: without these files the package would not work elsewhere. */
async function missingFiles(server: InvokedServer, packed: readonly string[]): Promise<string[]> {
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
    (name) => `A command names the file ${name}, which is not in the package. Add it: --include ${name}`,
  );
}

async function gatherDriver(cli: Cli, file: string, { include }: GatherOptions): Promise<Gathered> {
  const folder = dirname(file);
  const serverJson = join(folder, "server.json");
  const { driver, secretsRef, diagnostics } = parseDriver(await readText(file), file, {
    ...((await isFile(serverJson))
      ? { serverJson: { file: serverJson, text: await readText(serverJson) } }
      : {}),
  });
  refuseErrors(cli, diagnostics);
  if (driver === undefined)
    throw new PortolanError("FILE_INVALID", `${basename(file)} is not a driver of an MCP server.`, {
      hint: "Only drivers of kind mcp can be packed.",
    });
  const own = ["server.json", "SECRETS.md", ...(secretsRef === undefined ? [] : [secretsRef.path])];
  const beside = [];
  for (const name of new Set(own))
    if (await isFile(resolve(folder, name))) beside.push(resolve(folder, name));
  const { bytes, hash, size, names } = await packArchive(folder, [
    basename(file),
    ...beside,
    ...include.map((path) => resolve(cli.io.cwd, path)),
  ]);
  const facts = factsOfDriver(driver, basename(file));
  const { server } = driver;
  const isLoose = server.kind === "npm" && !/.@v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(server.package);
  return {
    facts: { ...facts, source: { type: "binary", hash, size } },
    archive: { bytes, names },
    folder,
    notes: isLoose
      ? [
          `The driver's server ${server.package} has no exact version, so that the hash does not cover it. Write the version.`,
        ]
      : [],
  };
}

async function gatherNpm(
  cli: Cli,
  { what, isFolder }: Subject & { kind: "npm" },
  { include, start }: GatherOptions,
): Promise<Gathered> {
  refuseIncludes({ include });
  const { io, interrupt, options } = cli;
  const { bytes } = await withSpinner(cli, (spinner) => {
    spinner.start(isFolder ? "packing with npm" : `fetching ${what}`);
    return packNpmPackage(what, { signal: interrupt.signal, env: io.env });
  });
  const manifest = await readNpmManifest(bytes);
  const source = { manifest, hash: toSri(integrityOf(bytes, "sha512")), size: bytes.length };
  const folder = isFolder ? what : io.cwd;
  const permissions = permissionsOfOptions(cli);
  const variables = Object.keys(options.env).sort();
  const plain = factsOfNpm({ ...source, permissions, variables });
  const command = isFolder ? await ownCommand(what, manifest) : ["npx", "-y", what];
  if (!start || command === undefined) return { facts: plain, folder, notes: [NOT_STARTED] };
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
    return { facts: plain, folder, notes: [`The server did not start: ${why} ${NOT_STARTED}`] };
  }
}

const NOT_STARTED =
  "Its tools are not known. Start it with what it needs (--env, --allow-net), or list them by hand.";

/** The command that runs the only program of a folder's package. */
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
      "--include is for an mcpfile or a driver, whose archive Portolan makes.",
    );
}

function refuseErrors(cli: Cli, diagnostics: readonly Diagnostic[]): void {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw configError(errors, cli, "The file has errors");
}

async function readText(file: string): Promise<string> {
  try {
    return (await readLimited(file, MAX_TEXT)).toString("utf8");
  } catch (cause) {
    throw new PortolanError("FILE_FAILED", `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}
