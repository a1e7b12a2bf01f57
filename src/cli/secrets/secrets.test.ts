// The secrets commands with a fake store and a fake terminal.

import { describe, expect, test } from "vitest";
import type { RunningGateway } from "../../control/index.ts";
import { PortolanError } from "../../errors/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { Secret, type SecretStore, type SecretStoreOptions } from "../../secrets/index.ts";
import type { Cli, CliIo } from "../context.ts";
import { createOutput } from "../output/output.ts";
import { checkSecrets, listSecrets, removeSecret, setSecret } from "./secrets.ts";
import { unlock } from "./unlock.ts";

interface Setup {
  readonly tty?: boolean;
  readonly stdin?: readonly (string | Uint8Array)[];
  readonly answers?: (string | undefined)[];
  readonly servers?: readonly ServerConfig[];
  readonly store?: Partial<SecretStore>;
  readonly gateways?: readonly RunningGateway[];
}

const server = (alias: string, env: Record<string, string>): ServerConfig => ({
  alias,
  origin: { file: "/nowhere/portolan.yaml", line: 1, column: 1, format: "workspace" },
  enabled: true,
  endpoint: { transport: "stdio", command: "${COMMANDS_STAY}", env },
});

function setup({ tty = false, stdin = [], answers = [], servers = [], store = {}, gateways = [] }: Setup) {
  let out = "";
  let err = "";
  const asked: string[] = [];
  const opened: SecretStoreOptions[] = [];
  const io: Partial<CliIo> = {
    stdin: {
      isTTY: tty,
      async *[Symbol.asyncIterator]() {
        yield* stdin;
      },
    },
    stdout: { isTTY: tty, columns: 100, write: (text) => ((out += text), true) },
    stderr: { isTTY: tty, columns: 100, write: (text) => ((err += text), true) },
    env: { NO_COLOR: "1" },
    cwd: "/nowhere",
    platform: "linux",
    loadCatalog: async (folder) => ({
      folder,
      usedPaths: { folder, isWhole: true, paths: [] },
      servers,
      settings: { envFile: "/nowhere/.env", defaults: {} },
      files: [],
      diagnostics: [],
    }),
    findGateways: async () => ({ gateways, ended: [], problems: [] }),
    hasTerminal: () => tty,
    createPrompter: async () => ({
      say: () => {},
      text: async () => undefined,
      password: async ({ message }) => (asked.push(message), answers.shift()),
      select: async () => undefined,
      multiselect: async () => undefined,
    }),
  };
  const cli = {
    io: io as CliIo,
    output: createOutput(io as CliIo, {}),
    interrupt: { signal: new AbortController().signal },
    options: { verbose: true },
  } as unknown as Cli;
  const open = (options: SecretStoreOptions): SecretStore => {
    opened.push(options);
    return store as SecretStore;
  };
  return { cli, open, asked, opened, shown: () => ({ out, err }) };
}

describe("secrets set", () => {
  const keep = (): { kept: Map<string, string>; store: Partial<SecretStore> } => {
    const kept = new Map<string, string>();
    return {
      kept,
      store: {
        set: async (name, value, { to } = {}) => {
          kept.set(name, String(value));
          return to ?? "keyring";
        },
      },
    };
  };

  test("reads all of stdin, also if a chunk ends inside a character", async () => {
    const { kept, store } = keep();
    const bytes = Buffer.from("pässwörd\r\n");
    const { cli, open, opened } = setup({ stdin: [bytes.subarray(0, 2), bytes.subarray(2)], store });
    expect(await setSecret(cli, ["A"], {}, open)).toBe(0);
    expect(kept.get("A")).toBe("pässwörd");
    expect(opened).toMatchObject([{ envFile: "/nowhere/.env", promptPassphrase: undefined }]);
  });

  test("refuses a value that is not UTF-8 or too large, without repeating it", async () => {
    const { cli, open } = setup({ stdin: [new Uint8Array([0x61, 0xff])] });
    const failure = await setSecret(cli, ["A"], {}, open).catch((thrown: unknown) => thrown as Error);
    expect(failure).toMatchObject({ message: "The value is not UTF-8 text." });
    expect((failure as Error).cause).toBeUndefined();
    const large = setup({ stdin: ["x".repeat(2 ** 20), "x"] });
    await expect(setSecret(large.cli, ["A"], {}, large.open)).rejects.toMatchObject({ code: "USAGE" });
  });

  test("asks at a terminal, and a cancelled prompt changes nothing", async () => {
    const { kept, store } = keep();
    const { cli, open, asked, shown } = setup({ tty: true, answers: ["hidden"], store });
    expect(await setSecret(cli, ["A"], { to: "vault" }, open)).toBe(0);
    expect(asked).toEqual(["Value of A"]);
    expect(shown()).toEqual({ out: "A was stored in the vault.\n", err: "" });
    const away = setup({ tty: true, answers: [undefined], store });
    await expect(setSecret(away.cli, ["B"], {}, away.open)).rejects.toMatchObject({ code: "CANCELLED" });
    expect([...kept.keys()]).toEqual(["A"]);
  });

  test("names a gateway that does not answer, and skips a gateway that does not use the secret", async () => {
    const url = "http://127.0.0.1:7420/mcp";
    const gateways = [{ kind: "http", url, pid: 7, socket: "/nowhere/socket" } as unknown as RunningGateway];
    const servers = [server("files", { TOKEN: "${A}" })];
    const { kept, store } = keep();
    const one = setup({ stdin: ["x"], servers, store, gateways });
    expect(await setSecret(one.cli, ["A"], {}, one.open)).toBe(3);
    expect([...kept.keys()]).toEqual(["A"]);
    expect(JSON.parse(one.shown().out)).toMatchObject({ name: "A", gateways: [{ pid: 7, applied: false }] });
    const gone = setup({ servers, store: { remove: async () => ["vault"] }, gateways });
    expect(await removeSecret(gone.cli, ["A"], {}, gone.open)).toBe(0);
    expect(gone.shown().err).toContain(
      "may still use the removed value (affected: files). To replace the value, run portolan secrets set A. If no server needs the secret any more, remove ${A} from the config. To end the use of the removed value immediately, stop the gateway: portolan stop\n",
    );
    const unused = setup({ stdin: ["x"], servers, store, gateways });
    expect(await setSecret(unused.cli, ["C"], {}, unused.open)).toBe(0);
    expect(unused.shown().err).toBe("");
  });

  test("fails if the repeated passphrases for a new vault always differ", async () => {
    const { cli, open, asked } = setup({
      tty: true,
      answers: ["value", "1", "2", "3", "4", "5", "6"],
      store: {
        set: async () => {
          await options?.promptPassphrase?.({ vault: "/v", reason: "create" });
          return "vault";
        },
      },
    });
    let options: SecretStoreOptions | undefined;
    const opening = (given: SecretStoreOptions): SecretStore => open((options = given));
    await expect(setSecret(cli, ["A"], {}, opening)).rejects.toMatchObject({
      message: "The passphrases were different, so nothing was changed or stored.",
    });
    expect(asked).toHaveLength(7);
  });
});

test("secrets rm names the stores of the removed secret, and suggests a similar name", async () => {
  const store: Partial<SecretStore> = {
    remove: async (name) => (name === "A_TOKEN" ? ["keyring", "vault"] : []),
    list: async () => [
      { name: "A_TOKEN", source: "vault" },
      { name: "A_TOKEM", source: "environment" },
    ],
  };
  const { cli, open, shown } = setup({ tty: true, store });
  expect(await removeSecret(cli, ["A_TOKEN"], {}, open)).toBe(0);
  expect(shown().out).toBe("A_TOKEN was removed from the keyring and the vault.\n");
  await expect(removeSecret(cli, ["A_TOKEX"], {}, open)).rejects.toMatchObject({
    code: "SECRET_MISSING",
    hint: 'Did you mean "A_TOKEN"?',
  });
});

test("secrets rm accepts several names, and names those that are not stored", async () => {
  const left = new Set(["A", "B"]);
  const store: Partial<SecretStore> = {
    remove: async (name) => (left.delete(name) ? ["vault"] : []),
    list: async () => [],
  };
  const { cli, open, shown } = setup({ tty: true, store });
  await expect(removeSecret(cli, ["A", "C", "B", "A"], {}, open)).rejects.toMatchObject({
    code: "SECRET_MISSING",
    message: "Portolan found no secret C to remove in the keyring or the vault.",
  });
  expect(shown().out).toBe("A was removed from the vault.\nB was removed from the vault.\n");
  await expect(removeSecret(cli, ["A=x"], {}, open)).rejects.toMatchObject({ code: "USAGE" });
});

test("secrets list shows each name once, with its stores in order, without control characters", async () => {
  const { cli, open, shown } = setup({
    tty: true,
    store: {
      list: async () => [
        { name: "A", source: "environment" },
        { name: "A", source: "vault" },
        { name: "B\u001b[2J\u0007", source: "dotenv" },
      ],
    },
  });
  expect(await listSecrets(cli, [], {}, open)).toBe(0);
  expect(shown().out).toBe("A   environment, then vault\nB␇  dotenv\n");
});

describe("secrets check", () => {
  const check: SecretStore["check"] = async () => [
    { source: "environment", ok: true, note: "0 variables" },
    { source: "keyring", ok: false, note: "there is none" },
  ];

  test("fails for a missing secret, but not for a missing keyring", async () => {
    const store: Partial<SecretStore> = {
      check,
      get: async (name) => (name === "SET" ? { secret: new Secret("v"), source: "vault" } : undefined),
    };
    const good = setup({ servers: [server("a", { A: "${SET}", B: "${OTHER:-x}", C: "$${NOT}" })], store });
    expect(await checkSecrets(good.cli, [], {}, good.open)).toBe(0);
    const { needs } = JSON.parse(good.shown().out) as { needs: object[] };
    expect(needs).toMatchObject([
      { name: "OTHER", state: "default" },
      { name: "SET", state: "set", source: "vault" },
    ]);
    const bad = setup({ tty: true, servers: [server("a", { A: "${MISSING} ${file:/no/such}" })], store });
    expect(await checkSecrets(bad.cli, [], {}, bad.open)).toBe(1);
    expect(bad.shown().out).toMatch(
      /✗ \/no\/such +there is no such file, or it cannot be read; needed by a \(env\.A\)/,
    );
    expect(bad.shown().out).toContain("Set the missing values, for example: portolan secrets set MISSING");
  });

  test('reports the state "unknown" if the vault cannot be opened', async () => {
    const { cli, open, shown } = setup({
      servers: [server("a", { A: "${X}" })],
      store: {
        check: async () => [
          {
            source: "vault",
            ok: false,
            reason: "damaged",
            note: "The vault /v is damaged: short.",
            hint: "Restore it from a backup.",
          },
        ],
        get: async () => {
          throw new PortolanError("SECRET_STORE_FAILED", "The vault /v is damaged: short.");
        },
      },
    });
    expect(await checkSecrets(cli, [], {}, open)).toBe(1);
    expect(JSON.parse(shown().out)).toMatchObject({
      ok: false,
      sources: [{ hint: expect.stringContaining("backup") as string }],
      needs: [{ state: "unknown", reason: "The vault /v is damaged: short." }],
    });
  });
});

test("secrets unlock fails on Windows before it asks for the passphrase", async () => {
  const { cli, asked } = setup({ tty: true });
  const onWindows: Cli = { ...cli, io: { ...cli.io, platform: "win32" } };
  await expect(unlock(onWindows, {})).rejects.toMatchObject({
    code: "NOT_SUPPORTED",
    hint: expect.stringContaining("portolan secrets unlock --keep") as string,
  });
  expect(asked).toEqual([]);
});
