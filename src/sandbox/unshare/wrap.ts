// Wraps a program with the script that creates its sandbox.

import { closeSync, readFileSync, statSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { PortolanError } from "../../errors/index.ts";
import type { Program, Spawnable } from "../../process/index.ts";
import { openSecretData } from "../linux/data-files.ts";
import { sandboxLayout, workingFolder } from "../linux/layout.ts";
import { openNetwork, type OpenEgress } from "../linux/network.ts";
import { niceWords, withLimits } from "../linux/rules.ts";
import { SANDBOX_HOSTNAME } from "../linux/stub-files.ts";
import { terminateServer } from "../linux/terminate.ts";
import type { SandboxPolicy, WrapContext } from "../types.ts";
import { environmentScript } from "./environment.ts";
import { fileSystemScript } from "./file-system.ts";
import { filterWords } from "./filter-loader.ts";
import { parseMountInfo } from "./mount-table.ts";
import type { Programs } from "./programs.ts";
import { namespaceWords, sandboxScript } from "./script.ts";
import { CANDIDATES, findStages } from "./stage.ts";

/** The first descriptors of the child. A shell can close only those below 10. */
const [SCRIPT, ENVIRONMENT, SETTINGS] = [3, 4, 5];

export interface UnshareRequest {
  readonly program: Program;
  readonly policy: SandboxPolicy;
  readonly context: WrapContext;
  /** Whether a filter of system calls can be installed. */
  readonly hasFilter: boolean;
  readonly openEgress?: OpenEgress;
}

export async function wrapWith(
  programs: Programs,
  { program, policy, context, hasFilter, openEgress }: UnshareRequest,
): Promise<Spawnable> {
  const found = { prlimit: programs.prlimit, nice: programs.nice };
  const network = await openNetwork(policy, context, { openEgress, isRouted: true });
  const { egress, names } = network;
  const fds: number[] = [];
  const close = (): void => {
    for (const fd of fds.splice(0)) closeSync(fd);
  };
  try {
    const filter = (spawn: boolean): string[] =>
      hasFilter && programs.perl !== undefined ? (filterWords(programs.perl, { spawn }) ?? []) : [];
    const limited = withLimits(program, policy, found);
    // The relay must start the server, so that only the server gets the filter against new processes.
    const started = egress === undefined || policy.exec.spawn ? limited : after(filter(false), limited);
    const inner = egress?.command(started, SETTINGS) ?? started;
    const steps = await sandboxLayout({
      policy,
      extra: {
        mounts: [...(await startPrograms(programs)), ...(egress?.mounts ?? [])],
        // Its /etc/hosts contains the machine's name; the sandbox has another one.
        files: (egress?.files ?? []).filter(({ path }) => path !== "/etc/hosts"),
        names: names?.socket,
        socket: egress?.socket,
      },
    });
    const sources = steps.flatMap((step) =>
      step.kind === "bind" && step.source !== "/" ? [step.source] : [],
    );
    const tools = Object.values(programs).filter((path) => path !== undefined);
    const [stage, second] = await findStages([...sources, ...tools]);
    if (stage === undefined || second === undefined) throw noStage(context.server);
    const files = fileSystemScript({
      ...{ steps, stage, second, kindOf, tools: programs },
      machine: parseMountInfo(readFileSync("/proc/self/mountinfo", "utf8")),
    });
    const env = { ...inner.env, HOME: policy.home, TMPDIR: "/tmp" };
    const script = sandboxScript({
      ...{ programs, files, hostname: SANDBOX_HOSTNAME, cwd: workingFolder(policy) },
      ...{ uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
      ...{ isRouted: egress !== undefined, filter: filter(policy.exec.spawn || egress !== undefined) },
      ...{ environment: ENVIRONMENT, close: [SCRIPT] },
    });
    const data = [script, environmentScript(env, programs.env, ENVIRONMENT), egress?.settings];
    for (const text of data) if (text !== undefined) fds.push(openSecretData(text));
    const shell = [programs.sh, "-c", `. /proc/self/fd/${SCRIPT}`, "sh"];
    const command = [...namespaceWords(programs), ...shell, inner.file, ...inner.args];
    const [file = "", ...args] = [...niceWords(policy, found), ...command];
    const spawned = (): void => {
      close();
      names?.spawned();
    };
    return {
      ...{ file, args, env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }, cwd: "/", fds: [...fds] },
      ...{ spawned, ended: () => network.close() },
      terminate: (child) => terminateServer(child, egress === undefined ? "server" : "relay"),
    };
  } catch (error) {
    close();
    network.close();
    throw error;
  }
}

function after(words: readonly string[], program: Program): Program {
  const [file = program.file, ...args] = [...words, program.file, ...program.args];
  return { ...program, file, args };
}

/** The programs that run after the machine's own files are out of reach. */
async function startPrograms(programs: Programs): Promise<string[]> {
  const { umount, unshare, setpriv, sh, perl, env, prlimit } = programs;
  const paths = [umount, unshare, setpriv, sh, perl, env, prlimit].filter((path) => path !== undefined);
  return [...new Set([...paths, ...(await Promise.all(paths.map((path) => realpath(path))))])];
}

function kindOf(path: string): "folder" | "file" | undefined {
  try {
    return statSync(path).isDirectory() ? "folder" : "file";
  } catch {
    return undefined;
  }
}

function noStage(server: string): PortolanError {
  return new PortolanError(
    "SANDBOX_UNAVAILABLE",
    `The sandbox could not be created: Portolan needs two folders to mount its file system, and found fewer. The folders can be ${CANDIDATES.slice(0, -1).join(", ")} or ${CANDIDATES.at(-1)}.`,
    {
      server,
      hint: "A folder is usable if it is not a symbolic link, if you can enter it, and if it contains nothing that the server uses. If some of these folders do not exist, create them, for example: `sudo mkdir -p /mnt /media`.",
    },
  );
}
