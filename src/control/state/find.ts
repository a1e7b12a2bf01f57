// Finds the running gateways of a workspace by their state files. The file of a process that has ended is removed.

import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { privacyProblem } from "../../base/files/privacy.ts";
import { stateOf } from "../../base/files/process-identity.ts";
import type { Diagnostic } from "../../errors/index.ts";
import { removeSocket, runningFolder, socketProblem, stateFolder } from "./folders.ts";
import { type GatewayState, readState } from "./state-file.ts";

export interface RunningGateway extends Omit<GatewayState, "version" | "process"> {
  readonly pid: number;
  readonly file: string;
  /** Resolves with false when the process has ended. */
  isAlive(): Promise<boolean>;
}

export interface FoundGateways {
  /** Gateways on HTTP first, then those on stdio; the oldest first. */
  readonly gateways: readonly RunningGateway[];
  /** Warnings about gateways that are not trusted. */
  readonly problems: readonly Diagnostic[];
}

/** Limits the work for a folder that something has filled. */
const MAX_FILES = 100;

/** All running gateways of the user, of every workspace. Never throws. */
export async function findAllGateways(): Promise<readonly RunningGateway[]> {
  const folder = await runningFolder();
  const names = await readdir(folder).catch(() => []);
  const found = await Promise.all(names.slice(0, MAX_FILES).map((name) => findIn(join(folder, name))));
  return found.flatMap(({ gateways }) => gateways);
}

/** `path` is the folder or the config file of the workspace. Never throws. */
export async function findGateways(path: string): Promise<FoundGateways> {
  return findIn(await stateFolder(path));
}

async function findIn(folder: string): Promise<FoundGateways> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json"));
  const found = await Promise.all(names.slice(0, MAX_FILES).map((name) => readGateway(join(folder, name))));
  const gateways = found.flatMap((one) => (one !== undefined && "pid" in one ? [one] : []));
  return {
    gateways: gateways.toSorted(
      (a, b) => Number(a.kind === "stdio") - Number(b.kind === "stdio") || order(a.startedAt, b.startedAt),
    ),
    problems: found.flatMap((one) => (one !== undefined && "code" in one ? [one] : [])),
  };
}

async function readGateway(file: string): Promise<RunningGateway | Diagnostic | undefined> {
  const problem = await privacyProblem(file).catch(() => "it is gone");
  if (problem === "it is gone") return undefined;
  if (problem !== undefined) return untrusted(file, problem, `Remove it: rm ${file}`);
  const state = await readState(file);
  if (state === undefined) return untrusted(file, "it is damaged", `Remove it: rm ${file}`);
  const { process: identity, version: _version, ...rest } = state;
  const now = await stateOf(identity);
  if (now === "dead") {
    await rm(file, { force: true }).catch(() => {});
    await removeSocket(state.socket);
    return undefined;
  }
  // A process of another machine or container: its socket cannot be reached from here.
  if (now === "unknown") return undefined;
  const open = await socketProblem(state.socket);
  if (open !== undefined) {
    const hint = `Stop it, and start it again: kill ${identity.pid}`;
    return untrusted(
      state.socket,
      `${open}; the gateway with the process id ${identity.pid} is not used`,
      hint,
    );
  }
  return { ...rest, pid: identity.pid, file, isAlive: async () => (await stateOf(identity)) === "alive" };
}

function untrusted(file: string, problem: string, hint: string): Diagnostic {
  const message = `the state of a running gateway is not trusted: ${problem}`;
  return { code: "FILE_FAILED", severity: "warning", message, file, hint };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
