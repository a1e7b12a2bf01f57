import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Diagnostic } from "../errors/index.ts";
import { createDotenvSource } from "./sources/dotenv.ts";
import { createEnvironmentSource, isPlainVariable } from "./sources/environment.ts";
import { Secret } from "./secret.ts";
import type { SecretSource, SourceName } from "./sources/source.ts";
import { createSecretStore, type SecretStore, type SecretStoreOptions, storeOf } from "./store.ts";

let folder: string;
let told: Diagnostic[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-store-"));
  told = [];
});
afterEach(() => rm(folder, { recursive: true }));

function realStore(more: Partial<SecretStoreOptions> = {}): SecretStore {
  return createSecretStore({
    env: {},
    vaultFile: join(folder, "secrets.vault"),
    keyring: "off",
    promptPassphrase: async () => "open sesame",
    report: (it) => told.push(it),
    ...more,
  });
}

/** A source in memory, to put sources in an order that needs no desktop session. */
function memorySource(name: SourceName, values: Record<string, string> = {}, works = true): SecretSource {
  const kept = new Map(Object.entries(values));
  return {
    name,
    get: async (key) => (kept.has(key) ? new Secret(kept.get(key) as string) : undefined),
    list: async () => [...kept.keys()],
    set: async (key, value) => void kept.set(key, value.reveal()),
    remove: async (key) => kept.delete(key),
    check: async () => ({ ok: works, note: "" }),
  };
}

describe("the environment as a source", () => {
  const source = createEnvironmentSource({
    TOKEN: "plain",
    PORTOLAN_SECRET_TOKEN: "marked",
    PORTOLAN_SECRET_OTHER: "other",
    PORTOLAN_SECRET_: "nameless",
    EMPTY: "",
    PORTOLAN_SECRET_EMPTY: "",
    HOME: "/home/me",
  });

  test("prefers variables with the prefix PORTOLAN_SECRET_, and ignores empty variables", async () => {
    const names = ["TOKEN", "OTHER", "EMPTY", "HOME", "NONE", "constructor", "__proto__"];
    const found = await Promise.all(names.map(async (name) => (await source.get(name))?.reveal()));
    expect(found).toEqual(["marked", "other", undefined, "/home/me", undefined, undefined, undefined]);
    expect(await source.list?.()).toEqual(["OTHER", "TOKEN"]);
    expect(await source.check()).toEqual({ ok: true, note: "2 variables named PORTOLAN_SECRET_…" });
  });

  test("has variables that are not secrets, such as HOME and PATH", () => {
    expect(["HOME", "PATH", "LC_ALL", "XDG_DATA_HOME", "UserProfile"].every(isPlainVariable)).toBe(true);
    expect(["HOME_TOKEN", "TOKEN", "PATHS", "DATABASE_URL"].some(isPlainVariable)).toBe(false);
  });
});

describe("the order of the sources", () => {
  test("is environment, keyring, vault, .env", async () => {
    const envFile = join(folder, ".env");
    await writeFile(envFile, "A=dotenv\nB=dotenv\nC=dotenv\nD=dotenv\n", { mode: 0o600 });
    const sources = [
      createEnvironmentSource({ A: "environment" }),
      memorySource("keyring", { A: "keyring", B: "keyring" }),
      memorySource("vault", { A: "vault", B: "vault", C: "vault" }),
      createDotenvSource(envFile, (it) => told.push(it)),
    ];
    const store = storeOf(sources, (it) => told.push(it));
    for (const [name, source] of Object.entries({
      A: "environment",
      B: "keyring",
      C: "vault",
      D: "dotenv",
    })) {
      const found = await store.get(name);
      expect([found?.source, found?.secret.reveal()]).toEqual([source, source]);
    }
    expect(await store.get("E")).toBeUndefined();
    expect(await store.get("B", { from: "environment" })).toBeUndefined();
    expect((await store.get("A", { from: "dotenv" }))?.secret.reveal()).toBe("dotenv");
    expect(await store.list()).toEqual([
      { name: "A", source: "keyring" },
      { name: "A", source: "vault" },
      { name: "A", source: "dotenv" },
      { name: "B", source: "keyring" },
      { name: "B", source: "vault" },
      { name: "B", source: "dotenv" },
      { name: "C", source: "vault" },
      { name: "C", source: "dotenv" },
      { name: "D", source: "dotenv" },
    ]);
    expect(await store.remove("A")).toEqual(["keyring", "vault"]);
    expect(told.map(({ message }) => message)).toEqual([
      expect.stringContaining("is in the environment"),
      expect.stringContaining("is in the .env file"),
    ]);
  });
});

describe("setting a secret", () => {
  const memory = (keyringWorks: boolean): SecretStore =>
    storeOf(
      [
        createEnvironmentSource({ SHADOWED: "x" }),
        memorySource("keyring", {}, keyringWorks),
        memorySource("vault"),
      ],
      (it) => told.push(it),
    );

  test("refuses an empty value, and names the command that removes a secret", async () => {
    await expect(memory(true).set("A", "")).rejects.toMatchObject({
      hint: "To remove the secret: portolan secrets rm A",
    });
  });

  test("writes to the keyring if it works, else to the vault, or to the source that the call names", async () => {
    expect(await memory(true).set("A", "value")).toBe("keyring");
    expect(await memory(false).set("A", "value")).toBe("vault");
    expect(await memory(true).set("A", new Secret("value"), { to: "vault" })).toBe("vault");
    expect(await memory(false).set("A", "value", { to: "keyring" })).toBe("keyring");
    expect(told).toEqual([]);
  });

  test("gives a warning if an earlier source has another value", async () => {
    const store = memory(true);
    await store.set("SHADOWED", "value");
    await store.set("TWICE", "value", { to: "keyring" });
    await store.set("TWICE", "value", { to: "vault" });
    expect(told.map(({ message }) => message)).toEqual([
      "SHADOWED was saved in the keyring, but commands that you start in this shell use another value of SHADOWED, which is in the environment.",
      "TWICE was saved in the vault, but Portolan uses another value of TWICE, which is in the keyring.",
    ]);
  });

  test.each([
    ["1A", "value"],
    ["A B", "value"],
    ["", "value"],
    ["A", ""],
    ["A", "canary\0"],
  ])("refuses %j = %j, without repeating the value", async (name, value) => {
    await expect(memory(true).set(name, value)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.not.stringContaining("canary") as string,
    });
  });

  test("fails if the call names the keyring, but the keyring is off", async () => {
    await expect(realStore().set("A", "value", { to: "keyring" })).rejects.toMatchObject({
      code: "SECRET_STORE_FAILED",
    });
  });
});

describe("the real store", () => {
  test("keeps secrets in the vault, and returns the state of each source in check()", async () => {
    const store = realStore({ envFile: join(folder, "none.env") });
    expect(await store.get("A")).toBeUndefined();
    expect(await store.set("A", "canary-value")).toBe("vault");
    expect((await realStore().get("A"))?.secret.reveal()).toBe("canary-value");
    expect((await store.check()).map(({ source, ok }) => [source, ok])).toEqual([
      ["environment", true],
      ["vault", true],
      ["dotenv", false],
    ]);
    expect(await store.remove("A")).toEqual(["vault"]);
    expect(await store.remove("A")).toEqual([]);
    expect(await store.list()).toEqual([]);
    expect((await readFile(join(folder, "secrets.vault"))).toString("latin1")).not.toContain("canary");
  });

  test("returns secrets of earlier sources if the vault cannot be opened, and fails for the others", async () => {
    await realStore().set("A", "value");
    const store = realStore({ env: { B: "from environment" }, promptPassphrase: async () => "wrong" });
    expect((await store.get("B"))?.source).toBe("environment");
    await expect(store.get("A")).rejects.toMatchObject({ code: "SECRET_STORE_FAILED" });
    // Names are known without the passphrase, unless the file with the names is missing or of another vault.
    expect(await store.list()).toEqual([{ name: "A", source: "vault" }]);
    expect(told).toEqual([]);
    expect(await store.check()).toMatchObject([{ ok: true }, { source: "vault", ok: false }]);
    await expect(store.remove("A")).rejects.toMatchObject({ code: "SECRET_STORE_FAILED" });
  });

  test("puts the vault into the user's data folder when no file is named", async () => {
    const before = process.env["XDG_DATA_HOME"];
    process.env["XDG_DATA_HOME"] = folder;
    try {
      await realStore({ vaultFile: undefined }).set("A", "value");
    } finally {
      if (before === undefined) delete process.env["XDG_DATA_HOME"];
      else process.env["XDG_DATA_HOME"] = before;
    }
    if (process.platform === "linux")
      expect(await readdir(join(folder, "portolan"))).toEqual(["secrets.vault", "secrets.vault.names"]);
  });

  test.runIf(process.platform === "linux" && process.env["DBUS_SESSION_BUS_ADDRESS"] === undefined)(
    "uses the vault without a desktop session; only check() names the missing keyring",
    async () => {
      const store = realStore({ keyring: "auto" });
      expect(await store.set("A", "value")).toBe("vault");
      expect((await store.get("A"))?.source).toBe("vault");
      expect((await store.check()).find(({ source }) => source === "keyring")?.ok).toBe(false);
      expect(told).toEqual([]);
    },
  );
});
