// Policies from sandbox configs, on real folders: their mounts, the order of the mounts, and the refusals.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxConfig } from "../../model/index.ts";
import { createConfigFiles } from "./protected-paths.ts";
import type { Mount } from "../types.ts";
import {
  type PolicyRequest,
  DEFAULT_RESOURCE_LIMITS,
  type CreatedPolicy,
  createPolicy,
} from "./create-policy.ts";

let folder = "";
const at = (...names: string[]): string => join(folder, ...names);

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-policy-")));
  for (const name of ["home/project", "data/secret/public", "data/logs", "elsewhere", "own/lib", "kept"]) {
    mkdirSync(at(name), { recursive: true });
  }
  for (const name of ["data/a.txt", "data/b.txt", "data/c.md", "own/server.js"]) writeFileSync(at(name), "");
  symlinkSync(at("elsewhere"), at("data/link"));
  symlinkSync("data", at("alias"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function make(config?: SandboxConfig, more: Partial<PolicyRequest> = {}): Promise<CreatedPolicy> {
  const program = { file: "/bin/sh", args: [], cwd: undefined, env: { PATH: "/usr/bin:/bin" } };
  return createPolicy({
    configFiles: createConfigFiles(),
    ...{ program, config, roots: [], programFolders: [at("own")], keptHome: undefined },
    ...{ homedir: at("home"), ...more },
  });
}

function given({ policy }: CreatedPolicy): string[] {
  return policy.mounts
    .filter(({ reason }) => reason !== "system")
    .map(({ path, access, reason }) => `${access} ${path.replace(`${folder}/`, "")} (${reason})`);
}

describe("the default profile", () => {
  test("has a read-only system, the server's own folder, a private HOME and no network", async () => {
    const made = await make();
    expect(made.problems).toEqual([]);
    expect(given(made)).toEqual(["read own (own)"]);
    const { policy } = made;
    expect(policy).toMatchObject({
      home: "/tmp/home",
      userHome: at("home"),
      cwd: process.cwd(),
      network: [],
      limits: DEFAULT_RESOURCE_LIMITS,
    });
    expect(policy.exec).toEqual({ allow: undefined, spawn: true });
    expect(policy.configuredLimits.size).toBe(0);
    const system = policy.mounts.filter(({ reason }) => reason === "system");
    expect(system.every(({ access }) => access === "read")).toBe(true);
    const paths = system.map(({ path }) => path);
    expect(paths).toContain("/usr");
    for (const path of ["/", "/etc", "/home", "/root", "/run", "/tmp", "/var", "/etc/ssl", "/etc/passwd"]) {
      expect(paths).not.toContain(path);
    }
  });

  test("grants a working folder for reading, unless it is a home or /", async () => {
    const program = (cwd: string): Pick<PolicyRequest, "program"> => ({
      program: { file: "/bin/sh", args: [], cwd, env: {} },
    });
    const made = await make(undefined, program(at("data")));
    expect(given(made)).toEqual(["read own (own)", "read data (cwd)"]);
    expect(made.policy.cwd).toBe(at("data"));
    const home = await make(undefined, program(at("home")));
    expect(given(home)).toEqual(["read own (own)"]);
    expect(home.policy.cwd).toBe(at("home"));
    expect(given(await make(undefined, program("/")))).toEqual(["read own (own)"]);
    expect(given(await make(undefined, { ...program(at("data")), cwdGranted: false }))).toEqual([
      "read own (own)",
    ]);
    expect((await make(undefined, program(at("nowhere")))).problems).toMatchObject([
      { rule: `cwd: ${at("nowhere")}`, remedy: `mkdir -p ${at("nowhere")}` },
    ]);
  });

  test("hides the .env files of an inferred folder, unless the config grants them", async () => {
    for (const name of ["app/.env", "app/.env.local", "app/.env.example", "app/lib/.env"]) {
      mkdirSync(at("app/lib"), { recursive: true });
      writeFileSync(at(name), "");
    }
    const own = { programFolders: [at("app")], inferredFolders: [at("app")] };
    const cwd = { program: { file: "/bin/sh", args: [".env"], cwd: at("app"), env: {} } };
    const hidden = ["hidden app/.env (env file)", "hidden app/.env.local (env file)"];
    const made = await make(undefined, { ...own, ...cwd });
    expect(given(made)).toEqual(["read app (own)", ...hidden]);
    // A grant would help, so the path is reported as not granted.
    expect(made.notGranted).toMatchObject([{ path: at("app/.env"), where: "args[0]" }]);
    expect(made.notGranted[0]?.isDenied).toBeUndefined();
    expect(given(await make(undefined, { ...own, inferredFolders: [] }))).toEqual(["read app (own)"]);
    expect(given(await make({ fs: { read: [at("app/.env")] } }, own))).toEqual([
      "read app (own)",
      "hidden app/.env.local (env file)",
    ]);
    for (const access of ["read", "write"])
      expect(given(await make({ fs: { [access]: [at("app")] } }, own))).toEqual([`${access} app (declared)`]);
  });

  test("hides files that the config names as secrets, unless the config of the server grants them", async () => {
    for (const name of ["web/certs/gw.key", "web/certs/gw.pem", "web/.env", "beside.key"]) {
      mkdirSync(at("web/certs"), { recursive: true });
      writeFileSync(at(name), "");
    }
    const secretFiles = ["web/certs/gw.key", "web/.env", "beside.key", "web/missing"].map((name) => at(name));
    const own = { programFolders: [at("web")], inferredFolders: [at("web")], secretFiles };
    const hidden = ["hidden web/.env (env file)", "hidden web/certs/gw.key (secret file)"];
    expect(given(await make(undefined, own))).toEqual(["read web (own)", ...hidden]);
    const granted = given(await make({ fs: { read: [at("web/certs/gw.key")] } }, own));
    expect(granted).toEqual(["read web (own)", "hidden web/.env (env file)"]);
    expect(given(await make({ fs: { read: [at("web")] } }, own))).toEqual(["read web (declared)"]);
  });

  test("refuses a working folder behind a link that the server can create, unless it is granted anyway", async () => {
    const program = { file: "/bin/sh", args: [], cwd: at("data/link"), env: {} };
    const steered = await make({ fs: { write: [at("data")] } }, { program });
    expect(steered.problems).toMatchObject([
      { rule: `cwd: ${at("data/link")}`, remedy: `If you created this link, write cwd: ${at("elsewhere")}.` },
    ]);
    const granted = await make({ fs: { write: [at("data")], read: [at("elsewhere")] } }, { program });
    expect(granted.problems).toEqual([]);
  });

  test("uses the working folder of this process if the config sets none", async () => {
    expect((await make()).policy.cwd).toBe(process.cwd());
  });

  test("does not use the user's home as HOME, also if the config names it or the server runs in it", async () => {
    const program = { file: "/bin/sh", args: [at("home/project")], cwd: at("home"), env: {} };
    const { policy, notGranted } = await make(undefined, { program, cwdGranted: false });
    expect(policy).toMatchObject({ home: "/tmp/home", cwd: at("home") });
    expect(policy.closed).toEqual([at("home/project"), at("home")]);
    expect(notGranted).toEqual([{ path: at("home/project"), where: "args[0]", isPrivate: true }]);
    const kept = await make({ home: "kept" }, { program, cwdGranted: false, keptHome: at("kept") });
    expect(kept.policy.home).toBe(at("kept"));
  });

  test("uses a separate folder as HOME with home: kept", async () => {
    const made = await make({ home: "kept" }, { keptHome: at("kept") });
    expect(made.policy.home).toBe(at("kept"));
    expect(given(made)).toContain("write kept (kept home)");
  });

  test("distinguishes declared limits from defaults", async () => {
    const { policy } = await make({ limits: { processes: 10, cpuSeconds: 5 } });
    expect(policy.limits).toEqual({ ...DEFAULT_RESOURCE_LIMITS, processes: 10, cpuSeconds: 5 });
    expect([...policy.configuredLimits].sort()).toEqual(["cpuSeconds", "processes"]);
  });
});

describe("grants of a policy", () => {
  test("accept folders in any notation, files, and the roots of the caller", async () => {
    const made = await make(
      { fs: { read: [`${at("data")}/**`, at("own", "server.js")], write: ["~/project/"] } },
      { roots: [at("elsewhere"), at("not-on-this-machine")] },
    );
    expect(made.problems).toEqual([]);
    expect(given(made).sort()).toEqual([
      "read data (declared)",
      "read own (own)",
      "write elsewhere (root)",
      "write home/project (declared)",
    ]);
  });

  test("a narrower grant wins over a wider one, and a write grant over default grants", async () => {
    const made = await make({ fs: { read: [at("data/logs")], write: [at("data"), at("own")] } });
    const paths = given(made);
    expect(paths).toEqual(["write data (declared)", "write own (declared)", "read data/logs (declared)"]);
    const inner = await make({ fs: { write: [folder] } }, { programFolders: [at("own/lib")] });
    expect(given(inner)).toEqual([`write ${folder} (declared)`]);
  });

  test("apply patterns to the files that exist now", async () => {
    const made = await make({ fs: { read: [at("data/*.txt"), at("**/public")] } });
    expect(given(made)).toEqual([
      "read own (own)",
      "read data/a.txt (declared)",
      "read data/b.txt (declared)",
      "read data/secret/public (declared)",
    ]);
    const none = await make({ fs: { write: [at("data/*.log")] } });
    expect(none.problems).toMatchObject([
      { rule: `fs.write: ${at("data/*.log")}`, remedy: `Grant the folder ${at("data")}.` },
    ]);
  });

  test("include a link and its target", async () => {
    const made = await make({ fs: { read: [at("data/link"), at("alias/logs")] } });
    expect(made.problems).toEqual([]);
    expect(given(made).sort()).toEqual([
      "read alias/logs (declared)",
      "read data/link (declared)",
      "read data/logs (declared)",
      "read elsewhere (declared)",
      "read own (own)",
    ]);
  });

  test.each(["read", "write", "deny"] as const)(
    "refuse a link that another server can create: fs.%s",
    async (rule) => {
      const others = { writableByServers: [at("data")] };
      const made = await make({ fs: { [rule]: [at("data/link")] } }, others);
      expect(made.problems).toMatchObject([{ rule: `fs.${rule}: ${at("data/link")}` }]);
      expect(given(made)).toEqual(["read own (own)"]);
      const program = { file: "/bin/sh", args: [], cwd: at("data/link"), env: {} };
      const inside = await make(undefined, { ...others, program });
      expect(inside.problems).toMatchObject([{ rule: `cwd: ${at("data/link")}` }]);
      expect(given(inside)).toEqual(["read own (own)"]);
      // A folder that is only shared, without a link, is granted.
      const shared = await make({ fs: { [rule]: [at("data/logs")] } }, others);
      expect(shared.problems).toEqual([]);
    },
  );

  test("refuse a link that the server itself can create", async () => {
    const made = await make({ fs: { write: [at("data")], read: [at("data/link")] } });
    expect(made.problems).toMatchObject([
      {
        rule: `fs.read: ${at("data/link")}`,
        remedy: `If you created this link, grant ${at("elsewhere")} itself.`,
      },
    ]);
    expect(given(made)).not.toContain("read elsewhere (declared)");
    const roots = await make({ fs: { read: [at("data/link")] } }, { roots: [at("data")] });
    expect(roots.problems).toHaveLength(1);
    const aliased = await make({ fs: { read: [at("data/link")], write: [at("alias")] } });
    expect(aliased.problems).toHaveLength(1);
  });

  test.each([
    {
      fs: { read: ["/nowhere/at/all"] },
      rule: "fs.read: /nowhere/at/all",
      remedy: "mkdir -p /nowhere/at/all",
    },
    { fs: { write: ["/"] }, rule: "fs.write: /" },
    { fs: { write: ["/**"] }, rule: "fs.write: /**" },
    { fs: { read: ["/proc/1"] }, rule: "fs.read: /proc/1" },
    { fs: { write: ["/dev/"] }, rule: "fs.write: /dev/" },
    { fs: { read: ["/sys"] }, rule: "fs.read: /sys" },
  ])("are refused: $rule", async ({ fs, ...rule }) => {
    const made = await make({ fs });
    expect(made.problems).toMatchObject([rule]);
    expect(given(made)).toEqual(["read own (own)"]);
  });

  test("refuse / as a root of a caller", async () => {
    expect((await make(undefined, { roots: ["/"] })).problems).toMatchObject([{ rule: "root: /" }]);
  });
});

describe("denials of a policy", () => {
  const hidden = (mounts: readonly Mount[]): string[] =>
    mounts.filter(({ access }) => access === "hidden").map(({ path }) => path);

  test("win over grants, also over a grant inside of the denied folder", async () => {
    const made = await make({
      fs: { read: [at("data"), at("data/secret/public")], deny: [at("data/secret"), at("data/a.txt")] },
    });
    expect(made.problems).toEqual([]);
    expect(hidden(made.policy.mounts)).toEqual([at("data/secret"), at("data/a.txt")]);
    expect(given(made)).not.toContain("read data/secret/public (declared)");
  });

  test("apply to the target of a link", async () => {
    const made = await make({ fs: { read: [folder], deny: [at("data/link")] } });
    expect(hidden(made.policy.mounts)).toEqual([at("elsewhere")]);
  });

  test("refuse patterns, and missing paths in a granted folder", async () => {
    const made = await make({ fs: { read: [at("data")], deny: [at("data/*.txt"), at("data/later")] } });
    expect(made.problems).toMatchObject([
      { rule: `fs.deny: ${at("data/*.txt")}`, remedy: `Name the files, or the folder ${at("data")}.` },
      { rule: `fs.deny: ${at("data/later")}` },
    ]);
    expect((await make({ fs: { deny: ["~/.ssh"] } })).problems).toEqual([]);
  });

  test("refuse a link that the server can replace", async () => {
    const made = await make({ fs: { write: [at("data")], deny: [at("data/link")] } });
    expect(made.problems).toMatchObject([
      { rule: `fs.deny: ${at("data/link")}`, remedy: `Deny ${at("elsewhere")} itself.` },
    ]);
  });

  test("refuse the program of the server", async () => {
    expect((await make({ fs: { deny: ["/usr"] } })).problems).toMatchObject([{ rule: "fs.deny: /usr" }]);
    expect((await make({ fs: { deny: [folder] } })).problems).toMatchObject([{ rule: `fs.deny: ${folder}` }]);
  });
});

describe("exec.allow", () => {
  test("removes all programs but the listed ones and the server, and keeps libraries", async () => {
    const { policy, problems } = await make({ exec: { allow: ["env", "no-such-program"] } });
    expect(problems).toMatchObject([{ rule: "exec.allow: no-such-program" }]);
    const paths = policy.mounts.map(({ path }) => path);
    expect(paths).not.toContain("/usr");
    expect(paths).not.toContain("/usr/bin");
    expect(paths).toContain("/usr/lib");
    expect(paths).toContain(realpathSync("/bin/sh"));
    expect(paths).toContain(realpathSync("/usr/bin/env"));
    expect(paths.filter((path) => path.startsWith("/usr/bin/")).length).toBeLessThan(6);
    expect(paths).not.toContain("/usr/libexec");
  });
});
