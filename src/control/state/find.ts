// Finds the gateways of a workspace by their state files: those that run, and those that ended without being stopped.

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

/** A gateway on HTTP whose process ended without removing its state file: it crashed, or was killed. */
export type EndedGateway = Pick<RunningGateway, "kind" | "url" | "pid" | "file" | "log">;

export interface FoundGateways {
  /** Gateways on HTTP first, then those on stdio; the oldest first. */
  readonly gateways: readonly RunningGateway[];
  /** Gateways that ended without being stopped, until the next one starts or `forgetEnded` removes their files. */
  readonly ended: readonly EndedGateway[];
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

/** Removes the state files of gateways that ended without being stopped. Never throws. */
export async function forgetEnded(path: string): Promise<readonly EndedGateway[]> {
  const { ended } = await findGateways(path);
  await Promise.all(ended.map(({ file }) => rm(file, { force: true }).catch(() => {})));
  return ended;
}

async function findIn(folder: string): Promise<FoundGateways> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json"));
  const found = await Promise.all(names.slice(0, MAX_FILES).map((name) => readGateway(join(folder, name))));
  const gateways = found.flatMap((one) => (one !== undefined && "isAlive" in one ? [one] : []));
  return {
    gateways: gateways.toSorted(
      (a, b) => Number(a.kind === "stdio") - Number(b.kind === "stdio") || order(a.startedAt, b.startedAt),
    ),
    ended: found.flatMap((one) => (one !== undefined && "pid" in one && !("isAlive" in one) ? [one] : [])),
    problems: found.flatMap((one) => (one !== undefined && "code" in one ? [one] : [])),
  };
}

async function readGateway(file: string): Promise<RunningGateway | EndedGateway | Diagnostic | undefined> {
  const problem = await privacyProblem(file).catch(() => "it is gone");
  if (problem === "it is gone") return undefined;
  if (problem !== undefined) return untrusted(file, problem, `Remove it: rm ${file}`);
  const state = await readState(file);
  if (state === undefined)
    return untrusted(file, "it is damaged, or another version of Portolan wrote it", `Remove it: rm ${file}`);
  const { process: identity, version: _version, ...rest } = state;
  const now = await stateOf(identity);
  if (now === "dead") {
    await removeSocket(state.socket);
    const { kind, url, log } = state;
    if (kind === "http") return { kind, url, log, pid: identity.pid, file };
    // Clients often kill their servers, so the end of a gateway on stdio is no failure.
    await rm(file, { force: true }).catch(() => {});
    return undefined;
  }
  // A process of another machine or container: its socket cannot be reached from here.
  if (now === "unknown") return undefined;
  const open = await socketProblem(state.socket);
  if (open !== undefined)
    return {
      code: "FILE_FAILED",
      severity: "warning",
      message: `this command does not use the gateway (process ${identity.pid}), because the folder of its control socket cannot be used: ${open}`,
      file: state.socket,
      hint:
        state.kind === "stdio"
          ? "Restart the MCP client that started the gateway."
          : `Stop the gateway, then start it again: kill ${identity.pid}; portolan serve --daemon`,
    };
  return { ...rest, pid: identity.pid, file, isAlive: async () => (await stateOf(identity)) === "alive" };
}

function untrusted(file: string, problem: string, hint: string): Diagnostic {
  const message = `Portolan ignores this state file of a gateway: ${problem}`;
  return { code: "FILE_FAILED", severity: "warning", message, file, hint };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
