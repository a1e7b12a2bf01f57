// The end of a server that ignores the end of its stdin: it gets one SIGTERM and may save its work. In every kind
// of sandbox, as root and as an ordinary user.

import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { needs } from "../helpers/needs.ts";
import { BACKENDS } from "../helpers/sandbox.ts";

const ENTRY = fileURLToPath(new URL("../../dist/index.js", import.meta.url));
const HARNESS = fileURLToPath(new URL("../fixtures/ending-harness.mjs", import.meta.url));
const isRoot = process.getuid?.() === 0;
const DROP = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];

function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-ending-")));
  chmodSync(folder, 0o777);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

describe.each(BACKENDS)("with %s, a server that is closed", (backend) => {
  it.each(isRoot ? ["root", "an ordinary user"] : ["an ordinary user"])(
    "gets one SIGTERM, as do its helper processes, and saves its work, as %s",
    { timeout: 60_000, ...needs(backend, "an ordinary user") },
    async (user) => {
      const home = scratch();
      const { PATH, LANG } = process.env;
      const drop = isRoot && user !== "root" ? DROP : [];
      const [file, ...args] = [...drop, process.execPath, HARNESS, ENTRY, join(home, "work")];
      const { stdout } = await promisify(execFile)(file, args, {
        env: {
          PATH,
          LANG,
          HOME: home,
          TEST_BACKEND: backend,
          XDG_CACHE_HOME: join(home, "cache"),
          XDG_DATA_HOME: join(home, "data"),
        },
        cwd: home,
      });
      const { uid, saved } = JSON.parse(stdout) as { uid: number; saved: unknown };
      expect(uid === 0).toBe(user === "root");
      const [together, alone] = [
        { server: "asked: 1", helper: "saved" },
        { server: "asked: 1", helper: null },
      ];
      expect(saved).toEqual({
        ...{ off: together, plain: together, relayed: together },
        threads: alone,
        ...(backend === "bubblewrap" ? { nested: alone } : {}),
      });
    },
  );
});
