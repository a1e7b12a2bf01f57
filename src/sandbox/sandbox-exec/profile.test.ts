// The profile for macOS as a text: which rule comes last for a path, and that no path can add a rule. These tests
// run on every system; macOS itself has not enforced the profile yet.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Mount, SandboxPolicy } from "../types.ts";
import { createSandboxExec, shellScript } from "./backend.ts";
import { real, sandboxProfile, text } from "./profile.ts";

const mount = (path: string, access: Mount["access"]): Mount => ({ path, access, reason: "declared" });

function policyOf(mounts: readonly Mount[], more: Partial<SandboxPolicy> = {}): SandboxPolicy {
  return {
    ...{ mounts, home: "/tmp/home", network: [], limits: {}, configuredLimits: new Set() },
    ...{ exec: { allow: undefined, spawn: true }, ...more },
  };
}

const profileOf = (mounts: readonly Mount[], more: Partial<SandboxPolicy> = {}): string =>
  sandboxProfile({ policy: policyOf(mounts, more), own: ["/private/var/folders/x/portolan-home-1"] });

/** The verdict of the last rule with this action for the path. */
function verdict(profile: string, action: string, path: string): string {
  let last = "deny";
  for (const line of profile.split("\n")) {
    const [, decision = "", actions = ""] = /^\((allow|deny) ([^(]*)/.exec(line) ?? [];
    const names = actions.trim().split(" ");
    if (
      !names.some((name) => name === action || (name.endsWith("*") && action.startsWith(name.slice(0, -1))))
    )
      continue;
    const filters = [...line.matchAll(/\((literal|subpath) "((?:[^"\\]|\\.)*)"\)/g)];
    const fits = filters.some(([, kind, where = ""]) => {
      const plain = where.replaceAll(/\\(.)/g, "$1");
      return path === plain || (kind === "subpath" && path.startsWith(`${plain}/`));
    });
    if (fits) last = decision;
  }
  return last;
}

test("allows reads and writes of granted paths, and nothing else", () => {
  const profile = profileOf([mount("/Users/me/notes", "write"), mount("/Users/me/data", "read")]);
  const judge = (action: string, path: string): string => verdict(profile, action, path);
  expect(judge("file-read-data", "/Users/me/notes/a")).toBe("allow");
  expect(judge("file-write-create", "/Users/me/notes/a")).toBe("allow");
  expect(judge("file-read-data", "/Users/me/data/a")).toBe("allow");
  expect(judge("file-write-create", "/Users/me/data/a")).toBe("deny");
  expect(judge("file-read-data", "/Users/me/.ssh/id")).toBe("deny");
  expect(judge("file-write-create", "/Users/me/new")).toBe("deny");
  // The name of a parent folder of a granted path is visible; its content is not.
  expect(judge("file-read-metadata", "/Users/me")).toBe("allow");
  expect(judge("file-read-data", "/Users/me")).toBe("deny");
  expect(judge("file-write-create", "/private/var/folders/x/portolan-home-1/x")).toBe("allow");
});

test("a denial inside of a grant wins, and the folders above it cannot be renamed", () => {
  const mounts = [mount("/w", "write"), mount("/w/a/b/config", "read"), mount("/w/a/secret", "hidden")];
  const profile = profileOf(mounts);
  expect(verdict(profile, "file-read-data", "/w/a/secret/key")).toBe("deny");
  expect(verdict(profile, "file-write-create", "/w/a/b/config")).toBe("deny");
  expect(verdict(profile, "file-read-data", "/w/a/b/config")).toBe("allow");
  for (const folder of ["/w/a", "/w/a/b"]) expect(verdict(profile, "file-write-unlink", folder)).toBe("deny");
  expect(verdict(profile, "file-write-unlink", "/w/other")).toBe("allow");
});

test("writes paths as the kernel compares them", () => {
  expect(["/tmp/x", "/var/y", "/etc", "/tmpfile", "/Users/tmp"].map(real)).toEqual([
    ...["/private/tmp/x", "/private/var/y", "/private/etc", "/tmpfile", "/Users/tmp"],
  ]);
  expect(verdict(profileOf([mount("/tmp/x", "write")]), "file-write-data", "/private/tmp/x/a")).toBe("allow");
});

test("allows no network, and no processes if the policy denies them", () => {
  const profile = profileOf([], { exec: { allow: undefined, spawn: false } });
  expect(profile).not.toMatch(/allow network|allow process-fork/);
  expect(profile).toContain("(deny default)");
  expect(profile).toContain("(deny process-fork)");
});

test("no path can end a string or add a rule", () => {
  expect(text('a"b\\c')).toBe('"a\\"b\\\\c"');
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (name) => {
      const profile = profileOf([mount(`/g/${name}`, "read")]);
      let [depth, isText, rules, least] = [0, false, 0, 0];
      for (let at = 0; at < profile.length; at += 1) {
        const character = profile[at];
        if (isText && character === "\\") at += 1;
        else if (character === '"') isText = !isText;
        else if (!isText && character === "(") rules += depth++ === 0 ? 1 : 0;
        else if (!isText && character === ")") depth -= 1;
        least = Math.min(least, depth);
      }
      expect([depth, isText, least]).toEqual([0, false, 0]);
      expect(rules).toBe([...profileOf([mount("/g/x", "read")]).matchAll(/^\(/gm)].length);
    }),
  );
});

test("sets the limits that macOS supports before the program starts", () => {
  expect(shellScript({ openFiles: 64, fileBytes: 1024, niceness: 5 }, [["DYLD_X", "it's"]])).toBe(
    `ulimit -c 0 && ulimit -n 64 && ulimit -f 2 && export DYLD_X='it'\\''s' && exec /usr/bin/nice -n 5 "$@"`,
  );
});

test("reports rules that it cannot enforce, and is not available on other systems", async () => {
  const backend = createSandboxExec({ platform: "linux" });
  expect(await backend.missing(policyOf([]))).toMatchObject([
    { rule: "sandbox", problem: "sandbox-exec runs on macOS only" },
  ]);
  const enforced = await backend.enforced?.(policyOf([], { limits: { memoryBytes: 1024, openFiles: 8 } }));
  expect(enforced?.policy.limits).toEqual({ openFiles: 8 });
  expect(enforced?.unenforcedDefaults.map(({ rule }) => rule)).toEqual([
    ...["limits.memory: 1KiB", "process isolation", "system call filter"],
  ]);
});

test("the command line contains the profile, then a shell, then the program", async () => {
  const backend = createSandboxExec({ platform: "linux" });
  const program = { file: "/usr/bin/env", args: ["-x", "a b"], cwd: undefined, env: { DYLD_Y: "1", A: "2" } };
  const context = { server: "s", report: () => {}, onDenied: () => {}, warnedImages: new Set<string>() };
  const made = await backend.wrap(program, policyOf([]), context);
  expect(made.file).toBe("/usr/bin/sandbox-exec");
  expect(made.args[0]).toBe("-p");
  expect(made.args.slice(2)).toEqual([
    ...["/bin/sh", "-c", `ulimit -c 0 && export DYLD_Y='1' && exec "$@"`, "sh", "/usr/bin/env", "-x", "a b"],
  ]);
  expect(Object.keys(made.env).sort()).toEqual(["A", "HOME", "TMPDIR"]);
  made.ended();
});
