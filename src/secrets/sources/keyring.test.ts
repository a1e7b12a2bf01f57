import { describe, expect, test } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { createKeyring, createKeyringSource, type KeyringModule } from "./keyring.ts";
import { Secret } from "../secret.ts";

interface Fake {
  readonly load: () => Promise<KeyringModule>;
  readonly kept: Map<string, string>;
  readonly calls: string[];
  readonly options: unknown[];
}

/** A keyring in memory that can fail or return wrong values. test/cli/secrets.test.ts uses a real one. */
function fakeKeyring(
  bend: { get?: (value: string | null) => string | null; fail?: () => Error | undefined } = {},
): Fake {
  const kept = new Map<string, string>();
  const calls: string[] = [];
  const options: unknown[] = [];
  class AsyncEntry {
    readonly #id: string;
    constructor(service: string, account: string, given: unknown) {
      this.#id = `${service}/${account}`;
      options.push(given);
    }
    async #call(what: string): Promise<void> {
      calls.push(`${what} ${this.#id}`);
      const error = bend.fail?.();
      if (error !== undefined) throw error;
    }
    async getPassword(): Promise<string | null> {
      await this.#call("get");
      const value = kept.get(this.#id) ?? null;
      return bend.get === undefined ? value : bend.get(value);
    }
    async setPassword(value: string): Promise<void> {
      await this.#call("set");
      kept.set(this.#id, value);
    }
    async deletePassword(): Promise<boolean> {
      await this.#call("delete");
      return kept.delete(this.#id);
    }
  }
  const findCredentialsAsync = async (service: string): Promise<{ account: string; password: string }[]> =>
    [...kept].flatMap(([id, password]) =>
      id.startsWith(`${service}/`) ? [{ account: id.slice(service.length + 1), password }] : [],
    );
  return { load: async () => ({ AsyncEntry, findCredentialsAsync }), kept, calls, options };
}

const probes = (fake: Fake): number =>
  fake.calls.filter((call) => call.startsWith("set portolan-probe/")).length;

describe("a keyring that works", () => {
  test("stores, finds, lists and removes secrets, and is probed once without leaving a value", async () => {
    const fake = fakeKeyring();
    const told: Diagnostic[] = [];
    const make = (): ReturnType<typeof createKeyringSource> =>
      createKeyringSource(createKeyring({ report: (it) => told.push(it), load: fake.load }));
    const [one, other] = [make(), make()];
    await Promise.all([one.get("A"), other.get("B"), one.check()]);
    await one.set("B", new Secret("value-b"));
    await one.set("A", new Secret("value-a"));
    expect((await other.get("A"))?.reveal()).toBe("value-a");
    expect(await one.list()).toEqual(["A", "B"]);
    expect(await one.remove("A")).toBe(true);
    expect(await one.remove("A")).toBe(false);
    expect([...fake.kept]).toEqual([["portolan/B", "value-b"]]);
    expect(probes(fake)).toBe(1);
    expect(new Set(fake.options.map((it) => JSON.stringify(it)))).toEqual(
      new Set(['{"linux":{"store":"secret-service"}}']),
    );
    expect(told).toEqual([]);
  });
});

describe("a keyring that does not work", () => {
  test.each([
    ["is not installed", async () => Promise.reject(new Error("Cannot find package"))],
    ["throws", fakeKeyring({ fail: () => new Error("it is locked") }).load],
    ["forgets", fakeKeyring({ get: () => null }).load],
    ["changes what it is given", fakeKeyring({ get: (value) => `${value}x` }).load],
    ["has another shape", async () => ({}) as KeyringModule],
  ])("%s: reading returns nothing and reports the failure once, writing fails", async (_, load) => {
    const told: Diagnostic[] = [];
    const source = createKeyringSource(createKeyring({ report: (it) => told.push(it), load }));
    expect(await source.get("A")).toBeUndefined();
    expect(await source.list()).toEqual([]);
    expect(await source.remove("A")).toBe(false);
    expect(told).toMatchObject([
      {
        severity: "info",
        message: expect.stringContaining("cannot be used") as string,
        hint: expect.stringContaining("--to vault") as string,
      },
    ]);
    expect(await source.check()).toMatchObject({ ok: false });
    await expect(source.set("A", new Secret("canary"))).rejects.toMatchObject({
      code: "SECRET_STORE_FAILED",
      message: expect.not.stringContaining("canary") as string,
      hint: expect.stringContaining("--to vault") as string,
    });
    // The passphrase of the vault cannot be stored in the vault.
    await expect(
      createKeyring({ report: () => {}, load }).set("portolan-vault", "/x", "y"),
    ).rejects.toMatchObject({
      hint: "Check the keyring: portolan secrets check.",
    });
  });

  test.each([
    "Platform failure: DBus error: Using X11 for dbus-daemon autolaunch was disabled at compile time, set your DBUS_SESSION_BUS_ADDRESS instead",
    "Platform failure: DBus error: Failed to connect to socket /run/user/1/bus: No such file or directory",
    "Platform failure: DBus error: The name org.freedesktop.secrets was not provided by any .service files",
  ])("is missing: reading reports nothing, but writing and checking do: %s", async (message) => {
    const told: Diagnostic[] = [];
    const { load } = fakeKeyring({ fail: () => new Error(message) });
    const source = createKeyringSource(createKeyring({ report: (it) => told.push(it), load }));
    expect(await source.get("A")).toBeUndefined();
    expect(await source.list()).toEqual([]);
    expect(told).toEqual([]);
    expect(await source.check()).toEqual({
      ok: false,
      note: `no keyring service runs for this user (${message})`,
    });
    await expect(source.set("A", new Secret("x"))).rejects.toMatchObject({ code: "SECRET_STORE_FAILED" });
  });

  test("hangs: reading and checking end after the time limit", async () => {
    const load = async (): Promise<KeyringModule> => {
      const { AsyncEntry, findCredentialsAsync } = await fakeKeyring().load();
      const hang = (): Promise<never> => new Promise(() => {});
      return {
        AsyncEntry: class extends AsyncEntry {
          override getPassword = hang;
          override setPassword = hang;
        },
        findCredentialsAsync,
      };
    };
    const keyring = createKeyring({ report: () => {}, load, waitMs: 20 });
    expect(await keyring.get("portolan", "A")).toBeUndefined();
    expect(await keyring.check()).toEqual({ ok: false, note: "it did not respond within 0.02 s" });
  });

  test("hangs during a write: the error says that the value may still be saved", async () => {
    let isHanging = false;
    const load = async (): Promise<KeyringModule> => {
      const { AsyncEntry, findCredentialsAsync } = await fakeKeyring().load();
      return {
        AsyncEntry: class extends AsyncEntry {
          override setPassword(value: string): Promise<void> {
            return isHanging ? new Promise(() => {}) : super.setPassword(value);
          }
        },
        findCredentialsAsync,
      };
    };
    const keyring = createKeyring({ report: () => {}, load, waitMs: 500 });
    await keyring.check();
    isHanging = true;
    await expect(keyring.set("portolan", "A", "x")).rejects.toThrow(
      "The system's keyring did not confirm within 0.5 s that it saved A; it may still save it.",
    );
  });

  test("is tried again after thirty seconds, and not before", async () => {
    let locked = true;
    let time = 0;
    const fake = fakeKeyring({ fail: () => (locked ? new Error("locked") : undefined) });
    const keyring = createKeyring({ report: () => {}, load: fake.load, now: () => time });
    expect(await keyring.check()).toEqual({ ok: false, note: "locked" });
    locked = false;
    time = 29_000;
    expect(await keyring.check()).toMatchObject({ ok: false });
    time = 31_000;
    expect(await Promise.all([keyring.check(), keyring.check()])).toMatchObject([{ ok: true }, { ok: true }]);
    expect(probes(fake)).toBe(2);
    locked = true;
    expect(await keyring.get("portolan", "A")).toBeUndefined();
  });
});
