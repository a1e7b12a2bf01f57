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
    // The probe of the protocol era starts the program twice. Its output is in the log once.
    const { out } = await run("logs", "idx");
    const ends = out.match(/exited with code 3/g)?.length ?? 0;
    expect([ends, ends + 1]).toContain(out.match(/no good/g)?.length);
    // The command of the hint also works beside the gateway, and starts the server without a sandbox.
    const without = envelope(await run("list", "idx", "--sandbox", "idx=off"));
    expect(without.hint).toBe(
      "To see why the server fails, start its command alone in a terminal, and read what it prints.",
    );
    gateway.child.kill("SIGTERM");
    await gateway.done;
  });
});

/** A server whose tool writes a file in the home folder. */
const COUNTER = `
const { createInterface } = require("node:readline");
const { writeFileSync } = require("node:fs");
const reply = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const bump = () => {
  try {
    writeFileSync(process.env.HOME + "/data/counter.txt", "1");
    return { content: [{ type: "text", text: "written" }] };
  } catch (error) {
    return { isError: true, content: [{ type: "text", text: String(error) }] };
  }
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (method === "initialize")
    reply({ id, result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "counter", version: "1" } } });
  else if (method === "tools/list") reply({ id, result: { tools: [{ name: "bump", inputSchema: { type: "object" } }] } });
  else if (method === "tools/call") reply({ id, result: bump() });
  else if (id !== undefined) reply({ id, error: { code: -32601, message: "unknown method" } });
});
`;

it(
  "explains a path in the private home of the sandbox, and its grant helps",
  needs("bubblewrap"),
  async () => {
    const { top, cwd, run, serve } = strict({
      counter: { command: process.execPath, args: ["counter.cjs"] },
    });
    writeFileSync(join(cwd, "counter.cjs"), COUNTER);
    const data = join(top, "data");
    mkdirSync(data, { recursive: true });
    const gateway = await serve();
    const failed = await run("call", "counter.bump", "--text");
    expect(failed.out).toContain("/tmp/home/data/counter.txt");
    const fact = `/tmp/home is the private home of the sandbox; the server probably means ${join(data, "counter.txt")}`;
    const grant = `portolan grant counter -w ${join(cwd, "portolan.yaml")} --write ${data}`;
    for (const text of [failed.err, (await run("why", "counter", "--text")).out]) {
      expect(text).toContain(fact);
      expect(text).toContain(grant);
      expect(text).not.toContain("No action needed");
    }
    expect(await run("grant", "counter", "--write", data)).toMatchObject({ code: 0 });
    expect((await run("call", "counter.bump", "--text")).out).toBe("written\n");
    expect((await run("why", "counter", "--text")).out).toContain("No action needed");
    gateway.child.kill("SIGTERM");
    await gateway.done;
  },
);
