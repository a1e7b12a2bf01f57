// Parts of a workspace that are left out because of an error: drivers, contracts, and tools of mcpfiles.

import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { Diagnostic } from "../../errors/index.ts";
import type { ContractsEndpoint, Driver } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { placeOf } from "../output/diagnostic.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { workspaceOption } from "./elsewhere.ts";
import { pathLabeller } from "./folder.ts";
import type { Source } from "./source.ts";

const SHOWN = 5;

/** True when a command opens the contracts, or would open them if their files had no errors. */
function opensContracts({ config }: Source, only: readonly string[] | undefined): boolean {
  const own = config.servers.find(({ endpoint }) => endpoint.transport === "contracts");
  return only === undefined || (own !== undefined && only.includes(own.alias));
}

/** The errors that leave out a part of these servers. */
export function leftOutOf(source: Source, only?: readonly string[]): readonly Diagnostic[] {
  const { config, ofDrivers, leftOut } = source;
  const opened = config.servers.filter(({ alias }) => only?.includes(alias) !== false);
  const files = new Set(opened.map(({ origin }) => origin.file));
  return [
    ...(opensContracts(source, only) ? ofDrivers : []),
    ...leftOut.filter(({ file = "" }) => files.has(file)),
  ];
}

/** Explains why a tool, prompt or resource of an mcpfile is missing; undefined when the file does not define it. */
export function explainLeftOut(
  { leftOut }: Source,
  name: string,
  { io }: Pick<Cli, "io">,
): string | undefined {
  const found = leftOut.find(({ tool }) => tool === name);
  if (found === undefined) return undefined;
  const inFile = found.file === undefined ? "" : ` ${workspaceOption(found.file, io)}`;
  return `${JSON.stringify(name)} is not loaded because of an error: ${placeOf(found, pathLabeller(io))} ${found.message}. See all errors: portolan validate${inFile}`;
}

/** Notes the errors that concern the command, one line for each file. */
export function noteLeftOut(
  { io, output }: Pick<Cli, "io" | "output">,
  diagnostics: readonly Diagnostic[],
  concerns: (diagnostic: Diagnostic) => boolean = () => true,
): void {
  const files = new Map<string, Diagnostic[]>();
  for (const diagnostic of diagnostics) {
    const { severity, file = "" } = diagnostic;
    if (severity === "error" && concerns(diagnostic))
      files.set(file, [...(files.get(file) ?? []), diagnostic]);
  }
  if (files.size === 0) return;
  const label = pathLabeller(io);
  const lines = [...files.values()].slice(0, SHOWN).map(([first, ...rest]) => {
    const place = first === undefined ? "" : placeOf(first, label);
    const more = rest.length === 0 ? "" : ` (and ${rest.length} more)`;
    return `  ${place} ${plainLine(first?.message ?? "", 300)}${more}`;
  });
  if (files.size > SHOWN) lines.push(`  and ${files.size - SHOWN} more files`);
  const head = `${output.noteColors.yellow("not loaded")} because of errors in these files; everything else works (details: portolan validate):`;
  output.note([head, ...lines].join("\n"));
}

/** The diagnostics about a driver: about files of its folder, about the contracts that it binds, and about its name. */
export function diagnosticsAbout(
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

/** Drivers that are missing because of errors in their own files, by the names of their folders. */
export function brokenDrivers(
  { ofDrivers, config: { folder = "." } }: Source,
  endpoint: ContractsEndpoint | undefined,
): ReadonlyMap<string, readonly Diagnostic[]> {
  const used = new Set(endpoint?.drivers.map(({ driver }) => driver.origin.file));
  const broken = new Map<string, Diagnostic[]>();
  for (const diagnostic of ofDrivers) {
    const { severity, file = "" } = diagnostic;
    const home = dirname(file);
    const isOwn = ["DRIVER.md", "server.json"].includes(basename(file));
    if (severity !== "error" || !isOwn || !isBelow(file, join(folder, ".drivers"))) continue;
    if (used.has(join(home, "DRIVER.md"))) continue;
    broken.set(basename(home), [...(broken.get(basename(home)) ?? []), diagnostic]);
  }
  return broken;
}

function isBelow(file: string, folder: string): boolean {
  const path = relative(folder, file);
  return path !== "" && path !== ".." && !path.startsWith(`..${sep}`);
}
