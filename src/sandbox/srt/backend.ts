// Sandbox backend for systems without bubblewrap: Anthropic's sandbox-runtime (srt), if it is installed. It
// enforces fewer rules.

import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { limitRule } from "../../model/index.ts";
import { type Program, runProgram, type Spawnable } from "../../process/index.ts";
import { installCommand, readLine } from "../linux/explain.ts";
import { isInside, pinnedFolders } from "../paths/paths.ts";
import type {
  BackendReport,
  SandboxPolicy,
  RuleProblem,
  Finding,
  Guarantee,
  SandboxBackend,
} from "../types.ts";
import {
  createSession,
  type Filesystem,
  loadRuntime,
  PACKAGE,
  sharedModules,
  type SrtPlaces,
} from "./runtime.ts";

const INSTALL = `npm install -g ${PACKAGE}`;

/** Temporary folders of srt, which all its sandboxes would share. */
const SHARED = ["/tmp/claude", "/private/tmp/claude"];
const SHELL = "/bin/sh";
const ENFORCES: readonly Guarantee[] = ["files: only what is granted", "network: none by default"];
const TEST_MS = 30_000;
/** Variables that could make the shell or srt's own programs, outside of the sandbox, run other code. */
const INSIDE_ONLY =
  /^(?:LD_|DYLD_|MALLOC_|GLIBC_TUNABLES$|GCONV_PATH$|LOCPATH$|NLSPATH$|BASH_|SHELLOPTS$|ENV$)/;

/** Looks for the package beside this module and among the globally installed packages. */
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
    missing: async (policy) => missing(policy, await probe()),
    enforced: async (policy) => ({
      policy: { ...policy, limits: {} },
      unenforcedDefaults: unenforcedDefaults(policy),
    }),
    wrap: async (program, policy) => wrap(program, policy),
  };

  async function wrap(program: Program, policy: SandboxPolicy): Promise<Spawnable> {
    const { runtime, folder, leave } = await session.enter();
    const home = await privateFolder();
    const ended = (): void => {
      leave();
      void rm(home, { recursive: true, force: true });
    };
    try {
      const isMounted = policy.mounts.some(({ path, access }) => access === "write" && path === policy.home);
      const HOME = isMounted ? policy.home : home;
      // srt sets TMPDIR to a folder that all its sandboxes share.
      const own = Object.entries({ ...program.env, HOME, TMPDIR: home });
      const inside = own.filter(([name]) => INSIDE_ONLY.test(name) || name === "TMPDIR");
      const exported = inside
        .filter(([name]) => /^\w+$/.test(name))
        .map(([name, value]) => `export ${name}=${quote(value)}; `);
      const filesystem = filesystemOf(policy, home, folder);
      const command = `${exported.join("")}exec ${[program.file, ...program.args].map(quote).join(" ")}`;
      const wrapped = await runtime.wrapWithSandbox(command, SHELL, { filesystem });
      // Without `exec`, a shell stays between Portolan and the sandbox, which would outlive Portolan. `bash` would
      // read the user's .bashrc.
      const args = ["-c", `exec ${wrapped}`];
      const env = Object.fromEntries(own.filter(([name]) => !INSIDE_ONLY.test(name)));
      return { file: SHELL, args, env, cwd: policy.cwd ?? HOME, fds: [], spawned: () => {}, ended };
    } catch (error) {
      ended();
      throw error;
    }
  }
}

function filesystemOf(policy: SandboxPolicy, home: string, itself: string): Filesystem {
  const shown = policy.mounts.filter(({ access }) => access !== "hidden");
  // srt applies a write grant to everything inside of the folder.
  const written = shown.filter(({ access }) => access === "write");
  const fixed = shown.filter(
    ({ path, access }) => access === "read" && written.some((outer) => isInside(path, outer.path)),
  );
  const all = [
    ...pinnedFolders(shown, policy.mounts),
    ...policy.mounts.filter(({ access }) => access === "hidden"),
  ];
  const paths = (wanted: string): string[] =>
    all.filter(({ access }) => access === wanted).map(({ path }) => path);
  return {
    denyRead: ["/", ...paths("hidden")],
    allowRead: [...paths("read"), ...paths("write"), home, itself],
    allowWrite: [...paths("write"), home],
    denyWrite: [...SHARED, ...paths("hidden"), ...fixed.map(({ path }) => path)],
  };
}

function missing(policy: SandboxPolicy, report: BackendReport): RuleProblem[] {
  const fault = report.findings.find(({ ok }) => !ok);
  if (!report.available)
    return [
      {
        rule: "sandbox",
        problem: fault === undefined ? `${PACKAGE} cannot be used here` : `${fault.what}: ${fault.detail}`,
        remedy: fault?.remedy ?? "portolan doctor",
      },
    ];
  const problems: RuleProblem[] = policy.network.map((rule) => ({
    rule: `network: ${rule}`,
    problem: `${PACKAGE} has one list of hosts for all servers of a process, so it blocks all hosts`,
    remedy: "Use bubblewrap, on Linux, or remove the host from network.",
  }));
  const cannot = (rule: string): number =>
    problems.push({
      rule,
      problem: `${PACKAGE} cannot enforce this rule`,
      remedy: "Use bubblewrap, on Linux, or remove the rule.",
    });
  if (policy.exec.allow !== undefined) cannot(`exec.allow: ${policy.exec.allow.join(", ")}`);
  if (!policy.exec.spawn) cannot("exec.spawn: false");
  for (const name of policy.configuredLimits) cannot(limitRule(name, policy.limits[name]));
  for (const { path } of policy.mounts) if (/[*?[\]{}]/.test(path)) cannot(`fs: ${path}`);
  // On macOS, srt prefers a granted folder over a hidden path inside of it.
  if (process.platform === "darwin")
    for (const { path, access, reason } of policy.mounts)
      if (access === "hidden") cannot(reason === "declared" ? `fs.deny: ${path}` : `fs: ${path} hidden`);
  return problems;
}

/** srt sets no limits. */
function unenforcedDefaults({ limits, configuredLimits }: SandboxPolicy): RuleProblem[] {
  const names = Object.keys(limits) as (keyof SandboxPolicy["limits"])[];
  return names
    .filter((name) => !configuredLimits.has(name))
    .map((name) => ({
      rule: limitRule(name, limits[name]),
      problem: `${PACKAGE} cannot enforce this rule`,
      remedy: "Use bubblewrap, on Linux.",
    }));
}

async function tryOut(
  places: SrtPlaces,
  wrap: (program: Program, policy: SandboxPolicy) => Promise<Spawnable>,
): Promise<BackendReport> {
  const findings: Finding[] = [];
  let version: string | undefined;
  const report = (what: string, detail?: string, remedy?: string): BackendReport => {
    findings.push({ what, ok: detail === undefined, detail, remedy });
    return { available: detail === undefined, version, enforces: ENFORCES, findings };
  };
  const unsupported = (): BackendReport =>
    report(
      "platform",
      `${PACKAGE} cannot sandbox each server separately on this platform`,
      "Run the server from an image: docker: <image> instead of its command.",
    );
  // On Windows, srt cannot separate the files of servers, so that its installation would not help.
  if (process.platform === "win32") return unsupported();
  try {
    const { runtime, version: found } = await loadRuntime(places);
    version = found;
    if (!runtime.isSupportedPlatform()) return unsupported();
    const { errors } = await runtime.checkDependenciesAsync();
    if (errors.length > 0)
      return report(
        "dependencies",
        errors.join("; "),
        process.platform === "darwin"
          ? "brew install ripgrep"
          : installCommand("bubblewrap socat ripgrep", readLine),
      );
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return report(PACKAGE, isMissing ? "it is not installed" : String(error), INSTALL);
  }
  try {
    return report("test sandbox", await runTrue(wrap));
  } catch (error) {
    return report("test sandbox", String(error));
  }
}

/** Undefined if it worked. */
async function runTrue(
  wrap: (program: Program, policy: SandboxPolicy) => Promise<Spawnable>,
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
      configuredLimits: new Set(),
    },
  );
  const { code, stderr } = await runProgram(spawnable, { timeoutMs: TEST_MS });
  return code === 0 ? undefined : stderr.trim().slice(0, 2_000) || `it exited with code ${code}`;
}

async function privateFolder(): Promise<string> {
  return mkdtemp(join(await realpath(tmpdir()), "portolan-home-"));
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
