// Updates of servers that run packages of npm: the installed version, and the one that `portolan install --update` would install.

import { parseIntegrity } from "../../base/text/integrity.ts";
import { type PortolanError, toPortolanError } from "../../errors/index.ts";
import { type ParsedProgram, parseProgram, type ServerConfig } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { withSpinner } from "../output/progress.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { compareVersionTexts } from "../packages/version-order.ts";
import { programOf } from "../workspace/programs.ts";

export interface NpmUpdate {
  readonly server: string;
  /** `absent`: the package is not installed yet. */
  readonly state: "current" | "available" | "absent" | "failed";
  /** The installed version. */
  readonly from?: string;
  /** The version that would be installed; absent if it is the installed one. */
  readonly to?: string;
  /** A newer version that the range in portolan.yaml excludes. */
  readonly newer?: string;
  /** The package as portolan.yaml names it, if it names an exact version. */
  readonly exact?: ExactVersion;
  readonly error?: PortolanError;
}

/** A package with an exact version, which no update changes. */
export interface ExactVersion {
  readonly package: string;
  /** The line of the server in portolan.yaml. */
  readonly line: number;
}

/** The package of npm that a server runs; undefined for every other program. */
export function npmProgramOf(server: ServerConfig): (ParsedProgram & { readonly kind: "npm" }) | undefined {
  const program = programOf(server);
  try {
    const parsed = program && parseProgram(program);
    return parsed?.kind === "npm" ? parsed : undefined;
  } catch {
    // `portolan validate` reports a command that cannot be started.
    return undefined;
  }
}

/** The package of a server whose config names an exact version, such as `some-server@1.2.0`. */
export function exactVersionOf(server: ServerConfig): ExactVersion | undefined {
  const { spec = "" } = npmProgramOf(server) ?? {};
  return /.@=?v?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/.test(spec)
    ? { package: spec, line: server.origin.line }
    : undefined;
}

export function findNpmUpdates(cli: Cli, servers: readonly ServerConfig[]): Promise<readonly NpmUpdate[]> {
  return withSpinner(cli, async (spinner) => {
    const found: NpmUpdate[] = [];
    for (const server of servers) {
      cli.interrupt.signal.throwIfAborted();
      spinner.start(`looking for updates of ${plainLine(server.alias, 60)}`);
      found.push(await findOne(cli, server));
    }
    return found;
  });
}

async function findOne({ interrupt: { signal } }: Cli, server: ServerConfig): Promise<NpmUpdate> {
  const { alias } = server;
  const program = npmProgramOf(server);
  if (program === undefined) return { server: alias, state: "current" };
  const { findNpmUpdate } = await import("../../install/index.ts");
  try {
    const integrity = parseIntegrity(program.integrity ?? "");
    const found = await findNpmUpdate({ ...program, integrity, signal });
    const { installed: from, available: to, latest } = found;
    const isNewer = latest !== undefined && compareVersionTexts(latest, to) > 0;
    const exact = isNewer ? exactVersionOf(server) : undefined;
    const facts = {
      ...{ server: alias, ...(isNewer ? { newer: latest } : {}) },
      ...(exact === undefined ? {} : { exact }),
    };
    if (from === undefined) return { ...facts, state: "absent", to };
    return from === to ? { ...facts, state: "current", from } : { ...facts, state: "available", from, to };
  } catch (thrown) {
    signal.throwIfAborted();
    return { server: alias, state: "failed", error: toPortolanError(thrown, { server: alias }) };
  }
}

export function describeNpmUpdate(update: NpmUpdate): string {
  const { newer, exact } = update;
  const excluded =
    newer === undefined
      ? ""
      : `\n  ${exact === undefined ? describeExcluded(newer) : describeExact(newer, exact)}.`;
  return describeState(update) + excluded;
}

/** The sentence about a newer version that the range excludes, without its full stop. */
export function describeExcluded(newer: string): string {
  return `${plainLine(newer, 60)} is also published, but the version range in portolan.yaml excludes it. To use it, change the version in portolan.yaml`;
}

function describeExact(newer: string, { package: written, line }: ExactVersion): string {
  const version = plainLine(newer, 60);
  const next = `${written.slice(0, written.lastIndexOf("@"))}@${version}`;
  return `${version} is also published, but portolan.yaml:${line} names exactly ${plainLine(written, 200)}. To use it, write ${plainLine(next, 200)} there`;
}

function describeState({ server, state, from = "", to = "", error }: NpmUpdate): string {
  const name = plainLine(server, 60);
  switch (state) {
    case "current":
      return `${name} is up to date.`;
    case "available":
      return `${name}: ${plainLine(from, 60)} → ${plainLine(to, 60)} is available. To install it: portolan install --update ${name}`;
    case "absent":
      return `${name} is not installed yet; its first start installs ${plainLine(to, 60)}.`;
    case "failed":
      return `${name} could not be checked: ${plainLine(error?.message ?? "", 1_000)}`;
  }
}
