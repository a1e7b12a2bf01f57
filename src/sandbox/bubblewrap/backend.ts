// Sandbox backend for Linux: runs each server in its own namespaces with bubblewrap, which needs no privileges.

import { closeSync } from "node:fs";
import type { Program, Spawnable } from "../../process/index.ts";
import { openData, openSecretData, openSmallFile } from "../linux/data-files.ts";
import { sandboxLayout, workingFolder } from "../linux/layout.ts";
import { openNetwork, type OpenEgress, preloadNetwork } from "../linux/network.ts";
import { enforcedLimits, missingRules, niceWords, withLimits } from "../linux/rules.ts";
import { seccompProgram } from "../linux/seccomp.ts";
import { terminateServer } from "../linux/terminate.ts";
import type { SandboxPolicy, RuleProblem, SandboxBackend, WrapContext } from "../types.ts";
import { bubblewrapArguments } from "./arguments.ts";
import { nestedSandbox } from "./nested.ts";
import { probeBubblewrap, type BubblewrapProbe } from "./probe.ts";

export interface BubblewrapOptions {
  /** Default: bwrap on the PATH. */
  readonly bwrap?: string;
  readonly openEgress?: OpenEgress;
}

/** Variables that could make bubblewrap itself, outside of the sandbox, load other code. */
const OF_THE_LOADER =
  /^(?:LD_.*|MALLOC_.*|GLIBC_TUNABLES|GCONV_PATH|GETCONF_DIR|HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH|RESOLV_HOST_CONF|RES_OPTIONS|TZDIR)$/;

export function createBubblewrap(options: BubblewrapOptions = {}): SandboxBackend {
  const probe = (): Promise<BubblewrapProbe> => probeBubblewrap(options.bwrap);
  return {
    name: "bubblewrap",
    probe: async () => (await probe()).report,
    missing: async (policy) => {
      const found = probe();
      preloadNetwork(policy);
      return missing(policy, await found);
    },
    enforced: async (policy) => enforcedLimits(policy, await probe()),
    wrap: async (program, policy, context) =>
      wrap(program, policy, context, await probe(), options.openEgress),
  };
}

async function wrap(
  program: Program,
  policy: SandboxPolicy,
  context: WrapContext,
  found: BubblewrapProbe,
  openEgress: OpenEgress | undefined,
): Promise<Spawnable> {
  const fds: number[] = [];
  const data = (fd: number): number => fds.push(fd) + 2;
  const close = (): void => {
    for (const fd of fds.splice(0)) closeSync(fd);
  };
  const network = await openNetwork(policy, context, { openEgress });
  const { egress, names } = network;
  try {
    // The relay must start the server, but the server must not start processes. That takes two filters, and so two
    // nested sandboxes.
    const nested = egress === undefined || policy.exec.spawn ? undefined : await nestedSandbox(policy, found);
    const limited = withLimits(program, policy, found);
    const started = nested?.command(limited) ?? limited;
    const inner = egress?.command(started, data(openSecretData(egress.settings))) ?? started;
    const { env, aside } = withoutLoader({ ...inner.env, HOME: policy.home, TMPDIR: "/tmp" });
    const steps = await sandboxLayout({
      policy,
      uid: nested?.uid,
      nests: nested !== undefined,
      extra: {
        mounts: [found.prlimit ?? [], egress?.mounts ?? [], nested?.mounts ?? []].flat(),
        // Its /etc/hosts contains the machine's name; the sandbox has another one.
        files: [...(egress?.files ?? []), ...(nested?.files ?? [])].filter(
          ({ path }) => path !== "/etc/hosts",
        ),
        names: names?.socket,
        socket: egress?.socket,
      },
    });
    const words = bubblewrapArguments({
      steps,
      cwd: workingFolder(policy),
      namespaces: found.namespaces,
      caps: egress?.caps ?? [],
      uid: nested?.uid,
      canSize: found.canSize,
      data: (content) => data(openData(content)),
      copy: (path) => {
        const fd = openSmallFile(path);
        return fd === undefined ? undefined : data(fd);
      },
    });
    const filter = seccompProgram(nested === undefined ? policy.exec : { spawn: true, nests: true });
    if (filter !== undefined) words.push("--seccomp", String(data(openData(filter))));
    // Every user can read the list of processes, so that values of variables are passed in a descriptor.
    if (aside !== undefined) words.push("--args", String(data(openSecretData(aside))));
    const command = [found.bwrap, ...words, "--", inner.file, ...inner.args];
    const [file = "", ...args] = [...niceWords(policy, found), ...command];
    const inside = egress === undefined ? "server" : nested === undefined ? "relay" : "relay and sandbox";
    const spawned = (): void => {
      close();
      names?.spawned();
    };
    return {
      ...{ file, args, env, cwd: "/", fds: [...fds], spawned, ended: () => network.close() },
      terminate: (child) => terminateServer(child, inside),
    };
  } catch (error) {
    close();
    network.close();
    throw error;
  }
}

function withoutLoader(all: Readonly<Record<string, string>>): {
  readonly env: Record<string, string>;
  /** Arguments that set these variables inside of the sandbox. */
  readonly aside: string | undefined;
} {
  const isAside = ([name]: [string, string]): boolean => OF_THE_LOADER.test(name);
  const entries = Object.entries(all);
  const aside = entries.filter((entry) => isAside(entry)).flatMap((entry) => ["--setenv", ...entry]);
  return {
    env: Object.fromEntries(entries.filter((entry) => !isAside(entry))),
    aside: aside.length === 0 ? undefined : aside.map((word) => `${word}\0`).join(""),
  };
}

function missing(policy: SandboxPolicy, found: BubblewrapProbe): RuleProblem[] {
  const { report } = found;
  if (!report.available) {
    const reason = report.findings.find(({ ok, remedy }) => !ok && remedy !== undefined);
    return [
      {
        rule: "sandbox",
        problem: reason?.detail ?? "bubblewrap cannot be used here",
        remedy: reason?.remedy ?? "portolan doctor",
      },
    ];
  }
  const problems: RuleProblem[] = [];
  if (seccompProgram({ spawn: true }) === undefined) {
    problems.push({
      rule: policy.exec.spawn ? "sandbox" : "exec.spawn: false",
      problem: `Portolan has no system call filter for the processor ${process.arch}`,
      remedy: "Use a machine with an x64 or arm64 processor.",
    });
  }
  return [...problems, ...missingRules(policy, found, "bubblewrap")];
}
