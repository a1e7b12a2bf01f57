// `portolan service install` with a systemctl that records its commands and can fail.

import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { serviceName } from "../../src/cli/service/definition.ts";
import { MAIN, portolan, temporaryFolder } from "../helpers/cli.ts";

const run = promisify(execFile);

function setUp() {
  const top = temporaryFolder();
  for (const name of ["project", "bin", "_npx"]) mkdirSync(join(top, name));
  writeFileSync(
    join(top, "project", "portolan.yaml"),
    JSON.stringify({ servers: { a: { command: "node" } } }),
  );
  const calls = join(top, "calls");
  const failing = join(top, "failing");
  const script = `#!/bin/sh\necho "$@" >> ${calls}\ncase "$*" in *enable*) if [ -s ${failing} ]; then tail -n +2 ${failing} > ${failing}.rest; mv ${failing}.rest ${failing}; exit 1; fi;; esac\n`;
  writeFileSync(join(top, "bin", "systemctl"), script);
  chmodSync(join(top, "bin", "systemctl"), 0o755);
  const units = join(top, "config", "systemd", "user");
  return {
    top,
    calls: () => (existsSync(calls) ? readFileSync(calls, "utf8").trim().split("\n") : []),
    /** Sets how many of the next starts fail. */
    fail: (times: number) => writeFileSync(failing, "x\n".repeat(times)),
    units,
    run: (words: string[], main = MAIN) =>
      run(process.execPath, ["--no-warnings", main, "service", "install", ...words], {
        cwd: join(top, "project"),
        env: {
          ...{ HOME: top, PATH: `${join(top, "bin")}:${process.env["PATH"]}`, XDG_RUNTIME_DIR: top },
          ...{ XDG_CONFIG_HOME: join(top, "config"), XDG_DATA_HOME: join(top, "data") },
          ...{ XDG_STATE_HOME: join(top, "state"), XDG_CACHE_HOME: join(top, "cache") },
        },
      }).then(
        ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
        (error: { code: number; stdout: string; stderr: string }) => error,
      ),
  };
}

describe.runIf(process.platform === "linux")("service install", () => {
  it("starts the earlier definition again when a new one cannot be started", async () => {
    const place = setUp();
    mkdirSync(place.units, { recursive: true });
    const { stdout } = await place.run(["--print"]);
    const name = serviceName(realpathSync(join(place.top, "project")));
    const file = join(place.units, `${name}.service`);
    writeFileSync(file, stdout);
    place.fail(1);
    const { code, stderr } = await place.run(["--port", "7999"]);
    expect(code).not.toBe(0);
    // The folder of the log is there before a service manager opens it.
    expect(existsSync(join(place.top, "state", "portolan"))).toBe(true);
    expect(stderr).toContain("The service runs again with its earlier definition.");
    expect(readFileSync(file, "utf8")).toBe(stdout);
    expect(place.calls().at(-1)).toContain(`enable --now ${name}`);
    place.fail(2);
    expect((await place.run(["--port", "7999"])).stderr).toContain("The service is stopped");
    expect(readdirSync(place.units)).toEqual([`${name}.service`]);
  });

  it("starts a copy in the cache of npx with npx, and does not store flags of node", async () => {
    const place = setUp();
    expect((await place.run(["--print"])).stdout).not.toContain("--no-warnings");
    const copy = join(place.top, "_npx", "portolan.js");
    symlinkSync(MAIN, copy);
    const { stdout } = await place.run(["--print"], copy);
    expect(stdout).toMatch(/^ExecStart="\/usr\/bin\/env" "npx" "-y" "portolan@[\w.-]+" "serve"/m);
    expect(stdout).not.toContain("_npx");
  });
});

it("service prints the definition; without a service manager, a failed start leaves nothing behind", async () => {
  const top = temporaryFolder();
  const cwd = join(top, "project");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "portolan.yaml"), JSON.stringify({ servers: { a: { command: "node" } } }));
  const folders = Object.fromEntries(
    ["CACHE", "CONFIG", "DATA", "STATE"].map((name) => [`XDG_${name}_HOME`, join(top, name.toLowerCase())]),
  );
  const env = { HOME: top, XDG_RUNTIME_DIR: top, ...folders };
  const print = await portolan(["service", "install", "--print"], { cwd, env });
  expect(print).toMatchObject({ code: 0, err: "" });
  expect(print.out).toMatch(process.platform === "darwin" ? /<plist/ : /^ExecStart=.*"serve" .*$/m);
  // No service manager is found on this PATH.
  const failed = await portolan(["service", "install"], { cwd, env: { ...env, PATH: top } });
  expect(failed.code).toBe(3);
  const folder = join(top, "config", "systemd", "user");
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([]);
  const status = await portolan(["service", "status"], { cwd, env });
  expect(JSON.parse(status.out)).toMatchObject({ installed: false });
  expect((await portolan(["service", "uninstall"], { cwd, env })).code).toBe(0);
});
