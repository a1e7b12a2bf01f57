// The shell script that creates a sandbox: no content of a path or a value is executed as a part of it.

import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Step } from "../linux/layout.ts";
import { environmentScript } from "./environment.ts";
import { fileSystemScript } from "./file-system.ts";
import { filterWords } from "./filter-loader.ts";
import { parseMountInfo, tableLine } from "./mount-table.ts";
import { command, quote, writeText } from "./shell-words.ts";

const TOOLS = { mount: "/bin/mount", mkdir: "/bin/mkdir", ln: "/bin/ln" };
const MACHINE = parseMountInfo(
  [
    "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda rw",
    "21 20 0:5 / /data rw,nosuid,noexec,relatime shared:2 - ext4 /dev/sdb rw",
    String.raw`22 21 0:6 / /data/a\040b ro,nodev,relatime - tmpfs tmpfs rw`,
    "23 20 0:7 / /old/inner rw - tmpfs tmpfs rw",
    "24 20 0:8 / /old rw,noatime - tmpfs tmpfs rw",
  ].join("\n"),
);

function scriptOf(steps: readonly Step[]): readonly string[] {
  const request = { steps, machine: MACHINE, stage: "/mnt", second: "/media", tools: TOOLS };
  return fileSystemScript({ ...request, kindOf: (path) => (path.endsWith(".txt") ? "file" : "folder") })
    .lines;
}

/** The words of a line, as the shell of this machine reads them. */
function wordsOf(line: string): string[] {
  const out = execFileSync("/bin/sh", ["-c", `set -- ${line}\nprintf '%s\\0' "$@"`], { env: {} });
  return out.toString().split("\0").slice(0, -1);
}

/** Text without the one character that neither a path nor a variable can contain. */
const anyText = fc.string({ unit: "grapheme" }).map((value) => value.replaceAll("\0", ""));
const nasty = ["a b", "'", "$(touch x)", "`x`", "a\nb", "-rf", "\\", "#", "*", "~", "", "a=b;c", "\t", '"'];

describe("text in the shell script", () => {
  test("is one word for any text", () => {
    expect(wordsOf(command(...nasty))).toEqual(nasty);
    fc.assert(
      fc.property(anyText, (word) => {
        expect(wordsOf(quote(word))).toEqual([word]);
      }),
      { numRuns: 30, examples: nasty.map((word) => [word]) },
    );
  });

  test("is written unchanged", () => {
    for (const text of [...nasty, "%s%d\\n"]) {
      const out = execFileSync("/bin/sh", ["-c", writeText(text, "/proc/self/fd/1").replace(/ > .*$/, "")]);
      expect(out.toString()).toBe(text);
    }
  });
});

describe("the table of mounts", () => {
  test("has one line of six fields for any path", () => {
    fc.assert(
      fc.property(anyText, (name) => {
        const line = tableLine(`/s/${name}`, `/t/${name}`, "none", ["rbind"]);
        expect(line.split(/\s/)).toHaveLength(6);
        const mounts = parseMountInfo(`1 1 0:1 / ${line.split(" ")[1] ?? ""} rw,noexec - x x rw`);
        if (/^[ -~\t\n]*$/.test(name)) expect(mounts.optionsOf(`/t/${name}`)).toEqual(["noexec"]);
      }),
      { examples: nasty.map((name) => [name]) },
    );
  });

  test("knows the options of the mount that contains a path, and the mounts below it", () => {
    expect(MACHINE.optionsOf("/usr")).toEqual(["relatime"]);
    expect(MACHINE.optionsOf("/data/x")).toEqual(["nosuid", "noexec", "relatime"]);
    expect(MACHINE.optionsOf("/database")).toEqual(["relatime"]);
    expect(MACHINE.below("/data")).toEqual([["/data/a b", ["ro", "nodev", "relatime"]]]);
    // A mount that a later one covers cannot be reached.
    expect(MACHINE.below("/").map(([path]) => path)).toEqual(["/data", "/data/a b", "/old"]);
  });
});

describe("the file system in the sandbox", () => {
  const bind = (path: string, access: "read" | "write"): Step => ({
    kind: "bind",
    source: path,
    path,
    access,
  });
  const tableOf = (lines: readonly string[]): string =>
    lines.filter((line) => line.includes("table-")).join("\n");

  test("is read-only unless it is granted for writing, also in the mounts below", () => {
    const table = tableOf(scriptOf([bind("/data", "read"), bind("/usr/x", "write")]));
    expect(table).toContain("none /mnt/root/data none remount,bind,ro,nosuid,nodev,noexec,relatime 0 0");
    expect(table).toContain(
      String.raw`none /mnt/root/data/a\040b none remount,bind,ro,nosuid,nodev,relatime 0 0`,
    );
    expect(table).toContain("none /mnt/root/usr/x none remount,bind,nosuid,nodev,relatime 0 0");
  });

  test("is mounted by one command, and by another one only for files on new mounts", () => {
    const tmpfs: Step = { kind: "tmpfs", path: "/tmp", bytes: 1024, mode: "0111" };
    const once = scriptOf([
      bind("/usr", "read"),
      tmpfs,
      bind("/tmp/a", "read"),
      { kind: "read-only", path: "/tmp" },
    ]);
    expect(once.filter((line) => line.includes(" -a -T "))).toHaveLength(1);
    expect(tableOf(once)).toContain("X-mount.mkdir=0755");
    expect(tableOf(once)).toContain("tmpfs /mnt/root/tmp tmpfs nosuid,nodev,mode=0111,size=1024 0 0");
    expect(tableOf(once)).toContain("none /mnt/root/tmp none remount,bind,ro,nosuid,nodev 0 0");
    const twice = scriptOf([tmpfs, bind("/tmp/a.txt", "read")]);
    expect(twice.filter((line) => line.includes(" -a -T "))).toHaveLength(2);
    expect(twice).toContain(": > /mnt/root/tmp/a.txt");
  });

  test("of the whole machine is bound before other mounts cover parts of it", () => {
    const lines = scriptOf([bind("/", "read"), { kind: "tmpfs", path: "/old" }]);
    expect(lines[0]).toBe("/bin/mount -n --rbind / /media");
    expect(tableOf(lines)).toContain("none /media/data none remount,bind,ro");
    // The tmpfs covers this mount completely.
    expect(tableOf(lines)).not.toContain("none /media/old none remount");
  });

  test("has all links whose names equal those of their targets from one command", () => {
    const link = (path: string, target: string): Step => ({ kind: "link", path, target });
    const lines = scriptOf([link("/bin", "usr/bin"), link("/lib", "usr/lib"), link("/a", "-b c")]);
    expect(lines).toContain("/bin/ln -s -- usr/bin usr/lib /mnt/root");
    expect(lines).toContain("/bin/ln -s -- '-b c' /mnt/root/a");
  });
});

describe("the environment", () => {
  test("is passed to the server unchanged, for any names and values", () => {
    const env = {
      A: "it's",
      B: "$(id)\n`x`",
      "odd-name": "o d",
      LANG: "xx_XX",
      BASH_ENV: "/x",
      PATH: "/p",
      OPTIND: "7",
    };
    const script = environmentScript(env, "/usr/bin/env", 3);
    const out = execFileSync("/bin/sh", ["-c", script, "sh", "/usr/bin/env", "-0"], {
      env: { PATH: "/usr/bin" },
    });
    const entries = out
      .toString()
      .split("\0")
      .filter((line) => line !== "" && !/^(?:_|SHLVL|PWD)=/.test(line));
    expect(Object.fromEntries(entries.map((line) => line.split(/=(.*)/s).slice(0, 2)))).toEqual(env);
  });
});

test("filterWords has a system call filter for supported processors only", () => {
  const words = filterWords("/usr/bin/perl", { spawn: true, arch: "x64" });
  expect(words?.[0]).toBe("/usr/bin/perl");
  expect(words?.at(-2)).toBe("317");
  expect(words?.at(-1)).toMatch(/^(?:[0-9a-f]{16})+$/);
  expect(filterWords("/usr/bin/perl", { spawn: true, arch: "mips" })).toBeUndefined();
});
