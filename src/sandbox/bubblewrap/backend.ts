// The backend for Linux: each server in namespaces of its own, made by bubblewrap, which is one small program and needs no rights.

import { closeSync } from "node:fs";
import { limitClause, type ResourceLimits } from "../../model/index.ts";
import type { Program, Spawnable } from "../../process/index.ts";
import type { Box, Clause, HeldBox, SandboxBackend, WrapContext } from "../types.ts";
import { BOX_HOSTNAME, boxArguments } from "./arguments.ts";
import { openData, openSecretData } from "./data-files.ts";
import { LIMITS_OF_PRLIMIT, limitWords, processLimitProblem, settableLimit } from "./limits.ts";
import { nestedBox } from "./nested.ts";
import { type BubblewrapProbe, probeBubblewrap } from "./probe.ts";
import { seccompProgram } from "./seccomp.ts";
import { askBox } from "./terminate.ts";

type OpenEgress = typeof import("../egress/egress.ts").openEgress;
type Egress = Awaited<ReturnType<OpenEgress>>;
type NameListener = import("../egress/name-listener.ts").NameListener;

export interface BubblewrapOptions {
  /** Default: the one on the PATH. */
  readonly bwrap?: string | undefined;
  readonly openEgress?: OpenEgress | undefined;
}

/** Variables by which the loader and the C library of bubblewrap itself, outside of the box, could be made to run other code. */
const OF_THE_LOADER =
  /^(?:LD_.*|MALLOC_.*|GLIBC_TUNABLES|GCONV_PATH|GETCONF_DIR|HOSTALIASES|LOCALDOMAIN|LOCPATH|NIS_PATH|NLSPATH|RESOLV_HOST_CONF|RES_OPTIONS|TZDIR)$/;

const MAX_DECLARED = 1_000;

export function createBubblewrap(options: BubblewrapOptions = {}): SandboxBackend {
  const probe = (): Promise<BubblewrapProbe> => probeBubblewrap(options.bwrap);
  return {
    name: "bubblewrap",
    probe: async () => (await probe()).report,
    missing: async (box) => {
      const found = probe();
      // While bubblewrap is tried out there is time to load what most boxes need.
      if (box.network.length === 0) loadNameListener().catch(() => {});
      return missing(box, await found);
    },
    held: async (box) => held(box, await probe()),
    wrap: async (program, box, context) => wrap(program, box, context, await probe(), options.openEgress),
  };
}

async function wrap(
  program: Program,
  box: Box,
  context: WrapContext,
  found: BubblewrapProbe,
  open: OpenEgress | undefined,
): Promise<Spawnable> {
  const fds: number[] = [];
  const data = (fd: number): number => fds.push(fd) + 2;
  const close = (): void => {
    for (const fd of fds.splice(0)) closeSync(fd);
  };
  const egress = box.network.length === 0 ? undefined : await egressOf(box, context, open);
  const names = egress === undefined ? await namesOf(context) : undefined;
  try {
    // The relay starts the server, which then must not start anything: two filters, so two boxes, one in the other.
    const nested = egress === undefined || box.exec.spawn ? undefined : await nestedBox(box, found);
    const limited = withLimits(program, box, found);
    const started = nested?.command(limited) ?? limited;
    const inner = egress?.command(started, data(openSecretData(egress.settings))) ?? started;
    const { env, aside } = withoutLoader({ ...inner.env, HOME: box.home, TMPDIR: "/tmp" });
    const words = await boxArguments({
      box,
      namespaces: found.namespaces,
      uid: nested?.uid,
      nests: nested !== undefined,
      canSize: found.canSize,
      extra: {
        mounts: [found.prlimit ?? [], egress?.mounts ?? [], nested?.mounts ?? []].flat(),
        // Its /etc/hosts knows the machine's name; the box has another.
        files: [...(egress?.files ?? []), ...(nested?.files ?? [])].filter(
          ({ path }) => path !== "/etc/hosts",
        ),
        caps: egress?.caps ?? [],
        names: names?.socket,
      },
      data: (content) => data(openData(content)),
    });
    if (egress !== undefined) words.push("--ro-bind", egress.socket.outside, egress.socket.inside);
    // It lies in memory as well, and cannot be given a size.
    words.push("--remount-ro", "/dev");
    const filter = seccompProgram(nested === undefined ? box.exec : { spawn: true, nests: true });
    if (filter !== undefined) words.push("--seccomp", String(data(openData(filter))));
    // Values of variables are not for the list of processes, where everybody could read them.
    if (aside !== undefined) words.push("--args", String(data(openSecretData(aside))));
    const niceness = box.limits.niceness ?? 0;
    const nice = niceness > 0 && found.nice !== undefined ? [found.nice, "-n", String(niceness)] : [];
    const [file = "", ...args] = [...nice, found.bwrap, ...words, "--", inner.file, ...inner.args];
    const inside = egress === undefined ? "server" : nested === undefined ? "relay" : "relay and box";
    const spawned = (): void => {
      close();
      names?.spawned();
    };
    return {
      ...{ file, args, env, cwd: "/", fds: [...fds], spawned, ended: () => (egress ?? names)?.close() },
      ask: (child) => askBox(child, inside),
    };
  } catch (error) {
    close();
    (egress ?? names)?.close();
    throw error;
  }
}

async function egressOf(box: Box, context: WrapContext, open: OpenEgress | undefined): Promise<Egress> {
  const openEgress = open ?? (await import("../egress/egress.ts")).openEgress;
  return openEgress({
    server: context.server,
    rules: box.network,
    onDenied: context.onDenied,
  });
}

const loadNameListener = (): Promise<typeof import("../egress/name-listener.ts")> =>
  import("../egress/name-listener.ts");

/** Where no host is granted there is no relay; what the server looks up is heard all the same. */
async function namesOf({ server, onDenied }: WrapContext): Promise<NameListener | undefined> {
  const { openNameListener } = await loadNameListener();
  return openNameListener({ server, onDenied, hostname: BOX_HOSTNAME });
}

/** Between the relay and the server, so that the relay is not held to what was meant for the server. */
function withLimits(program: Program, box: Box, { prlimit }: BubblewrapProbe): Program {
  if (prlimit === undefined) return program;
  const [file = "", ...words] = limitWords(prlimit, box.limits, processLimitProblem() === undefined);
  return { ...program, file, args: [...words, "--", program.file, ...program.args] };
}

function withoutLoader(all: Readonly<Record<string, string>>): {
  readonly env: Record<string, string>;
  /** Arguments that set them inside of the box. */
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

function missing(box: Box, found: BubblewrapProbe): Clause[] {
  const { report } = found;
  if (!report.available) {
    const reason = report.findings.find(({ ok, remedy }) => !ok && remedy !== undefined);
    return [
      {
        clause: "sandbox",
        problem: reason?.detail ?? "bubblewrap cannot be used here",
        remedy: reason?.remedy ?? "portolan doctor",
      },
    ];
  }
  const clauses: Clause[] = [];
  if (seccompProgram({ spawn: true }) === undefined) {
    clauses.push({
      clause: box.exec.spawn ? "sandbox" : "exec.spawn: false",
      problem: `system calls cannot be filtered on ${process.arch}`,
      remedy: "Use a machine with an x64 or arm64 processor.",
    });
  }
  return [
    ...clauses,
    ...tooManyPaths(box),
    ...[...box.declaredLimits].flatMap((name) => missingLimit(name, box, found)),
  ];
}

/** It takes 9000 words, from wherever they come, and looks through all mounts for each one more: at 2000 that is half a minute. */
function tooManyPaths({ mounts }: Box): Clause[] {
  const declared = mounts.filter(({ reason }) => reason === "declared").length;
  if (declared <= MAX_DECLARED) return [];
  return [
    {
      clause: `fs: ${declared} paths`,
      problem: `bubblewrap is not given more than ${MAX_DECLARED}`,
      remedy: "Name the folders that hold them.",
    },
  ];
}

/** A limit that cannot be set is not one, whoever asked for it. */
function held(box: Box, found: BubblewrapProbe): HeldBox {
  const limits: Partial<Record<keyof ResourceLimits, number>> = {};
  const unheldDefaults: Clause[] = [];
  for (const [key, wanted] of Object.entries(box.limits) as [keyof ResourceLimits, number | undefined][]) {
    const clauses = missingLimit(key, box, found);
    if (clauses.length > 0) unheldDefaults.push(...(box.declaredLimits.has(key) ? [] : clauses));
    else if (wanted !== undefined) limits[key] = settableLimit(key, wanted);
  }
  return { box: { ...box, limits }, unheldDefaults };
}

function missingLimit(name: keyof ResourceLimits, box: Box, { prlimit, nice }: BubblewrapProbe): Clause[] {
  const clause = limitClause(name, box.limits[name]);
  const install = { clause, remedy: "sudo apt-get install util-linux coreutils" };
  if (name === "niceness") return nice === undefined ? [{ ...install, problem: "there is no nice" }] : [];
  if (LIMITS_OF_PRLIMIT.includes(name) && prlimit === undefined) {
    return [{ ...install, problem: "there is no prlimit" }];
  }
  const counting = name === "processes" ? processLimitProblem() : undefined;
  return counting === undefined ? [] : [{ clause, ...counting }];
}
