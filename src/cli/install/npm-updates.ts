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
  readonly error?: PortolanError;
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
    const facts = { server: alias, ...(isNewer ? { newer: latest } : {}) };
    if (from === undefined) return { ...facts, state: "absent", to };
    return from === to ? { ...facts, state: "current", from } : { ...facts, state: "available", from, to };
  } catch (thrown) {
    signal.throwIfAborted();
    return { server: alias, state: "failed", error: toPortolanError(thrown, { server: alias }) };
  }
}

export function describeNpmUpdate(update: NpmUpdate): string {
  const excluded = update.newer === undefined ? "" : `\n  ${describeExcluded(update.newer)}.`;
  return describeState(update) + excluded;
}

/** The sentence about a newer version that the range excludes, without its full stop. */
export function describeExcluded(newer: string): string {
  return `${plainLine(newer, 60)} is also published, but the version range in portolan.yaml excludes it. To use it, change the version in portolan.yaml`;
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
