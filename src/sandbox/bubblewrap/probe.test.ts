// Reports about a machine where bubblewrap is missing or does not work, with the command that repairs it.

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createBubblewrap } from "./backend.ts";
import { limitWords, processLimitProblem } from "../linux/limits.ts";
import { installCommand } from "../linux/explain.ts";
import { explain, probeBubblewrap, runProbe } from "./probe.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portolan-probe-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const debian = (file: string): string | undefined => (file === "/etc/os-release" ? "ID=debian" : undefined);

describe.skipIf(process.platform !== "linux")("the probe of bubblewrap", () => {
  test("names the command that installs bubblewrap", async () => {
    const { report } = await runProbe(join(folder, "no-bwrap"), debian);
    expect(report.available).toBe(false);
    expect(report.findings[0]).toEqual({
      what: "bubblewrap",
      ok: false,
      detail: "bubblewrap is not installed",
      remedy: "sudo apt-get install bubblewrap",
    });
  });

  test("reports why bubblewrap cannot create namespaces", async () => {
    const file = join(folder, "bwrap");
    writeFileSync(
      file,
      '#!/bin/sh\n[ "$1" = --version ] && echo bubblewrap 0.6.1 && exit 0\necho "bwrap: No permissions" >&2; exit 1\n',
    );
    chmodSync(file, 0o755);
    const found = await runProbe(file, (name) =>
      name === "/proc/sys/kernel/apparmor_restrict_unprivileged_userns" ? "1" : undefined,
    );
    expect(found.report).toMatchObject({ available: false, version: "0.6.1" });
    expect(found.canSize).toBe(false);
    const finding = found.report.findings.find(({ what }) => what === "namespaces");
    expect(finding).toMatchObject({ ok: false, detail: expect.stringContaining("AppArmor") as string });
    expect(finding?.remedy).toContain(`profile bwrap ${file} flags=(unconfined) { userns, }`);
  });

  test("runs once per process", () => {
    const file = join(folder, "no-bwrap");
    expect(probeBubblewrap(file)).toBe(probeBubblewrap(file));
  });

  test("runs again after a failure, because bubblewrap may have been installed since", async () => {
    const file = join(folder, "late-bwrap");
    expect((await probeBubblewrap(file)).report.findings[0]?.detail).toBe("bubblewrap is not installed");
    writeFileSync(file, "#!/bin/sh\necho bubblewrap 0.8.0\n");
    chmodSync(file, 0o755);
    await expect
      .poll(async () => (await probeBubblewrap(file)).report.available, { timeout: 3_000 })
      .toBe(true);
  });

  test("reports the whole sandbox as missing if bubblewrap is not installed", async () => {
    const backend = createBubblewrap({ bwrap: join(folder, "no-bwrap") });
    const problems = await backend.missing({
      ...{ mounts: [], home: "/home/user", network: [], exec: { allow: undefined, spawn: true }, limits: {} },
      configuredLimits: new Set<never>(),
    });
    expect(problems).toMatchObject([{ rule: "sandbox", problem: "bubblewrap is not installed" }]);
    expect(problems[0]?.remedy).toContain("install");
  });
});

test.each([
  ["/proc/sys/user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"],
  ["/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"],
  ["/.dockerenv", "", "docker run --security-opt seccomp=unconfined"],
  ["/nothing", "", "bwrap --unshare-all"],
])("explain() gives the remedy for %s", (file, content, remedy) => {
  const found = explain("bwrap: it failed", "bwrap", (name) => (name === file ? content : undefined));
  expect(found.remedy).toContain(remedy);
});

test.each(["/.dockerenv", "/run/.containerenv"])(
  "the remedy in a container with %s includes the commands for its host",
  (container) => {
    const host: Record<string, string> = {
      [container]: "",
      "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
    };
    const { remedy } = explain("bwrap: it failed", "bwrap", (name) => host[name]);
    expect(remedy).toMatch(/^Start the container with these options: `docker run /);
    expect(remedy).toContain("on its host: `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`");
    expect(remedy).not.toContain("/etc/apparmor.d");
  },
);

test.each([
  ["ID=ubuntu\nID_LIKE=debian", "sudo apt-get install x"],
  ['ID="rocky"\nID_LIKE="rhel centos fedora"', "sudo dnf install x"],
  ["ID=arch", "sudo pacman -S x"],
  ["ID=alpine", "sudo apk add x"],
  ['ID="opensuse-leap"\nID_LIKE="suse opensuse"', "sudo zypper install x"],
])("installCommand for %j", (about, command) => {
  expect(installCommand("x", () => about)).toBe(command);
});

test("limits on processes need an ordinary user and Linux 5.14 or later", () => {
  expect(processLimitProblem(0, "6.1.0")?.remedy).toBe("Run portolan as an ordinary user.");
  expect(processLimitProblem(1000, "5.10.0-8")?.problem).toContain("5.10.0-8");
  expect(processLimitProblem(1000, "5.14.0")).toBeUndefined();
  expect(processLimitProblem(1000, "6.18.44-x")).toBeUndefined();
});

test.skipIf(process.platform !== "linux")(
  "limitWords returns the limits as prlimit options, none above the limits of this process",
  () => {
    const limits = { memoryBytes: 1024, processes: 7, openFiles: 1e15, niceness: 3 };
    const words = limitWords("prlimit", limits, false);
    expect(words.slice(0, 3)).toEqual(["prlimit", "--core=0", "--data=1024"]);
    expect(words).not.toContain("--nproc=7");
    expect(words).not.toContain("--nofile=1000000000000000");
    expect(limitWords("prlimit", limits, true)).toContain("--nproc=7");
  },
);
