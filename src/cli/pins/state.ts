// `portolan pins` and `portolan pins diff`: the state of the pins of each server, and the differences of definitions.

import {
  createDefinitionStore,
  defaultDefinitionFolder,
  type DefinitionChange,
  diffDefinitions,
  type Lock,
  readLock,
} from "../../packages/index.ts";
import { isPortolanError, type PortolanError } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import { displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import {
  type FailedServer,
  isDifferent,
  type LintedTool,
  type LiveServer,
  type LiveTools,
  readLiveTools,
} from "./live.ts";
import { describeDiff, describeServer, stateOf } from "./view.ts";

/** A server could not be started; the same as of `portolan status`. */
const DOWN = 3;
const DIFFERENT = 1;

export async function showPins(
  cli: Cli,
  names: readonly string[],
  { check = false }: { check?: boolean },
): Promise<number> {
  const { output } = cli;
  const live = await readLiveTools(cli, [...new Set(names)]);
  const { lock, problem } = await readLockOrProblem(live.lockFile);
  const isPinnedKey = (key: string): boolean => lock?.servers[key]?.tools !== undefined;
  const isPinned = ({ key }: LiveServer): boolean => isPinnedKey(key);
  const differs = live.servers.filter((server) => hasDifference(server, isPinned(server)));
  // The tools of the other servers are not compared with pins, so that it does not matter that these servers are down.
  const unchecked = live.failed.filter(
    ({ server, key, mode }) =>
      names.includes(server) || (mode !== "off" && (isPinnedKey(key) || mode === "enforce")),
  );
  const code = !check
    ? 0
    : differs.length > 0 || problem !== undefined
      ? DIFFERENT
      : unchecked.length > 0
        ? DOWN
        : 0;
  if (output.form === "json") {
    output.json({
      gateway: live.gateway,
      lockFile: live.lockFile,
      matches: differs.length === 0 && problem === undefined && unchecked.length === 0,
      servers: live.servers.map((server) => toJson(server, isPinned(server))),
      failed: live.failed.map((one) => ({
        ...{ server: one.server, pinned: isPinnedKey(one.key) },
        error: one.error.toJSON(),
      })),
      problem: problem?.toJSON(),
    });
    return code;
  }
  output.print(describePins(cli, live, isPinned, { differs, unchecked, isReadable: problem === undefined }));
  if (problem !== undefined) output.error(problem);
  return code;
}

interface Comparison {
  readonly differs: readonly LiveServer[];
  /** Servers whose tools should have been compared, but could not be read. */
  readonly unchecked: readonly FailedServer[];
  readonly isReadable: boolean;
}

function describePins(
  { output }: Cli,
  { servers, failed }: LiveTools,
  isPinned: (server: LiveServer) => boolean,
  { differs, unchecked, isReadable }: Comparison,
): string {
  const { colors, width } = output;
  if (servers.length === 0 && failed.length === 0) return "This workspace has no enabled servers.";
  const names = [...servers, ...failed].map(({ server }) => plainLine(server, 60));
  const column = Math.max(...names.map(displayWidth));
  const lines = servers.map((server) => describeServer(server, isPinned(server), column, output));
  for (const one of failed) {
    const state = unchecked.includes(one)
      ? colors.red("cannot be compared")
      : colors.dim("down, and has no pins to compare");
    const name = colors.bold(plainLine(one.server, 60).padEnd(column));
    lines.push(wrap(`${name}  ${state} ${colors.dim("·")} ${plainLine(one.error.message, 300)}`, width, 4));
  }
  const next: string[] = [];
  const changed = differs.find(isPinned);
  if (changed !== undefined)
    next.push(
      `See the differences: portolan pins diff ${changed.server}`,
      `Approve them:        portolan pins approve ${changed.server}`,
    );
  const unpinned = servers.find((server) => !isPinned(server));
  if (changed === undefined && unpinned !== undefined && isReadable)
    next.push(`Approve the tools of a server: portolan pin ${unpinned.server}`);
  return [lines.join("\n"), ...(next.length === 0 ? [] : [colors.dim(next.join("\n"))])].join("\n\n");
}

export async function showDiff(cli: Cli, names: readonly string[]): Promise<number> {
  const { output } = cli;
  const live = await readLiveTools(cli, [...new Set(names)]);
  const lock = await readLock(live.lockFile);
  const withPins = live.servers.filter(({ key }) => lock.servers[key]?.tools !== undefined);
  // Without a mode, the tools were not compared.
  const pinned = withPins.filter(({ mode }) => mode !== undefined);
  const notCompared = withPins.filter(({ mode }) => mode === undefined);
  const changesOf = await changeReader();
  const diffs = await Promise.all(
    pinned.flatMap((server) =>
      server.tools
        .filter(isDifferent)
        .map(async (tool) => ({ server: server.server, tool, changes: await changesOf(tool) })),
    ),
  );
  const removed = pinned.flatMap((server) => server.removed.map((tool) => ({ server: server.server, tool })));
  for (const { error } of live.failed) output.error(error);
  if (output.form === "json") {
    output.json({
      gateway: live.gateway,
      differences: diffs.map(({ server, tool, changes }) => ({ server, ...tool, changes })),
      removed,
    });
    return 0;
  }
  const sections = diffs.map(({ server, tool, changes }) => describeDiff(server, tool, changes, output));
  for (const { server, tool } of removed)
    sections.push(
      `${output.colors.bold(plainLine(server, 60))} ${output.colors.cyan(plainLine(tool, 100))} ${output.colors.yellow("is no longer listed by the server")}`,
    );
  for (const { server } of notCompared)
    output.note(
      `The tools of ${plainLine(server, 60)} were not compared with its pins, because the setting pins is off for this server.`,
    );
  if (sections.length > 0) output.print(sections.join("\n\n"));
  else if (live.failed.length > 0) return 0;
  else if (pinned.length > 0) output.print("There are no differences from the pins.");
  else if (notCompared.length === 0)
    output.print(
      names.length === 0
        ? "No server has pins. Pin one: portolan pin <server>"
        : `There are no pins for ${plainLine(names.join(", "), 200)}. Pin the tools: portolan pin ${plainLine(names.join(" "), 200)}`,
    );
  return 0;
}

/** The changes since the approval; undefined if the approved definition is not stored on this machine. */
export async function changeReader(): Promise<
  (tool: LintedTool) => Promise<readonly DefinitionChange[] | undefined>
> {
  const store = createDefinitionStore(await defaultDefinitionFolder());
  return async ({ approved, definition }) => {
    const before = approved === undefined ? undefined : await store.load(approved);
    return before === undefined ? undefined : diffDefinitions(before, definition);
  };
}

function hasDifference({ tools, removed, mode, problem }: LiveServer, isPinned: boolean): boolean {
  if (problem !== undefined && mode === "enforce") return true;
  return isPinned && mode !== undefined && (tools.some(isDifferent) || removed.length > 0);
}

function toJson(server: LiveServer, isPinned: boolean): object {
  const { tools, ...rest } = server;
  return {
    ...rest,
    pinned: isPinned,
    state: stateOf(server, isPinned),
    tools: tools.map(({ definition: _definition, verdict, approved, ...tool }) => ({
      ...tool,
      verdict: isPinned ? verdict : undefined,
      approved,
    })),
  };
}

async function readLockOrProblem(file: string): Promise<{ lock?: Lock; problem?: PortolanError }> {
  try {
    return { lock: await readLock(file) };
  } catch (thrown) {
    if (isPortolanError(thrown)) return { problem: thrown };
    throw thrown;
  }
}
