// Hints about servers that fail because of their sandbox: list, restart, status and why use the same words.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../helpers/needs.ts";
import { envelope } from "../helpers/cli.ts";
import { setUp, yaml } from "../helpers/running-gateway.ts";

interface Health {
  readonly servers: readonly { readonly error?: { readonly hint: string } }[];
}

function strict(servers: Record<string, object>) {
  const place = setUp(yaml(servers));
  Object.assign(place.env, { PORTOLAN_SANDBOX: "" });
  return place;
}

describe("a server that its sandbox keeps from starting", () => {
  it("whose Python module is installed for the user", needs("bubblewrap", "python3"), async () => {
    const { top, cwd, run, json, serve } = strict({ idx: { command: "python3", args: ["idx.py"] } });
    writeFileSync(join(cwd, "idx.py"), "import hidden_module\n");
    const site = join(top, ".local/lib/python3.11/site-packages");
    mkdirSync(site, { recursive: true });
    writeFileSync(join(site, "hidden_module.py"), "");
    const gateway = await serve();
    const file = join(cwd, "portolan.yaml");
    const hint = `The module hidden_module is installed in ${site}, which the sandbox of the server hides. Grant it with: portolan grant idx -w ${file} --read ${site}`;
    const { servers } = await json<Health>("status");
    expect(servers[0]?.error?.hint).toBe(hint);
    const why = await json<{ advice: string[] }>("why", "idx");
    expect(why.advice[0]).toBe(hint);
    expect((await run("restart", "idx", "--text")).out).toContain(hint);
    gateway.child.kill("SIGTERM");
    await gateway.done;
  });

  it("for an unknown reason", needs("bubblewrap"), async () => {
    const { run, json, serve } = strict({
      idx: { command: process.execPath, args: ["-e", "console.error('no good'); process.exit(3)"] },
    });
    const start = (end: string): string =>
      `The server runs in a sandbox. To test whether the sandbox is the reason, start the server without it: portolan list idx --sandbox idx=off${end}`;
    expect(envelope(await run("list", "idx")).hint).toContain(start(""));
    const gateway = await serve();
    const { servers } = await json<Health>("status");
    const { hint = "" } = servers[0]?.error ?? {};
    expect(hint).toContain(start(" -w "));
    const why = await json<{ advice: string[] }>("why", "idx");
    expect(why.advice[0]).toBe(hint);
    expect((await run("restart", "idx", "--text")).out).toContain(hint);
    // The command of the hint also works beside the gateway, and starts the server without a sandbox.
    const without = envelope(await run("list", "idx", "--sandbox", "idx=off"));
    expect(without.hint).toBe(
      "To see why the server fails, start its command alone in a terminal, and read what it prints.",
    );
    gateway.child.kill("SIGTERM");
    await gateway.done;
  });
});
