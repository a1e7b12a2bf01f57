import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { PortolanError } from "../errors/index.ts";
import type { Endpoint } from "../model/index.ts";
import { createEnvironmentSource } from "./sources/environment.ts";
import { createRedactor } from "./redaction/redactor.ts";
import { escapeReferences } from "../model/index.ts";
import { resolveEndpoint, toSecretError, type UnresolvedEndpoint } from "./resolve.ts";
import { Secret } from "./secret.ts";
import type { SecretSource } from "./sources/source.ts";
import { type SecretStore, storeOf } from "./store.ts";

let baseDir: string;
beforeAll(async () => {
  baseDir = await mkdtemp(join(tmpdir(), "portolan-resolve-"));
});
afterAll(() => rm(baseDir, { recursive: true }));

function storeWith(vault: Record<string, string>, env: Record<string, string> = {}): SecretStore {
  const source: SecretSource = {
    name: "vault",
    get: async (name) => (Object.hasOwn(vault, name) ? new Secret(vault[name] as string) : undefined),
    check: async () => ({ ok: true, note: "" }),
  };
  return storeOf([createEnvironmentSource(env), source], () => {});
}

const http = (headers: Record<string, string>, url = "https://example.test/mcp"): Endpoint => ({
  transport: "http",
  url,
  headers,
});
const stdio = (more: object): Endpoint => ({ transport: "stdio", command: "server", ...more });

async function resolved(
  endpoint: Endpoint,
  store: SecretStore,
): Promise<{ endpoint: Endpoint; secrets: string[] }> {
  const result = await resolveEndpoint(endpoint, store, { baseDir });
  if (!result.ok) throw toSecretError(result);
  return { endpoint: result.endpoint, secrets: result.secrets.map((secret) => secret.reveal()) };
}

async function refused(endpoint: Endpoint, store: SecretStore): Promise<UnresolvedEndpoint> {
  const result = await resolveEndpoint(endpoint, store, { baseDir });
  if (result.ok) throw new Error("This should not resolve.");
  return result;
}

describe("secret references", () => {
  test("are resolved in url, headers, env and args, and nowhere else", async () => {
    const store = storeWith({ TOKEN: "tok-1", KEY: "key-2", DIR: "dir" }, { HOST: "api.test" });
    expect(
      await resolved(
        http({ Authorization: "Bearer ${TOKEN}", Plain: "x" }, "https://${HOST}/mcp?key=${KEY}"),
        store,
      ),
    ).toEqual({
      endpoint: http({ Authorization: "Bearer tok-1", Plain: "x" }, "https://api.test/mcp?key=key-2"),
      secrets: ["api.test", "key-2", "tok-1"],
    });
    expect(
      await resolved(
        {
          transport: "stdio",
          command: "${TOKEN}",
          cwd: "${TOKEN}",
          args: ["-x", "${DIR}/a"],
          env: { A: "${TOKEN}" },
        },
        store,
      ),
    ).toEqual({
      endpoint: {
        transport: "stdio",
        command: "${TOKEN}",
        cwd: "${TOKEN}",
        args: ["-x", "dir/a"],
        env: { A: "tok-1" },
      },
      secrets: ["dir", "tok-1"],
    });
  });

  test("read the environment for ${env:…}, any source for ${secrets.…}, or their default", async () => {
    const store = storeWith({ A: "vault-a", B: "vault-b" }, { A: "env-a" });
    const { endpoint, secrets } = await resolved(
      stdio({
        env: {
          a: "${env:A}",
          b: "${secrets.B}",
          c: "${env:B:-none}",
          d: "${NONE:-}",
          e: "$${A}",
          f: "${NONE:-x y}",
        },
      }),
      store,
    );
    expect(endpoint).toMatchObject({
      env: { a: "env-a", b: "vault-b", c: "none", d: "", e: "${A}", f: "x y" },
    });
    expect(secrets).toEqual(["env-a", "vault-b"]);
    expect((await refused(stdio({ env: { c: "${env:B}" } }), store)).missing).toEqual([
      { name: "B", where: "env.c", inEnvironment: true },
    ]);
  });

  test("to variables such as HOME are not secrets, unless they are written as ${secrets.…}", async () => {
    const store = storeWith({}, { HOME: "/home/me", TOKEN: "tok-1" });
    expect((await resolved(stdio({ args: ["${HOME}/x", "${env:HOME}"] }), store)).secrets).toEqual([]);
    expect((await resolved(stdio({ env: { a: "${secrets.HOME}" } }), store)).secrets).toEqual(["/home/me"]);
  });

  test("an endpoint without references stays the same object", async () => {
    const endpoint = http({ A: "$x {y}" });
    expect((await resolveEndpoint(endpoint, storeWith({}), { baseDir })) as object).toEqual({
      ok: true,
      endpoint,
      secrets: [],
      warnings: [],
    });
    expect((await resolved(endpoint, storeWith({}))).endpoint).toBe(endpoint);
  });

  test("are looked up once each, however often they occur", async () => {
    const store = storeWith({ A: "value-a" });
    const get = vi.spyOn(store, "get");
    const { secrets } = await resolved(stdio({ args: ["${A}", "${A}${A}"], env: { A: "${A}" } }), store);
    expect(get).toHaveBeenCalledTimes(1);
    expect(secrets).toEqual(["value-a"]);
  });

  test("are not resolved in the values of other references", async () => {
    const value = fc.string({ unit: fc.constantFrom("${A}", "${B}", "$", "$${", "x"), minLength: 1 });
    await fc.assert(
      fc.asyncProperty(value, async (it) => {
        const text = `${escapeReferences(it)}|\${A}`;
        const { endpoint } = await resolved(stdio({ env: { T: text } }), storeWith({ A: it, B: "wrong" }));
        expect(endpoint).toMatchObject({ env: { T: `${it}|${it}` } });
      }),
    );
  });

  test("in args give a warning, because the list of processes shows them", async () => {
    const result = await resolveEndpoint(
      stdio({ args: ["a", "--token=${TOKEN}"], env: { T: "${TOKEN}" } }),
      storeWith({ TOKEN: "tok-canary" }),
      { baseDir },
    );
    expect(result).toMatchObject({
      ok: true,
      warnings: [
        { severity: "warning", path: "/args/1", message: expect.stringContaining("TOKEN") as string },
      ],
    });
    expect(JSON.stringify(result.ok && result.warnings)).not.toContain("canary");
  });
});

describe("file references", () => {
  test("are relative to the config file, and lose the last line break", async () => {
    await writeFile(join(baseDir, "token.txt"), "from file\r\n");
    await writeFile(join(baseDir, "two"), "a\n\n");
    const { endpoint, secrets } = await resolved(
      stdio({ env: { A: "${file:token.txt}", B: `\${file:${join(baseDir, "two")}}` } }),
      storeWith({}),
    );
    expect(endpoint).toMatchObject({ env: { A: "from file", B: "a\n" } });
    expect(secrets).toEqual(["from file", "a\n"]);
  });

  test.each([
    ["not there", async () => {}, /no such file/],
    ["empty", (path: string) => writeFile(path, "\n"), /empty/],
    ["too large", (path: string) => writeFile(path, "x".repeat(1024 * 1024 + 1)), /larger than/],
    ["not text", (path: string) => writeFile(path, Buffer.from([0x61, 0xff])), /not text/],
    [
      "a pipe that nobody writes to",
      async (path: string) => void spawnSync("mkfifo", [path]),
      /not a regular file|no such file/,
    ],
  ])("to a file that is %s are an error", async (what, make, message) => {
    const name = what.replaceAll(" ", "-");
    await make(join(baseDir, name));
    const { problems, missing } = await refused(stdio({ env: { A: `\${file:${name}}` } }), storeWith({}));
    expect(missing).toEqual([]);
    expect(problems).toMatchObject([
      { code: "FILE_FAILED", where: "env.A", message: expect.stringMatching(message) as string },
    ]);
  });
});

describe("resolving an endpoint", () => {
  test("reports all missing secrets at once, with the places that need them", async () => {
    const endpoint = stdio({
      args: ["x", "${A}", "${bad name}"],
      env: { T: "${B}${A}", U: "${C:-fine}", V: "${D" },
    });
    const result = await refused(endpoint, storeWith({}));
    expect(result.missing).toMatchObject([
      { name: "A", where: "args[1]" },
      { name: "B", where: "env.T" },
      { name: "A", where: "env.T" },
    ]);
    expect(result.problems).toMatchObject([
      { code: "FILE_INVALID", where: "args[2]", offset: 0 },
      { code: "FILE_INVALID", where: "env.V", offset: 0 },
    ]);
    const error = toSecretError(result, "github");
    expect(error).toMatchObject({
      code: "SECRET_MISSING",
      server: "github",
      hint: "Set them: portolan secrets set A; portolan secrets set B, or define them in the environment of Portolan.",
    });
    expect(error.message).toContain("Secrets are missing: A (for args[1], env.T); B (for env.T).");
    expect((await refused(http({ X: "1" }, "https://x/${KEY}"), storeWith({}))).missing).toMatchObject([
      { name: "KEY", where: "url" },
    ]);
  });

  test.each([
    ["header", http({ H: "Bearer ${V}" }), "canary\r\nX: y"],
    ["header", http({ H: "${V}" }), "canary\n"],
    ["header", http({ H: "${V}" }), "canary\u0001"],
    ["NUL", stdio({ env: { E: "${V}" } }), "canary\0"],
    ["NUL", stdio({ args: ["${V}"] }), "canary\0"],
    ["url", http({}, "https://x.test/?k=${V}"), "can\nary"],
    ["not a URL", http({}, "${V}/mcp"), "canary"],
  ])("reports a value that cannot be used, without showing it: %s", async (_, endpoint, value) => {
    const result = await refused(endpoint, storeWith({ V: value }));
    expect(result.problems).toMatchObject([{ code: "CONFIG_INVALID" }]);
    const error = toSecretError(result);
    expect(inspect(error, { depth: 9 }) + JSON.stringify(error)).not.toMatch(/canary|can\nary/);
  });

  test("reports a line break in a header of the config file", async () => {
    const { problems } = await refused(http({ H: "${A}\nX: y" }), storeWith({ A: "fine" }));
    expect(problems).toMatchObject([{ code: "FILE_INVALID", where: "headers.H" }]);
  });

  test("reports a failed secret store only for servers that need it", async () => {
    const store = storeWith({});
    store.get = async () => {
      throw new PortolanError("SECRET_STORE_FAILED", "The vault is damaged.", { hint: "Restore it." });
    };
    const result = await refused(http({ H: "${A}" }), store);
    expect(result.problems).toMatchObject([
      { code: "SECRET_STORE_FAILED", where: "headers.H", hint: "Restore it." },
    ]);
    expect(toSecretError(result).code).toBe("SECRET_STORE_FAILED");
    expect((await resolved(http({ H: "plain" }), store)).secrets).toEqual([]);
    // A reference with a default still resolves; a warning names the store that failed.
    const withDefault = await resolveEndpoint(http({ H: "${A:-x}" }), store, { baseDir });
    expect(withDefault).toMatchObject({
      ok: true,
      endpoint: http({ H: "x" }),
      warnings: [
        {
          code: "SECRET_STORE_FAILED",
          message:
            "headers.H: Portolan could not look up A, and uses the default from the config. The vault is damaged.",
          hint: "Restore it.",
        },
      ],
    });
  });
});

test("the redactor removes every value that was resolved", async () => {
  const { endpoint, secrets } = await resolved(
    http({ Authorization: "Bearer ${TOKEN}" }, "https://x.test/?k=${KEY}"),
    storeWith({ TOKEN: "tok canary/1", KEY: "key-canary" }),
  );
  const redactor = createRedactor();
  for (const secret of secrets) redactor.add(new Secret(secret));
  expect(redactor.redactValue(endpoint)).toEqual(
    http({ Authorization: "Bearer [redacted]" }, "https://x.test/?k=[redacted]"),
  );
});
