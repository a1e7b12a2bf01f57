// Drivers, contracts and tools of mcpfiles that are left out because of an error: reported in short, and found again by name.

import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import type { ContractsEndpoint, Driver } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { placeOf } from "../output/diagnostic.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { pathLabeller } from "./folder.ts";
import type { Source } from "./source.ts";

const SHOWN = 5;

/** Whether contracts are among what a command opens, or would be if their files were right. */
function opensContracts({ config }: Source, only: readonly string[] | undefined): boolean {
  const own = config.servers.find(({ endpoint }) => endpoint.transport === "contracts");
  return only === undefined || (own !== undefined && only.includes(own.alias));
}

/** The errors that leave out something of these servers: contracts and drivers, and tools of mcpfiles. */
export function leftOutOf(source: Source, only?: readonly string[]): readonly Diagnostic[] {
  const { config, ofDrivers, leftOut } = source;
  const opened = config.servers.filter(({ alias }) => only?.includes(alias) !== false);
  const files = new Set(opened.map(({ origin }) => origin.file));
  return [
    ...(opensContracts(source, only) ? ofDrivers : []),
    ...leftOut.filter(({ file = "" }) => files.has(file)),
  ];
}

/** Why an mcpfile's tool, prompt or resource of this name is not there; undefined when the file has none. */
export function whyLeftOut({ leftOut }: Source, name: string, { io }: Pick<Cli, "io">): string | undefined {
  const found = leftOut.find(({ tool }) => tool === name);
  if (found === undefined) return undefined;
  return `It is left out because of an error: ${placeOf(found, pathLabeller(io))} ${found.message}. See all: portolan validate`;
}

/** Says what is wrong, a line for each file, where it concerns what is done. */
export function noteLeftOut(
  { io, output }: Pick<Cli, "io" | "output">,
  findings: readonly Diagnostic[],
  concerns: (diagnostic: Diagnostic) => boolean = () => true,
): void {
  const files = new Map<string, Diagnostic[]>();
  for (const finding of findings) {
    const { severity, file = "" } = finding;
    if (severity === "error" && concerns(finding)) files.set(file, [...(files.get(file) ?? []), finding]);
  }
  if (files.size === 0) return;
  const label = pathLabeller(io);
  const lines = [...files.values()].slice(0, SHOWN).map(([first, ...rest]) => {
    const place = first === undefined ? "" : placeOf(first, label);
    const more = rest.length === 0 ? "" : ` (and ${rest.length} more)`;
    return `  ${place} ${plainLine(first?.message ?? "", 300)}${more}`;
  });
  if (files.size > SHOWN) lines.push(`  and ${files.size - SHOWN} more files`);
  const head = `${output.noteColors.yellow("left out")} because it is wrong; the rest works (see portolan validate):`;
  output.note([head, ...lines].join("\n"));
}

/** About a driver by its id, whether its file can be used or not: of its folder, of the contracts that it names, and of its name. */
export function findingsAbout(
  { ofDrivers, config: { folder = "." } }: Source,
  id: string,
  driver?: Driver,
): Diagnostic[] {
  const home = driver === undefined ? join(folder, ".drivers", id) : dirname(driver.origin.file);
  const named = (driver?.implements ?? []).flatMap(({ tool }) =>
    [folder, home].flatMap((base) => [resolve(base, tool), resolve(base, tool, "TOOL.md")]),
  );
  return ofDrivers.filter(
    ({ server, file }) =>
      server === id || (file !== undefined && (named.includes(file) || isBelow(file, home))),
  );
}

/** Drivers that are not there because their own files are wrong, by the names of their folders. */
export function brokenDrivers(
  { ofDrivers, config: { folder = "." } }: Source,
  endpoint: ContractsEndpoint | undefined,
): ReadonlyMap<string, readonly Diagnostic[]> {
  const used = new Set(endpoint?.drivers.map(({ driver }) => driver.origin.file));
  const broken = new Map<string, Diagnostic[]>();
  for (const finding of ofDrivers) {
    const { severity, file = "" } = finding;
    const home = dirname(file);
    const isOwn = ["DRIVER.md", "server.json"].includes(basename(file));
    if (severity !== "error" || !isOwn || !isBelow(file, join(folder, ".drivers"))) continue;
    if (used.has(join(home, "DRIVER.md"))) continue;
    broken.set(basename(home), [...(broken.get(basename(home)) ?? []), finding]);
  }
  return broken;
}

function isBelow(file: string, folder: string): boolean {
  const path = relative(folder, file);
  return path !== "" && path !== ".." && !path.startsWith(`..${sep}`);
}
