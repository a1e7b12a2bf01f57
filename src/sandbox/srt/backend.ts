// The backend for where there is no bubblewrap of ours: Anthropic's sandbox-runtime, when it is installed. It holds less, and says so.

import { spawn } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { limitClause } from "../../model/index.ts";
import type { Program, Spawnable } from "../../process/index.ts";
import { isInside } from "../paths/paths.ts";
import { heldFolders } from "../paths/pinned-folders.ts";
import type { BackendReport, Box, Clause, Finding, SandboxBackend } from "../types.ts";
import { createSession, type Filesystem, loadRuntime, PACKAGE, sharedModules, type SrtPlaces } from "./runtime.ts";

const INSTALL = `npm install -g ${PACKAGE}`;

/** Its own places for temporary files, which all of its sandboxes would share. */
const SHARED = ["/tmp/claude", "/private/tmp/claude"];
const SHELL = "/bin/sh";
/** Variables by which the shell and the sandbox's own programs, outside of the box, could be made to run other code. */
const INSIDE_ONLY =
  /^(?:LD_|DYLD_|MALLOC_|GLIBC_TUNABLES$|GCONV_PATH$|LOCPATH$|NLSPATH$|BASH_|SHELLOPTS$|ENV$)/;

/** It is looked for beside this module, and among what is installed for all programs. */
export function createSrt({
  from = import.meta.url,
  shared = sharedModules,
}: Partial<SrtPlaces> = {}): SandboxBackend {
  let probed: Promise<BackendReport> | undefined;
  let asked: Promise<string | undefined> | undefined;
  const places: SrtPlaces = { from, shared: () => (asked ??= shared()) };
  const session = createSession(places);
  const probe = (): Promise<BackendReport> => (probed ??= tryOut(places, wrap));
  return {
    name: "srt",
    probe,
    missing: async (box) => missing(box, await probe()),
    held: async (box) => ({ box: { ...box, limits: {} }, unheldDefaults: unheldDefaults(box) }),
    wrap: async (program, box) => wrap(program, box),
  };

  async function wrap(program: Program, box: Box): Promise<Spawnable> {
    const { runtime, folder, leave } = await session.enter();
    const home = await privateFolder();
    const ended = (): void => {
      leave();
      void rm(home, { recursive: true, force: true });
    };
    try {
      const isMounted = box.mounts.some(({ path, access }) => access === "write" && path === box.home);
      const HOME = isMounted ? box.home : home;
      // It sets TMPDIR inside to a folder that all share.
      const own = Object.entries({ ...program.env, HOME, TMPDIR: home });
      const inside = own.filter(([name]) => INSIDE_ONLY.test(name) || name === "TMPDIR");
      const exported = inside
        .filter(([name]) => /^\w+$/.test(name))
        .map(([name, value]) => `export ${name}=${quote(value)}; `);
      const filesystem = filesystemOf(box, home, folder);
      const command = `${exported.join("")}exec ${[program.file, ...program.args].map(quote).join(" ")}`;
      const wrapped = await runtime.wrapWithSandbox(command, SHELL, { filesystem });
      // Without `exec`, a shell stays between us and the box, and the box outlives us. As `bash` it would read the user's .bashrc.
      const args = ["-c", `exec ${wrapped}`];
      const env = Object.fromEntries(own.filter(([name]) => !INSIDE_ONLY.test(name)));
      return { file: SHELL, args, env, cwd: box.cwd ?? HOME, fds: [], spawned: () => {}, ended };
    } catch (error) {
      ended();
      throw error;
    }
  }
}

function filesystemOf(box: Box, home: string, itself: string): Filesystem {
  const shown = box.mounts.filter(({ access }) => access !== "hidden");
  // What may be written holds for all that is inside, unless it is taken back.
  const written = shown.filter(({ access }) => access === "write");
  const fixed = shown.filter(
    ({ path, access }) => access === "read" && written.some((outer) => isInside(path, outer.path)),
  );
  const all = [...heldFolders(shown, box.mounts), ...box.mounts.filter(({ access }) => access === "hidden")];
  const paths = (wanted: string): string[] =>
    all.filter(({ access }) => access === wanted).map(({ path }) => path);
  return {
    denyRead: ["/", ...paths("hidden")],
    allowRead: [...paths("read"), ...paths("write"), home, itself],
    allowWrite: [...paths("write"), home],
    denyWrite: [...SHARED, ...paths("hidden"), ...fixed.map(({ path }) => path)],
  };
}

function missing(box: Box, report: BackendReport): Clause[] {
  const fault = report.findings.find(({ ok }) => !ok);
  if (!report.available)
    return [
      {
        clause: "sandbox",
        problem: fault === undefined ? `${PACKAGE} cannot be used here` : `${fault.what}: ${fault.detail}`,
        remedy: fault?.remedy ?? "portolan doctor",
      },
    ];
  const clauses: Clause[] = box.network.map((rule) => ({
    clause: `network: ${rule}`,
    problem: `${PACKAGE} has one list for all servers of a process, so nothing is let through`,
    remedy: "Use bubblewrap, on Linux, or run the server from an image.",
  }));
  const cannot = (clause: string): number =>
    clauses.push({
      clause,
      problem: `${PACKAGE} cannot hold it`,
      remedy: "Use bubblewrap, on Linux, or leave it out.",
    });
  if (box.exec.allow !== undefined) cannot(`exec.allow: ${box.exec.allow.join(", ")}`);
  if (!box.exec.spawn) cannot("exec.spawn: false");
  for (const name of box.declaredLimits) cannot(limitClause(name, box.limits[name]));
  for (const { path } of box.mounts) if (/[*?[\]{}]/.test(path)) cannot(`fs: ${path}`);
  // There, what is allowed wins over what is hidden inside of it.
  if (process.platform === "darwin")
    for (const { path, access, reason } of box.mounts)
      if (access === "hidden") cannot(reason === "portolan" ? `fs: ${path} hidden` : `fs.deny: ${path}`);
  return clauses;
}

/** It sets no limits at all. */
function unheldDefaults({ limits, declaredLimits }: Box): Clause[] {
  const names = Object.keys(limits) as (keyof Box["limits"])[];
  return names
    .filter((name) => !declaredLimits.has(name))
    .map((name) => ({
      clause: limitClause(name, limits[name]),
      problem: `${PACKAGE} cannot hold it`,
      remedy: "Use bubblewrap, on Linux.",
    }));
}

async function tryOut(
  places: SrtPlaces,
  wrap: (program: Program, box: Box) => Promise<Spawnable>,
): Promise<BackendReport> {
  const findings: Finding[] = [];
  let version: string | undefined;
  const report = (what: string, detail?: string, remedy?: string): BackendReport => {
    findings.push({ what, ok: detail === undefined, detail, remedy });
    return { available: detail === undefined, version, findings };
  };
  try {
    const { runtime, version: found } = await loadRuntime(places);
    version = found;
    // There, it cannot be told per server what may be read and written.
    if (process.platform === "win32" || !runtime.isSupportedPlatform())
      return report("platform", `${PACKAGE} cannot hold a box of its own for each server here`);
    const { errors } = await runtime.checkDependenciesAsync();
    if (errors.length > 0)
      return report("what it needs", errors.join("; "), "sudo apt-get install bubblewrap socat ripgrep");
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return report(PACKAGE, isMissing ? "it is not installed" : String(error), INSTALL);
  }
  try {
    const failure = await runTrue(wrap);
    return report("a box", failure);
  } catch (error) {
    return report("a box", String(error));
  }
}

/** Undefined when it worked. */
async function runTrue(
  wrap: (program: Program, box: Box) => Promise<Spawnable>,
): Promise<string | undefined> {
  const places = [
    "/usr",
    "/bin",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/System",
    "/Library",
    "/private/var/select",
  ];
  const spawnable = await wrap(
    { file: "true", args: [], cwd: "/", env: { PATH: "/usr/bin:/bin" } },
    {
      mounts: places.map((path) => ({ path, access: "read", reason: "system" })),
      home: "/",
      network: [],
      exec: { allow: undefined, spawn: true },
      limits: {},
      declaredLimits: new Set(),
    },
  );
  try {
    return await new Promise((resolve) => {
      let said = "";
      const child = spawn(spawnable.file, spawnable.args, {
        env: spawnable.env,
        cwd: spawnable.cwd,
        stdio: ["ignore", "ignore", "pipe"],
      });
      child.stderr.on("data", (data: Buffer) => (said += data.toString().slice(0, 2000)));
      child.on("error", (error) => resolve(error.message));
      child.on("close", (code) => resolve(code === 0 ? undefined : said.trim() || `it ended with ${code}`));
    });
  } finally {
    spawnable.ended();
  }
}

async function privateFolder(): Promise<string> {
  return mkdtemp(join(await realpath(tmpdir()), "portolan-home-"));
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
