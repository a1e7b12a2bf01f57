// A server with a list of allowed hosts: every kind of program reaches these hosts, and no others.

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { needs } from "../helpers/needs.ts";
import { BACKENDS } from "../helpers/sandbox.ts";

const ENTRY = fileURLToPath(new URL("../../dist/index.js", import.meta.url));
const HARNESS = fileURLToPath(new URL("../fixtures/network-harness.mjs", import.meta.url));

interface Attempt {
  readonly alias: string;
  readonly way: string;
  readonly url: string;
  readonly text: string;
  readonly refused: readonly string[];
}

const SETUP = `set -e
mount --bind "$1" /etc/hosts
ip link set lo up
for address in 8.8.8.12 10.9.8.7 169.254.169.254; do ip addr add $address/32 dev lo; done
# No interface has these: they pass for other machines.
for address in 8.8.8.10 8.8.8.11 8.8.4.10; do ip route add local $address/32 dev lo; done
shift
exec "$@"`;

// Hosts with their own names and addresses need a separate network, which only root can create without more tools.
describe.each(BACKENDS)("with %s, a server with a list of allowed hosts", (backend) => {
  const options = { timeout: 90_000, ...needs(backend, "a network of its own") };

  it("reaches the hosts in the list, and no others", options, async () => {
    const folder = mkdtempSync(join(tmpdir(), "portolan-network-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const hosts = join(folder, "hosts");
    writeFileSync(
      hosts,
      [
        "127.0.0.1 localhost",
        "8.8.8.10 allowed.example",
        "8.8.8.11 sub.wild.example wild.example",
        "8.8.4.10 denied.example",
        "10.9.8.7 private.example",
      ].join("\n"),
    );
    const command = [process.execPath, HARNESS, ENTRY, folder];
    const { PATH, LANG } = process.env;
    const { stdout } = await promisify(execFile)(
      "unshare",
      ["-n", "-m", "sh", "-c", SETUP, "sh", hosts, ...command],
      {
        env: {
          PATH,
          LANG,
          TEST_BACKEND: backend,
          HOME: folder,
          XDG_CACHE_HOME: folder,
          XDG_DATA_HOME: folder,
        },
        cwd: folder,
      },
    );
    const attempts = JSON.parse(stdout) as Attempt[];
    const shown = attempts.map(({ alias, way, url, text, refused }) => [
      `${alias} ${way} ${url}`,
      text.startsWith("failed") || text.includes("refused") ? "no" : text,
      // On a busy machine, a program repeats a look-up that gets no answer in time.
      [...new Set(refused)],
    ]);
    const reached = (who: string): unknown[] => [`I am ${who}`, []];
    const denied = (...refused: string[]): unknown[] => ["no", refused];
    expect(shown).toEqual([
      ["one fetch http://allowed.example/", ...reached("allowed")],
      ["one http http://allowed.example/", ...reached("allowed")],
      ["one curl http://allowed.example/", ...reached("allowed")],
      ["one python http://allowed.example/", ...reached("allowed")],
      ["one guarded http://allowed.example/", ...reached("allowed")],
      ["few guarded http://allowed.example/", ...reached("allowed")],
      ["three guarded http://private.example/", ...denied()],
      ["one fetch http://sub.wild.example/", ...reached("sub.wild")],
      ["one fetch http://denied.example/", ...denied("one denied.example")],
      ["one curl http://denied.example/", ...denied("one denied.example")],
      ["one fetch http://wild.example/", ...denied("one wild.example")],
      ["one fetch http://private.example/", ...denied("one private.example:80")],
      ["one fetch http://8.8.4.10/", ...denied("one 8.8.4.10:80")],
      ["one fetch http://169.254.169.254/", ...denied("one 169.254.169.254:80")],
      ["one fetch http://127.0.0.1/", ...denied("one 127.0.0.1:80")],
      ["two fetch http://denied.example/", ...reached("denied")],
      ["two fetch http://allowed.example/", ...denied("two allowed.example")],
      ["three fetch http://private.example/", ...reached("private")],
      ["all fetch http://8.8.8.10/", ...reached("allowed")],
      ["all fetch http://8.8.8.12/", ...denied("all 8.8.8.12:80")],
      ["own fetch http://8.8.8.12/", ...reached("this machine")],
    ]);
  });
});
