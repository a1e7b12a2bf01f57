// Drafts all files of a driver: written as text, read again, and checked against the live server.

import { readFileSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { checkDriver } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import {
  type BindingDraft,
  parseDriver,
  parseSecrets,
  parseTool,
  writeDriver,
  writeTool,
} from "../../formats/driver/index.ts";
import type { Contract, Driver, LaunchSettings, ToolDefinition } from "../../model/index.ts";
import type { NewFile } from "../output/write-files.ts";
import { isDeprecated } from "./bind.ts";
import type { Choice } from "./choose.ts";
import { type Credentials, secretNotes, writeSecrets } from "./credentials.ts";
import { ungranted } from "./folders.ts";
import { driverFolder, type Identified } from "./identify.ts";
import { contractId, freeId } from "./names.ts";
import { newContract, type NewContract } from "./new-contract.ts";
import type { Sample } from "./sample.ts";
import type { ProposedSurfaces } from "./surfaces.ts";

export interface Grounds {
  readonly id: string;
  readonly identified: Identified;
  /** Credentials of a driver that serves these contracts. */
  readonly credentials: (contracts: readonly string[]) => Credentials;
  /** The existing driver of this id; its fields that are not about the server stay. */
  readonly existing?: Driver;
  readonly launch: LaunchSettings;
  /** Folder of the workspace. */
  readonly folder: string;
  /** The existing contracts. */
  readonly contracts: readonly Contract[];
  readonly tools: readonly ToolDefinition[];
  /** The prompts and resources that a new driver offers. */
  readonly surfaces: ProposedSurfaces;
  readonly choices: readonly Choice[];
  readonly samples: ReadonlyMap<string, Sample>;
  /** The name that the server reports. */
  readonly title: string;
}

export interface DraftedTool {
  readonly tool: string;
  readonly contract: string;
  readonly isNew: boolean;
  readonly binding: BindingDraft;
}

export interface Draft {
  readonly files: readonly NewFile[];
  readonly tools: readonly DraftedTool[];
  readonly diagnostics: readonly Diagnostic[];
  /** Points that the user has to check. */
  readonly left: readonly string[];
}

export function draftDriver(grounds: Grounds): Draft {
  const base = grounds.id.replace(/-mcp$/, "");
  const taken = new Set(grounds.choices.flatMap(({ newId, bound }) => newId ?? bound?.contract.id ?? []));
  const drafted = grounds.choices.map((choice) => draftTool(choice, base, taken, grounds));
  const broken = new Map(drafted.map((made) => [made, firstError(assemble([made], grounds))]));
  const fitting = drafted.filter((made) => broken.get(made) === undefined);
  // One tool with errors does not block the others; if all have errors, the cause is another.
  const made = fitting.length === 0 ? drafted : fitting;
  const left = fitting.length === 0 ? [] : drafted.flatMap((one) => skipNote(one, broken.get(one)));
  const { file, text, files, diagnostics, credentials } = assemble(made, grounds);
  const secrets = secretsFile(
    grounds,
    credentials,
    made.map(({ tool }) => tool.contract),
  );
  const inventory = secrets === undefined ? [] : parseSecrets(secrets.text, secrets.path).diagnostics;
  // A server may repeat its secrets in the descriptions of its tools.
  const written = files.map((one) => ({ ...one, text: redacted(one.text, credentials.values) }));
  return {
    files: [{ path: file, text }, ...written, ...(secrets === undefined ? [] : [secrets])],
    tools: made.map(({ tool }) => tool),
    diagnostics: [...diagnostics, ...inventory],
    left: [...left, ...grouped(made.flatMap((one) => one.left)), ...leftOpen(grounds, credentials)],
  };
}

const LEAST_REDACTED = 8;

function redacted(text: string, values: readonly string[]): string {
  return values
    .filter((value) => value.length >= LEAST_REDACTED)
    .reduce((sofar, value) => sofar.replaceAll(value, "redacted"), text);
}

/** A driver of these tools as text, and the diagnostics of its readers. */
function assemble(
  made: readonly Made[],
  grounds: Grounds,
): {
  readonly file: string;
  readonly text: string;
  readonly files: readonly NewFile[];
  readonly diagnostics: readonly Diagnostic[];
  readonly credentials: Credentials;
} {
  const { id, identified, existing, launch, folder, contracts, tools, title } = grounds;
  const served = made.map(({ tool }) => tool.contract);
  const credentials = grounds.credentials(served);
  const files: NewFile[] = made.flatMap((one) => one.file ?? []);
  const fresh = files.map(({ path, text }) => parseTool(text, path));
  const renewed = new Set(files.map(({ path }) => path));
  const known = contracts.filter(({ origin }) => !renewed.has(origin.file));
  const file = join(driverFolder(folder, id), "DRIVER.md");
  const description = `${title} as a driver: ${served.join(", ")}.`.slice(0, 2_000);
  const text = writeDriver({
    name: title.slice(0, 80),
    version: "1.0.0",
    ...(existing === undefined
      ? { prompts: grounds.surfaces.prompts, resources: grounds.surfaces.resources }
      : ownWords(existing)),
    id,
    // Generated text is written again.
    description:
      existing === undefined || / as a driver: /.test(existing.description)
        ? description
        : existing.description,
    server: credentials.server,
    transport: identified.transport,
    launch,
    implements: made.map(({ tool }) => tool.binding),
  });
  const parsed = parseDriver(text, file);
  const all = [...known, ...fresh.flatMap(({ contract }) => contract ?? [])];
  const checked = parsed.driver && checkDriver(parsed.driver, all, tools, { root: folder });
  return {
    file,
    text,
    files,
    credentials,
    diagnostics: [
      ...fresh.flatMap(({ diagnostics }) => diagnostics),
      ...parsed.diagnostics,
      ...(checked?.diagnostics ?? []),
    ],
  };
}

/** The fields of a driver that its author wrote, not the server. */
function ownWords(driver: Driver): Partial<Driver> {
  const { name, version, region, policyTags, tags, metadata, cost, timeoutMs, retry } = driver;
  const { healthCheck, auth, prompts, resources, connection, protocolVersion } = driver;
  return {
    ...{ name, version, region, policyTags, tags, metadata, cost, timeoutMs, retry },
    ...{ healthCheck, auth, prompts, resources, connection, protocolVersion },
  };
}

function firstError({ diagnostics }: Pick<Draft, "diagnostics">): Diagnostic | undefined {
  return diagnostics.find(({ severity }) => severity === "error");
}

function skipNote({ tool }: Made, problem: Diagnostic | undefined): readonly string[] {
  return problem === undefined
    ? []
    : [
        `The tool ${tool.tool} is left out, because its contract or its binding would have an error: ${problem.message}`,
      ];
}

interface Made {
  readonly tool: DraftedTool;
  readonly file?: NewFile;
  readonly left: readonly string[];
}

/** `taken` are the ids of new contracts so far. */
function draftTool(choice: Choice, base: string, taken: Set<string>, grounds: Grounds): Made {
  const { tool, bound, notes = [] } = choice;
  const name = tool.name;
  if (bound !== undefined) {
    const { contract, draft } = bound;
    const place = relative(grounds.folder, contract.origin.file).split(sep).join("/");
    const silent = contract.mutates.length === 0 && tool.annotations?.readOnlyHint !== true;
    const binding = bound.kept === true ? draft : { ...draft, tool: `./${place}` };
    return {
      tool: { tool: name, contract: contract.id, isNew: false, binding },
      left: [
        ...notes,
        ...(silent
          ? [
              `The contract ${contract.id} declares that it changes nothing, but the server does not mark the tool ${name} as read-only (readOnlyHint). Check that the tool changes nothing.`,
            ]
          : []),
        ...lostNotes(contract.id, grounds.samples.get(name)),
      ],
    };
  }
  const { draft, resultExtract, guesses, text } = newContractOf(choice, base, taken, grounds);
  const { id } = draft;
  taken.add(id);
  const silent = guesses.includes("mutates") && tool.annotations?.readOnlyHint === undefined;
  const said: Readonly<Record<(typeof guesses)[number], string>> = {
    mutates: silent
      ? `${id}: the tool has no readOnlyHint, so the contract assumes that the tool changes data. If the tool only reads, remove mutates, approval and risk_level from TOOL.md.`
      : `${id}: mutates is external:${base}, which is a guess. In TOOL.md, name the data that the tool changes, such as workspace:files.`,
    text: `${id}: the tool has no outputSchema, so the output of the contract is a text.`,
    sampled: `${id}: Portolan called the tool once (--sample), and derived outputs in TOOL.md from this one result. If other results differ, correct outputs.`,
  };
  return {
    tool: {
      tool: name,
      contract: id,
      isNew: true,
      binding: { tool: `./tools/${id}/TOOL.md`, range: `^${draft.version}`, toolName: name, resultExtract },
    },
    file: { path: contractFile(grounds.folder, id), text },
    left: [
      ...notes,
      ...nearNote(choice, id),
      ...guesses.map((guess) => said[guess]),
      ...lostNotes(id, grounds.samples.get(name)),
    ],
  };
}

/** A contract returns one value; images, audio and links are none. */
function lostNotes(id: string, sample: Sample | undefined): readonly string[] {
  const { lost = [], odd } = sample ?? {};
  return [
    ...(lost.length === 0
      ? []
      : [
          `${id}: Portolan called the tool once (--sample). The result also contained ${lost.join(" and ")}, which the contract does not return: a contract returns one value.`,
        ]),
    ...(odd === undefined
      ? []
      : [
          `${id}: Portolan called the tool once (--sample), and the result does not match outputs in TOOL.md: ${odd}`,
        ]),
  ];
}

function nearNote({ tool, near }: Choice, id: string): readonly string[] {
  return near === undefined || near === id
    ? []
    : [
        `The tool ${tool.name} got the new contract ${id}. If the tool does what the existing contract ${near} describes, run the command again, and name all tools of the driver: --tools ${shellWord(tool.name)}=${near},<other tools>`,
      ];
}

/** A free id; the contract of an earlier run keeps its id. */
function newContractOf(
  { tool, newId }: Choice,
  base: string,
  taken: ReadonlySet<string>,
  { folder, contracts, samples }: Grounds,
): NewContract & { readonly text: string } {
  const make = (id: string): NewContract & { readonly text: string } => {
    const made = newContract(id, tool, base, samples.get(tool.name));
    return { ...made, text: writeTool(made.draft) };
  };
  if (newId !== undefined) return make(newId);
  const isThere = (id: string): boolean =>
    contracts.some((contract) => contract.id === id) && !isWritten(contractFile(folder, id), make(id).text);
  const plain = contractId(tool.name);
  const wanted = !taken.has(plain) && isThere(plain) ? contractId(`${base}-${tool.name}`) : plain;
  return make(freeId(wanted, (id) => !taken.has(id) && !isThere(id)));
}

function contractFile(folder: string, id: string): string {
  return join(folder, "tools", id, "TOOL.md");
}

function isWritten(file: string, text: string): boolean {
  try {
    return readFileSync(file, "utf8") === text;
  } catch {
    return false;
  }
}

/** Undefined if the workspace already lists all of them. */
function secretsFile(
  { id, folder }: Grounds,
  { secrets }: Credentials,
  contracts: readonly string[],
): NewFile | undefined {
  const own = secrets.filter(({ entry }) => entry === undefined);
  if (own.length === 0) return undefined;
  const path = join(driverFolder(folder, id), "SECRETS.md");
  return { path, text: writeSecrets(own, id, contracts) };
}

/** Joins equal notes about several contracts into one. */
function grouped(lines: readonly string[]): string[] {
  const groups = new Map<string, string[]>();
  for (const line of lines) {
    const [, name = "", text = line] = /^([a-z0-9.-]+): (.*)$/.exec(line) ?? [];
    groups.set(text, [...(groups.get(text) ?? []), name]);
  }
  return Array.from(groups, ([text, names]) => (names[0] === "" ? text : `${names.join(", ")}: ${text}`));
}

function leftOpen(grounds: Grounds, credentials: Credentials): string[] {
  const { launch, folder, id, existing } = grounds;
  const { server } = credentials;
  const left = existing === undefined ? [...grounds.surfaces.notes] : [];
  left.push(...secretNotes(credentials, (file) => relative(folder, file).split(sep).join("/")));
  if (server.kind === "npm" && !/.@/.test(server.package))
    left.push(
      "The package has no version, so each install uses the newest version. To use a fixed version, write package: <name>@<version> in DRIVER.md.",
    );
  if (server.kind === "docker" && !/:[\w.-]+$|@sha256:/.test(server.image))
    left.push(
      "The image has no tag, so the tag latest is used. To choose a version, add a tag in DRIVER.md. To use exactly one image, add its digest (@sha256:…).",
    );
  const { read = [], write = [] } = launch.sandbox?.fs ?? {};
  const granted = [...read, ...write].map((path) => resolve(driverFolder(folder, id), path));
  for (const word of server.kind === "remote" ? [] : ungranted(server.args, folder, granted)) {
    // The options are relative to the current folder, and the word to the workspace.
    const path = shellWord(resolve(folder, word));
    left.push(
      `The server gets the folder ${word} as an argument, but the sandbox of the server hides this folder. Add the folder to sandbox.fs in DRIVER.md, or run the command again with --allow-read ${path} or --allow-write ${path}`,
    );
  }
  const used = new Set(grounds.choices.map(({ tool }) => tool.name));
  const old = grounds.tools.filter((tool) => isDeprecated(tool) && !used.has(tool.name));
  if (old.length > 0 && used.size + old.length === grounds.tools.length)
    left.push(
      `These tools are left out, because the server marks them as deprecated: ${old.map(({ name }) => name).join(", ")}`,
    );
  if (existing === undefined)
    left.push(
      "The driver has the region global and no policy tags. If a policy selects drivers by region or tag, set region and policy_tags in DRIVER.md.",
    );
  return left;
}
