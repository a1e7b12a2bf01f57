import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import type { Keyring } from "../sources/keyring.ts";
import type { PassphraseRequest } from "./passphrase.ts";
import { Secret } from "../secret.ts";
import { createVault, type Vault, type VaultOptions } from "./vault.ts";
import { deriveKey, KEY_COST, newParameters, type VaultKey } from "./vault-key.ts";

const CHEAP = { N: 2, r: 8, p: 1 };
let folder: string;
let file: string;
let told: Diagnostic[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-vault-"));
  file = join(folder, "private", "secrets.vault");
  told = [];
});
afterEach(() => rm(folder, { recursive: true }));

function vaultWith(passphrase: string | undefined, more: Partial<VaultOptions> = {}): Vault {
  return createVault({
    file,
    env: {},
    promptPassphrase: async () => passphrase,
    report: (diagnostic) => told.push(diagnostic),
    cost: CHEAP,
    ...more,
  });
}

const failing = (reason: string, message: RegExp): object => ({
  code: "SECRET_STORE_FAILED",
  message: expect.stringMatching(message) as string,
  data: { source: "vault", reason },
});

describe("a secret in the vault", () => {
  test("can be read by another instance, and is not readable in any file", async () => {
    const first = vaultWith("open sesame");
    expect(await first.get("TOKEN")).toBeUndefined();
    expect(await first.check()).toMatchObject({
      ok: true,
      note: expect.stringContaining("does not exist yet") as string,
    });
    await first.set("TOKEN", new Secret("canary-1"));
    await first.set("__proto__", new Secret("canary-2"));
    const second = vaultWith("open sesame");
    expect((await second.get("TOKEN"))?.reveal()).toBe("canary-1");
    expect((await second.get("__proto__"))?.reveal()).toBe("canary-2");
    expect(await second.get("constructor")).toBeUndefined();
    expect(await second.list()).toEqual(["TOKEN", "__proto__"]);
    expect(await second.check()).toEqual({ ok: true, note: `2 secrets in ${file}` });
    expect(await second.remove("TOKEN")).toBe(true);
    expect(await second.remove("TOKEN")).toBe(false);
    expect(await first.list()).toEqual(["__proto__"]);
    const bytes = (await readFile(file)).toString("latin1");
    expect(bytes).not.toMatch(/canary|TOKEN|sesame/);
    expect(bytes.split("\n")[0]).toContain('"kdf":"scrypt","N":2,"r":8,"p":1');
    expect(await readdir(join(folder, "private"))).toEqual(["secrets.vault", "secrets.vault.names"]);
    expect(told).toEqual([]);
  });

  test("is in a file that only its owner can read", async () => {
    await vaultWith("p").set("A", new Secret("value"));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "private"))).mode & 0o777).toBe(0o700);
    await chmod(file, 0o640);
    await chmod(join(folder, "private"), 0o770);
    const vault = vaultWith("p");
    await vault.get("A");
    await vault.get("A");
    expect(told.map(({ hint }) => hint)).toEqual([
      expect.stringMatching(/: chmod 600 .*secrets\.vault$/),
      expect.stringMatching(/: chmod 700 .*private$/),
    ]);
    await vault.set("B", new Secret("value"));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test("is encrypted again with every write: same salt, other nonce", async () => {
    const vault = vaultWith("p");
    await vault.set("A", new Secret("value"));
    const one = await readFile(file);
    await vault.set("A", new Secret("value"));
    const two = await readFile(file);
    const header = one.indexOf(10) + 1;
    expect(two.subarray(0, header)).toEqual(one.subarray(0, header));
    expect(two.subarray(header, header + 12)).not.toEqual(one.subarray(header, header + 12));
  });

  test("is written to the target of a symbolic link", async () => {
    await mkdir(join(folder, "private"));
    await vaultWith("p", { file: join(folder, "elsewhere") }).set("A", new Secret("value"));
    await symlink(join(folder, "elsewhere"), file);
    await vaultWith("p").set("B", new Secret("other"));
    expect(await vaultWith("p", { file: join(folder, "elsewhere") }).list()).toEqual(["A", "B"]);
  });

  test("is not lost if many writers work at once", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `N${index + 10}`);
    await Promise.all(names.map((name) => vaultWith("p").set(name, new Secret(`value of ${name}`))));
    expect(await vaultWith("p").list()).toEqual(names);
    expect(await readdir(join(folder, "private"))).toEqual(["secrets.vault", "secrets.vault.names"]);
  });
});

describe("the key", () => {
  test("uses scrypt with N=65536, and is derived once for several requests", async () => {
    expect(KEY_COST).toEqual({ N: 65_536, r: 8, p: 1 });
    const parameters = newParameters(KEY_COST);
    expect(parameters.salt).toHaveLength(16);
    const [one, two] = await Promise.all([
      deriveKey(new Secret("p"), parameters),
      deriveKey(new Secret("p"), parameters),
    ]);
    expect(two).toBe(one);
    expect(one).toHaveLength(32);
    expect(await deriveKey(new Secret("p"), parameters)).toBe(one);
    expect(await deriveKey(new Secret("q"), { ...parameters, ...CHEAP })).not.toEqual(one);
  });
});

describe("the passphrase", () => {
  const write = async (text: string, mode = 0o600): Promise<string> => {
    const path = join(folder, "passphrase");
    await writeFile(path, text, { mode });
    return path;
  };

  test("comes first from PORTOLAN_VAULT_PASSPHRASE_FILE, without the last line break of the file", async () => {
    const path = await write("from file\n");
    const env = { PORTOLAN_VAULT_PASSPHRASE_FILE: path };
    await vaultWith(undefined, { env }).check();
    expect(told).toEqual([]);
    const prompt = vi.fn(async () => "from prompt");
    await vaultWith(undefined, { env, promptPassphrase: prompt }).set("A", new Secret("value"));
    expect(prompt).not.toHaveBeenCalled();
    expect((await vaultWith("from file").get("A"))?.reveal()).toBe("value");
    await chmod(path, 0o644);
    await vaultWith(undefined, { env }).get("A");
    expect(told).toMatchObject([{ severity: "warning", file: path }]);
  });

  test("in a file that others can read gives a warning in check(), also before the vault exists", async () => {
    const path = await write("from file\n");
    await chmod(path, 0o644);
    await vaultWith(undefined, { env: { PORTOLAN_VAULT_PASSPHRASE_FILE: path } }).check();
    expect(told).toMatchObject([{ severity: "warning", file: path }]);
  });

  test.each([
    ["wrong\n", "wrong-passphrase"],
    ["", "no-passphrase"],
  ])("in a file with the content %j is an error, and no person is prompted instead", async (text, reason) => {
    await vaultWith("right").set("A", new Secret("value"));
    const path = await write(text);
    const vault = vaultWith("right", { env: { PORTOLAN_VAULT_PASSPHRASE_FILE: path } });
    await expect(vault.get("A")).rejects.toMatchObject(failing(reason, /passphrase/));
    const none = vaultWith("right", { env: { PORTOLAN_VAULT_PASSPHRASE_FILE: join(folder, "none") } });
    await expect(none.get("A")).rejects.toMatchObject(failing("no-passphrase", /cannot be used/));
  });

  test("cannot be saved if the keyring is off", async () => {
    const vault = vaultWith("right");
    await vault.set("A", new Secret("value"));
    await expect(vault.keepPassphrase()).rejects.toMatchObject({
      message: "The passphrase was not saved, because the keyring is turned off.",
    });
  });

  test("can be changed: every secret stays, the salt is new, and only the new passphrase opens the vault", async () => {
    const choose = async (): Promise<string> => "new";
    const none = vaultWith("old");
    expect(await none.changePassphrase({ choose })).toBe(false);
    await none.set("A", new Secret("one"));
    await none.set("B", new Secret("two"));
    const before = await readFile(file, "latin1");
    const running = vaultWith(undefined, { agent: undefined, promptPassphrase: async () => "old" });
    expect((await running.get("A"))?.reveal()).toBe("one");
    await expect(vaultWith("wrong").changePassphrase({ choose })).rejects.toMatchObject(
      failing("wrong-passphrase", /typed/),
    );
    expect(await readFile(file, "latin1")).toBe(before);

    const opened: VaultKey[] = [];
    const changing = vaultWith(undefined, {
      promptPassphrase: async () => ({
        passphrase: "old",
        opened: async (_vault, key) => void opened.push(key),
      }),
    });
    expect(await changing.changePassphrase({ choose })).toBe(true);
    const salt = (text: string): string | undefined => /"salt":"([^"]+)"/.exec(text)?.[1];
    expect(salt(await readFile(file, "latin1"))).not.toBe(salt(before));
    expect(await vaultWith(undefined).list()).toEqual(["A", "B"]);
    expect((await vaultWith("new").get("B"))?.reveal()).toBe("two");
    await expect(vaultWith("old").get("A")).rejects.toMatchObject(failing("wrong-passphrase", /typed/));
    // A process that opened the vault before gets the new key from the agent. The change passes the key to the agent.
    await expect(running.get("A")).rejects.toMatchObject(failing("wrong-passphrase", /typed/));
    const agent = { get: async () => opened[0]?.key };
    expect((await vaultWith(undefined, { agent }).get("A"))?.reveal()).toBe("one");
  });

  test("can be changed with files; a keyring that has the old passphrase gets the new one", async () => {
    const kept = new Map<string, string>();
    const keyring: Keyring = {
      get: async (_service, account) => kept.get(account),
      set: async (_service, account, value) => void kept.set(account, value),
      remove: async () => false,
      accounts: async () => [],
      check: async () => ({ ok: true, note: "" }),
    };
    await vaultWith("old").set("A", new Secret("value"));
    const next = { file: await write("new\n"), option: "--new" };
    await vaultWith("old", { keyring }).changePassphrase({ choose: async () => "other" });
    expect([...kept.values()]).toEqual([]);
    await vaultWith("other", { keyring }).keepPassphrase();
    await vaultWith(undefined, { keyring }).changePassphrase(next);
    expect([...kept.values()]).toEqual(["new"]);
    const env = { PORTOLAN_VAULT_PASSPHRASE_FILE: next.file };
    await expect(
      vaultWith(undefined, { env }).changePassphrase({ file: join(folder, "none"), option: "--new" }),
    ).rejects.toMatchObject({ hint: expect.stringContaining("Set --new to the path") as string });
    const stuck = { ...keyring, set: () => Promise.reject(new Error("no keyring")) };
    await vaultWith(undefined, { keyring: stuck }).changePassphrase({ choose: async () => "newer" });
    expect(told).toMatchObject([
      { severity: "warning", hint: expect.stringContaining("unlock --keep") as string },
    ]);
    expect((await vaultWith("newer").get("A"))?.reveal()).toBe("value");
  });

  test("comes next from the keyring; if the keyring has an old one, a person is prompted", async () => {
    await vaultWith("right").set("A", new Secret("value"));
    const kept = new Map<string, string>();
    const keyring: Keyring = {
      get: async (service, account) => kept.get(`${service} ${account}`),
      set: async (service, account, value) => void kept.set(`${service} ${account}`, value),
      remove: async () => false,
      accounts: async () => [],
      check: async () => ({ ok: true, note: "" }),
    };
    await vaultWith("right", { keyring }).keepPassphrase();
    expect([...kept.keys()]).toEqual([expect.stringMatching(/^portolan-vault \/.*secrets\.vault$/)]);
    const silent = vaultWith(undefined, { keyring, promptPassphrase: undefined });
    expect((await silent.get("A"))?.reveal()).toBe("value");

    for (const key of kept.keys()) kept.set(key, "old");
    const requests: PassphraseRequest[] = [];
    const asking = vaultWith(undefined, {
      keyring,
      promptPassphrase: async (request) => {
        requests.push(request);
        return "right";
      },
    });
    expect((await asking.get("A"))?.reveal()).toBe("value");
    expect(requests).toMatchObject([{ reason: "wrong" }]);
    await expect(vaultWith(undefined, { keyring }).get("A")).rejects.toMatchObject(
      failing("wrong-passphrase", /in the keyring/),
    );
  });

  test("is prompted once for many requests, at most three times, and not again after a failure", async () => {
    await vaultWith("right").set("A", new Secret("value"));
    const prompt = vi.fn<(request: PassphraseRequest) => Promise<string | undefined>>(async ({ reason }) =>
      reason === "open" ? "typo" : "right",
    );
    const vault = vaultWith(undefined, { promptPassphrase: prompt });
    const all = await Promise.all(Array.from({ length: 50 }, () => vault.get("A")));
    expect(all.every((secret) => secret?.reveal() === "value")).toBe(true);
    expect(prompt.mock.calls.map(([request]) => request.reason)).toEqual(["open", "wrong"]);

    const wrong = vi.fn(async () => "never right");
    const stubborn = vaultWith(undefined, { promptPassphrase: wrong });
    await expect(stubborn.get("A")).rejects.toMatchObject(failing("wrong-passphrase", /that was typed/));
    await expect(stubborn.get("A")).rejects.toMatchObject(failing("wrong-passphrase", /that was typed/));
    expect(wrong).toHaveBeenCalledTimes(3);
    expect(await stubborn.check()).toMatchObject({ ok: false, reason: "wrong-passphrase" });
    expect(wrong).toHaveBeenCalledTimes(6);
  });

  test("is required: without one, no vault is created", async () => {
    const vault = vaultWith(undefined, { promptPassphrase: undefined });
    await expect(vault.set("A", new Secret("value"))).rejects.toMatchObject(
      failing("no-passphrase", /no passphrase/),
    );
    await expect(vaultWith("").set("A", new Secret("value"))).rejects.toMatchObject(
      failing("no-passphrase", /no passphrase/),
    );
    expect(await readdir(join(folder, "private"))).toEqual([]);
  });

  test("that is wrong changes nothing", async () => {
    await vaultWith("right").set("A", new Secret("value"));
    const before = await readFile(file);
    await expect(vaultWith("wrong").set("B", new Secret("x"))).rejects.toMatchObject(
      failing("wrong-passphrase", /wrong/),
    );
    expect(await readFile(file)).toEqual(before);
  });
});

describe("a vault file that was changed", () => {
  const small = async (): Promise<Buffer> => {
    await vaultWith("right").set("A", new Secret("v"));
    return await readFile(file);
  };

  test("is reported as damaged for any changed byte, and is never overwritten", async () => {
    const good = await small();
    for (let at = 0; at < good.length; at += 1) {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] as number) ^ (1 << (at % 8));
      await writeFile(file, bad);
      await expect(vaultWith("right").get("A"), `byte ${at}`).rejects.toMatchObject(
        failing("damaged", /is damaged/),
      );
    }
    await expect(vaultWith("right").set("B", new Secret("x"))).rejects.toMatchObject(failing("damaged", /./));
    expect((await readFile(file)).length).toBe(good.length);
  });

  test("is refused for any changed byte, also with a matching checksum", async () => {
    const good = await small();
    for (let at = 0; at < good.length - 32; at += 1) {
      const body = Buffer.from(good.subarray(0, -32));
      body[at] = (body[at] as number) ^ 1;
      await writeFile(file, Buffer.concat([body, createHash("sha256").update(body).digest()]));
      await expect(vaultWith("right").get("A"), `byte ${at}`).rejects.toMatchObject({
        code: "SECRET_STORE_FAILED",
        data: { reason: expect.stringMatching(/^(damaged|newer|wrong-passphrase)$/) as string },
      });
    }
  });

  test("is reported as damaged if it is truncated, empty, or another file", async () => {
    const good = await small();
    for (let length = 0; length < good.length; length += 1) {
      await writeFile(file, good.subarray(0, length));
      await expect(vaultWith("right").get("A")).rejects.toMatchObject(failing("damaged", /damaged/));
    }
    await writeFile(file, "TOKEN=plain text\n");
    await expect(vaultWith("right").get("A")).rejects.toMatchObject(failing("damaged", /damaged/));
    expect(await vaultWith("right").check()).toMatchObject({ ok: false, reason: "damaged" });
    await rm(file);
    await mkdir(file);
    await expect(vaultWith("right").get("A")).rejects.toMatchObject(
      failing("not-read", /regular file|directory/),
    );
  });

  test("is refused if it has a newer version, or if its header demands too much memory", async () => {
    await small();
    const write = async (header: object): Promise<void> => {
      const body = Buffer.from(`${JSON.stringify(header)}\n${"x".repeat(100)}`);
      await writeFile(file, Buffer.concat([body, createHash("sha256").update(body).digest()]));
    };
    await write({ portolanVault: 2 });
    await expect(vaultWith("right").get("A")).rejects.toMatchObject(
      failing("newer", /newer version of portolan/),
    );
    const salt = Buffer.alloc(16).toString("base64");
    await write({ portolanVault: 1, cipher: "aes-256-gcm", kdf: "scrypt", N: 2 ** 30, r: 64, p: 1, salt });
    await expect(vaultWith("right").get("A")).rejects.toMatchObject(failing("damaged", /header/));
  });
});

describe("a disk that is full", () => {
  test.each([
    [
      "fails the write",
      async (handle: { write: (bytes: Uint8Array) => Promise<unknown> }, bytes: Uint8Array) => {
        await handle.write(bytes.subarray(0, 10));
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
      },
    ],
    [
      "shortens the write and says nothing",
      async (handle: { write: (bytes: Uint8Array) => Promise<unknown> }, bytes: Uint8Array) => {
        await handle.write(bytes.subarray(0, 10));
      },
    ],
  ])("%s: the old vault stays byte for byte, without other files", async (_, writeBytes) => {
    await vaultWith("p").set("A", new Secret("value"));
    const before = await readFile(file);
    const vault = vaultWith("p", { write: { writeBytes } });
    await expect(vault.set("B", new Secret("x".repeat(1_000)))).rejects.toMatchObject(
      failing("not-written", /could not be written: .*(ENOSPC|disk full)/),
    );
    expect(await readFile(file)).toEqual(before);
    expect(await readdir(join(folder, "private"))).toEqual(["secrets.vault", "secrets.vault.names"]);
    await vaultWith("p").set("B", new Secret("fits"));
    expect(await vaultWith("p").list()).toEqual(["A", "B"]);
  });
});

describe("names of secrets", () => {
  test("are listed without a passphrase, but only if the names file belongs to this vault", async () => {
    await vaultWith("p").set("A", new Secret("canary"));
    await vaultWith("p").set("B", new Secret("canary"));
    expect(await vaultWith(undefined).list()).toEqual(["A", "B"]);
    const names = `${file}.names`;
    expect(await readFile(names, "utf8")).not.toContain("canary");
    expect((await stat(names)).mode & 0o77).toBe(0);
    const kept = await readFile(names);
    await vaultWith("p").remove("A");
    expect(await vaultWith(undefined).list()).toEqual(["B"]);
    await writeFile(names, kept);
    await expect(vaultWith(undefined).list()).rejects.toMatchObject({ code: "SECRET_STORE_FAILED" });
    expect(await vaultWith("p").list()).toEqual(["B"]);
  });
});
