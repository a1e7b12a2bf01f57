// Commands of the user beside a gateway whose server may write the workspace: the gateway applies their changes, and no change of
// the server.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { needs } from "../helpers/needs.ts";
import { type Place, setUp, yaml } from "../helpers/running-gateway.ts";

const SERVER = fileURLToPath(new URL("../fixtures/shell-server.mjs", import.meta.url));
const IGNORED = "Portolan ignores this change, because the server evil can write to the file";

const shell = (...write: string[]): object => ({
  command: process.execPath,
  args: [SERVER],
  sandbox: { mode: "enforce", fs: { write } },
});

interface Served {
  readonly place: Place;
  readonly own: string;
  /** Lets a server run a script in the folder of the workspace, from its sandbox. */
  readonly runIn: (server: string, script: string) => Promise<string>;
}

async function serve(servers: object): Promise<Served> {
  const place = setUp(yaml({ ...servers }));
  mkdirSync(join(place.cwd, "data"));
  Object.assign(place.env, { PORTOLAN_SANDBOX: "enforce" });
  await place.serve("--no-auth");
  const runIn = async (server: string, script: string): Promise<string> => {
    const { out, err } = await place.run(
      "call",
      `${server}.run`,
      `script=cd ${place.cwd}; ${script}`,
      "--text",
    );
    return `${out}${err}`;
  };
  return { place, own: join(place.cwd, "portolan.yaml"), runIn };
}

describe("with a server that may write the workspace", needs("bubblewrap"), () => {
  it("revoke, grant, add and remove take effect at once", { timeout: 120_000 }, async () => {
    const { place, runIn } = await serve({ evil: shell("."), other: shell("./data") });
    expect(await runIn("evil", "echo 1 > a.txt && cat a.txt")).toContain("1");
    expect(await place.run("grant", "other", "--write", ".")).toMatchObject({ code: 0 });
    expect(await runIn("other", "echo 2 > b.txt && cat b.txt")).toContain("2");
    const revoked = await place.run("revoke", "evil", "--write", ".", "--text");
    expect(revoked).toMatchObject({
      code: 0,
      out: expect.stringContaining("has applied the change") as string,
    });
    expect(await runIn("evil", "echo 3 > c.txt")).toMatch(/Read-only|denied|No such/);
    const added = await place.run("add", "more", "--text", "--", process.execPath, SERVER);
    expect(added).toMatchObject({ code: 0, out: expect.stringContaining("more ready") as string });
    expect(await place.run("remove", "other")).toMatchObject({ code: 0 });
    const { servers } = await place.json<{ servers: { alias: string }[] }>("status");
    expect(servers.map(({ alias }) => alias)).toEqual(["evil", "more"]);
    expect(await place.json("reload")).toMatchObject({ problems: [] });
  });

  it("a change that the server may have made is ignored, and every command says so", async () => {
    const { place, own, runIn } = await serve({ evil: shell("."), other: shell("./data") });
    // An editor that replaces the file removes the read-only mount from the sandbox.
    const free = yaml({ evil: shell("."), free: { command: "sh", sandbox: "off" } });
    writeFileSync(join(place.cwd, "saved"), yaml({ evil: shell(".") }));
    renameSync(join(place.cwd, "saved"), own);
    await runIn("evil", `echo '${free}' > portolan.yaml`);
    expect(readFileSync(own, "utf8")).toContain("free");
    const reloaded = await place.run("reload", "--text");
    expect(reloaded.code).toBe(2);
    expect(reloaded.out).toContain(`${own}: the file was changed or replaced. ${IGNORED}`);
    expect(reloaded.out).toContain("Read the file first");
    const status = await place.run("status", "--text");
    expect(status).toMatchObject({ code: 2, out: expect.stringContaining("Portolan ignores this change") });
    expect((await place.run("events")).out).toContain(`${own}: the file was changed or replaced. ${IGNORED}`);
    const called = await place.run("call", "free.run", "script=true", "--text");
    expect(called.code).toBe(2);
    expect(called.err).toContain("does not serve free");
    expect(called.err).toContain("FILE_UNTRUSTED");

    // A command that keeps the server's change in the file does not make it trusted.
    const granted = await place.run("grant", "evil", "--net", "example.com", "--text");
    expect(granted.code).toBe(2);
    expect(granted.err).toContain(IGNORED);
    expect(readFileSync(own, "utf8")).toContain("free");
    const { servers } = await place.json<{ servers: { alias: string }[] }>("status");
    expect(servers.map(({ alias }) => alias)).toEqual(["evil", "other"]);
  });
});
