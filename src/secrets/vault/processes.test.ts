// Several real processes that write a vault at once, and some that are killed while they write.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildModule } from "../../../test/helpers/build-module.ts";
import { Secret } from "../secret.ts";
import { createVault, type Vault } from "./vault.ts";

let folder: string;
let vaultModule: string;
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-processes-"));
  vaultModule = await buildModule(new URL("vault.ts", import.meta.url), join(folder, "built"));
  await writeFile(join(folder, "passphrase"), "open sesame", { mode: 0o600 });
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs `body` with `vault` (of `file`), `secret(value)` and `options` to change before `vault` is first used. */
async function start(file: string, body: string): Promise<ChildProcess> {
  count += 1;
  const script = join(folder, "built", `script-${count}.mjs`);
  await writeFile(
    script,
    `import { createVault } from ${JSON.stringify(vaultModule)};
     const secret = (value) => ({ reveal: () => value });
     const env = { PORTOLAN_VAULT_PASSPHRASE_FILE: ${JSON.stringify(join(folder, "passphrase"))} };
     const open = (more) => createVault({ file: ${JSON.stringify(file)}, env, report() {}, cost: { N: 2, r: 8, p: 1 }, ...more });
     ${body}`,
  );
  return spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
}

const openHere = (file: string): Vault =>
  createVault({
    file,
    env: { PORTOLAN_VAULT_PASSPHRASE_FILE: join(folder, "passphrase") },
    report: () => {},
    cost: { N: 2, r: 8, p: 1 },
  });

test("processes that write the same vault at once lose nothing", async () => {
  const file = join(folder, "shared", "secrets.vault");
  const children = await Promise.all(
    ["A", "B", "C"].map((name) =>
      start(
        file,
        `const vault = open(); for (let i = 0; i < 15; i += 1) await vault.set("${name}" + i, secret("value"));`,
      ),
    ),
  );
  const codes = await Promise.all(children.map(async (child) => (await once(child, "exit"))[0] as number));
  expect(codes).toEqual([0, 0, 0]);
  expect(await openHere(file).list()).toHaveLength(45);
  expect(await readdir(join(folder, "shared"))).toEqual(["secrets.vault", "secrets.vault.names"]);
});

test("a process that is killed before the rename leaves the old vault, and its lock is taken over", async () => {
  const file = join(folder, "killed", "secrets.vault");
  await openHere(file).set("OLD", new Secret("value"));
  const before = await readFile(file);
  const child = await start(
    file,
    `await open({ write: { beforeRename: async () => { process.kill(process.pid, "SIGKILL"); await new Promise(() => {}); } } })
       .set("NEW", secret("value"));`,
  );
  const [, signal] = (await once(child, "exit")) as [number | null, string | null];
  expect(signal).toBe("SIGKILL");
  expect(await readFile(file)).toEqual(before);
  expect((await readdir(join(folder, "killed"))).length).toBe(4);

  const vault = openHere(file);
  const started = performance.now();
  await vault.set("LATER", new Secret("value"));
  expect(performance.now() - started).toBeLessThan(15_000);
  expect(await vault.list()).toEqual(["LATER", "OLD"]);
  expect(await readdir(join(folder, "killed"))).toEqual(["secrets.vault", "secrets.vault.names"]);
});

test("processes that are killed at any moment leave the old or the new content, never a mix", async () => {
  const file = join(folder, "random", "secrets.vault");
  await openHere(file).set("N", new Secret("0"));
  for (let round = 0; round < 12; round += 1) {
    const child = await start(
      file,
      `const vault = open(); console.log("go"); for (let i = 1; ; i += 1) await vault.set("N", secret(String(i).repeat(2000)));`,
    );
    const ended = once(child, "exit");
    await once(child.stdout as NonNullable<typeof child.stdout>, "data");
    await new Promise((resolve) => setTimeout(resolve, round * 7));
    child.kill("SIGKILL");
    await ended;
    const vault = openHere(file);
    expect((await vault.get("N"))?.reveal()).toMatch(/^0$|^(\d+?)\1{1999}$/);
    await vault.set("N", new Secret("0"));
    expect(await readdir(join(folder, "random"))).toContain("secrets.vault");
  }
  expect(await openHere(file).list()).toEqual(["N"]);
});

test("a process that waits for a lock gets it when the owner of the lock is killed", async () => {
  const file = join(folder, "waiting", "secrets.vault");
  await openHere(file).set("A", new Secret("value"));
  const holder = await start(
    file,
    `await open({ write: { beforeRename: async () => { console.log("held"); await new Promise((resolve) => setTimeout(resolve, 60_000)); } } })
       .set("HELD", secret("value"));`,
  );
  const ended = once(holder, "exit");
  await once(holder.stdout as NonNullable<typeof holder.stdout>, "data");
  const short = createVault({
    file,
    env: { PORTOLAN_VAULT_PASSPHRASE_FILE: join(folder, "passphrase") },
    report: () => {},
    lockWaitMs: 100,
  });
  await expect(short.set("B", new Secret("value"))).rejects.toMatchObject({
    code: "SECRET_STORE_FAILED",
    message: expect.stringContaining(`process ${holder.pid} holds the lock`) as string,
  });
  const waiting = openHere(file).set("C", new Secret("value"));
  holder.kill("SIGKILL");
  await ended;
  await waiting;
  expect(await openHere(file).list()).toEqual(["A", "C"]);
});
