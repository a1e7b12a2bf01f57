import { mkdtemp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type OAuthServer, startOAuthServer, visit } from "../helpers/oauth-server.ts";
import { connectMcp, type McpConnection, type McpOAuth } from "../../src/index.ts";
import { createMemoryStore, type CredentialStore } from "../../src/oauth/store/credential.ts";
import { createFileStore } from "../../src/oauth/store/file-store.ts";

let server: OAuthServer;
let store: CredentialStore;
beforeEach(async () => {
  server = await startOAuthServer();
  store = createMemoryStore();
});
afterEach(() => server.close());

const person = (): Required<Pick<McpOAuth, "openLoginPage">> => ({
  openLoginPage: async ({ redirectUri = "http://127.0.0.1:1/callback" }) => ({
    redirectUri,
    show: visit,
    close: async () => {},
  }),
});
const connect = (auth: McpOAuth): Promise<McpConnection> =>
  connectMcp({
    transport: "http",
    url: server.url,
    name: "s",
    era: "legacy",
    watch: false,
    auth: { store, ...auth },
  });
const call = async (auth: McpOAuth): Promise<string> => {
  await using mcp = await connect(auth);
  return (await mcp.callTool("whoami", {})).text;
};
const requests = (path: string): number => server.count.get(path) ?? 0;

describe("a login", () => {
  test("is made once, and used by later connections without a person", async () => {
    expect(await call(person())).toBe("it is you");
    expect(await call({})).toBe("it is you");
    expect(requests("/authorize")).toBe(1);
    expect(requests("/register")).toBe(1);
  });

  test("that is missing is an error with the command for the login", async () => {
    const failed = await call({}).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: "AUTH_REQUIRED", hint: "Log in with: portolan login s" });
  });

  test("is required separately for a second account", async () => {
    await call({ ...person(), account: "a" });
    await expect(call({ account: "b" })).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(await call({ account: "a" })).toBe("it is you");
  });

  test.each([
    [
      "the issuer of another authorization server",
      (answer: URL) => answer.searchParams.set("iss", "https://evil.test"),
    ],
    ["no issuer", (answer: URL) => answer.searchParams.delete("iss")],
    ["the state of another login", (answer: URL) => answer.searchParams.set("state", "other")],
    ["an error", (answer: URL) => answer.searchParams.set("error", "access_denied")],
  ])("is refused if the answer has %s", async (_name, change) => {
    server.redirect = change;
    await expect(call(person())).rejects.toMatchObject({ code: "AUTH_FAILED" });
    expect(requests("/token")).toBe(0);
  });

  test.each([
    ["another issuer", "issuer", "https://evil.test"],
    ["another resource", "resource", "https://evil.test/mcp"],
    ["no PKCE", "code_challenge_methods_supported", undefined],
  ])("is refused if the metadata names %s", async (_name, field, value) => {
    server.metadata = (json) => {
      if (field in json) json[field] = value;
    };
    await expect(call(person())).rejects.toMatchObject({ code: "AUTH_FAILED" });
    expect(requests("/authorize")).toBe(0);
  });

  test("is not repeated without end if the server refuses every token", async () => {
    const connection = await connect(person());
    const before = requests("/authorize");
    server.refusesTokens = true;
    await expect(connection.callTool("whoami", {})).rejects.toMatchObject({ code: "AUTH_FAILED" });
    expect(requests("/authorize")).toBeLessThanOrEqual(before + 3);
    await connection.close();
  });
});

describe("a login inside of a call", () => {
  const limits = { startTimeoutMs: 500, requestTimeoutMs: 500, maxRequestMs: 500 };
  const slowPerson: McpOAuth = {
    openLoginPage: async (wanted) => {
      const page = await person().openLoginPage(wanted);
      return { ...page, show: async (address) => visit(await sleep(1_000, address)) };
    },
  };
  const open = (auth: McpOAuth): Promise<McpConnection> =>
    connectMcp({
      ...{ transport: "http", url: server.url, name: "s", era: "legacy", watch: false, limits },
      auth: { store, ...auth },
    });

  test("may take longer than the time limits of starts and requests", async () => {
    await using mcp = await open(slowPerson);
    server.revokeAccess();
    server.revokeRefresh();
    expect((await mcp.callTool("whoami", {})).text).toBe("it is you");
    expect(requests("/authorize")).toBe(2);
  });

  test("is kept if the call is cancelled", async () => {
    const cancel = new AbortController();
    const page: McpOAuth = {
      openLoginPage: async (wanted) => ({
        ...(await person().openLoginPage(wanted)),
        show: async (address) => {
          cancel.abort();
          return visit(address);
        },
      }),
    };
    await using mcp = await connect(page);
    server.revokeAccess();
    server.revokeRefresh();
    const call = mcp.callTool("whoami", {}, { signal: cancel.signal });
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
    expect((await mcp.callTool("whoami", {})).text).toBe("it is you");
    expect(requests("/authorize")).toBe(2);
  });
});

describe("a device code", () => {
  test("replaces the login page", async () => {
    server.deviceErrors = ["authorization_pending"];
    const shown: string[] = [];
    const auth: McpOAuth = { ...person(), showDeviceCode: ({ userCode }) => void shown.push(userCode) };
    expect(await call(auth)).toBe("it is you");
    expect(shown).toEqual(["WDJB-MJHT"]);
    expect(requests("/authorize")).toBe(0);
    // The same client logs in again.
    server.revokeAccess();
    server.revokeRefresh();
    expect(await call(auth)).toBe("it is you");
    expect(requests("/register")).toBe(1);
  });

  test("falls back to the login page, or gives the reason, if the server does not support it", async () => {
    const auth: McpOAuth = { showDeviceCode: () => {} };
    await expect(call(auth)).rejects.toMatchObject({
      ...{
        code: "AUTH_FAILED",
        message: expect.stringContaining("does not support logins with a device code") as string,
      },
    });
    expect(await call({ ...auth, ...person() })).toBe("it is you");
  });
});

describe("a token", () => {
  test("that expired is refreshed once for many calls", async () => {
    server.expiresIn = 0;
    await using mcp = await connect(person());
    server.expiresIn = 3_600;
    const before = requests("/token");
    const results = await Promise.all(Array.from({ length: 200 }, () => mcp.callTool("whoami", {})));
    expect(new Set(results.map(({ text }) => text))).toEqual(new Set(["it is you"]));
    expect(requests("/token")).toBeLessThanOrEqual(before + 1);
    expect(requests("/authorize")).toBe(1);
  });

  test("that the server refuses before it expires is refreshed", async () => {
    await using mcp = await connect(person());
    server.revokeAccess();
    expect((await mcp.callTool("whoami", {})).text).toBe("it is you");
    expect(requests("/authorize")).toBe(1);
  });

  test("survives an outage of the authorization server", async () => {
    await using mcp = await connect(person());
    server.revokeAccess();
    server.tokenAnswer = { status: 503, body: '{"error":"temporarily_unavailable"}' };
    await expect(mcp.callTool("whoami", {})).rejects.toMatchObject({ code: "AUTH_UNAVAILABLE" });
    server.tokenAnswer = undefined;
    expect((await mcp.callTool("whoami", {})).text).toBe("it is you");
    expect(requests("/authorize")).toBe(1);
  });

  test.each([
    ["too many requests", 429, '{"error":"rate_limited"}'],
    ["too many requests, as a page", 429, "<h1>Slow down</h1>"],
    ["an outage with status 400", 400, '{"error":"temporarily_unavailable"}'],
  ])("survives %s", async (_name, status, body) => {
    await using mcp = await connect(person());
    server.revokeAccess();
    server.tokenAnswer = { status, body };
    await expect(mcp.callTool("whoami", {})).rejects.toMatchObject({ code: "AUTH_UNAVAILABLE" });
    server.tokenAnswer = undefined;
    expect((await mcp.callTool("whoami", {})).text).toBe("it is you");
    expect(requests("/authorize")).toBe(1);
  });

  test("is dropped if the authorization server returns an error with status 200", async () => {
    await call(person());
    server.revokeAccess();
    server.tokenAnswer = { status: 200, body: '{"error":"bad_refresh_token"}' };
    await expect(call({})).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    const before = requests("/token");
    await expect(call({})).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(requests("/token")).toBe(before);
  });

  test.each([
    ["an outage", 503, '{"error":"server_error"}'],
    ["a refusal of the client", 401, '{"error":"invalid_client"}'],
    ["an answer without a token", 200, "{}"],
  ])(
    "that is still valid is used after %s, and refreshed again after a pause",
    async (_name, status, body) => {
      await using mcp = await connect(person());
      const whoami = async (): Promise<string> => (await mcp.callTool("whoami", {})).text;
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + (server.expiresIn - 28) * 1_000 });
      onTestFinished(() => void vi.useRealTimers());
      const before = requests("/token");
      server.tokenAnswer = { status, body };
      for (let calls = 0; calls < 3; calls += 1) expect(await whoami()).toBe("it is you");
      expect(requests("/token")).toBe(before + 1);
      vi.setSystemTime(Date.now() + 6_000);
      for (let calls = 0; calls < 3; calls += 1) expect(await whoami()).toBe("it is you");
      expect(requests("/token")).toBe(before + 2);
      server.tokenAnswer = undefined;
      vi.setSystemTime(Date.now() + 6_000);
      expect(await whoami()).toBe("it is you");
      expect(requests("/token")).toBe(before + 2);
      vi.setSystemTime(Date.now() + 6_000);
      expect(await whoami()).toBe("it is you");
      expect(requests("/token")).toBe(before + 3);
    },
  );

  test("is refreshed with the current client secret of the settings, which is not stored", async () => {
    server.clients.set("mine", ["http://127.0.0.1:1/callback"]);
    server.metadata = (json) => {
      json.token_endpoint_auth_methods_supported &&= ["client_secret_basic"];
    };
    await call({ ...person(), clientId: "mine", clientSecret: "first-secret" });
    expect(JSON.stringify(await store.list())).not.toContain("first-secret");
    server.revokeAccess();
    expect(await call({ clientId: "mine", clientSecret: "second-secret" })).toBe("it is you");
    expect(server.clientSecrets).toEqual(["first-secret", "second-secret"]);
    expect(JSON.stringify(await store.list())).not.toContain('-secret"');
  });

  test("whose login was revoked requires a new login, but keeps the registered client", async () => {
    await call(person());
    server.revokeAccess();
    server.revokeRefresh();
    await expect(call({})).rejects.toMatchObject({ code: "AUTH_REQUIRED" });
    expect(await call(person())).toBe("it is you");
    // The registered client is used again.
    expect(requests("/register")).toBe(1);
  });

  test("is not shown in errors", async () => {
    await using mcp = await connect(person());
    server.revokeAccess();
    server.revokeRefresh();
    server.redirect = (answer) => answer.searchParams.set("state", "other");
    const failed = (await mcp.callTool("whoami", {}).catch((error: unknown) => error)) as Error;
    const shown = JSON.stringify([
      failed,
      failed.message,
      failed.stack,
      (failed.cause as Error | undefined)?.message,
    ]);
    for (const secret of server.secrets) expect(shown).not.toContain(secret);
  });
});

describe("stored logins", () => {
  test("are encrypted, private, and used by other processes", async () => {
    const folder = join(await mkdtemp(join(tmpdir(), "logins-")), "logins");
    const [one, two] = [createFileStore(folder, undefined), createFileStore(folder, undefined)];
    await call({ ...person(), store: one });
    for (const name of await readdir(folder)) {
      const content = await readFile(join(folder, name), "latin1");
      for (const secret of server.secrets) expect(content).not.toContain(secret);
      expect((await stat(join(folder, name))).mode & 0o077).toBe(0);
    }
    // Both find their token refused at the same moment. The one that comes second uses the token of the first.
    const connections = await Promise.all([connect({ store: one }), connect({ store: two })]);
    server.revokeAccess();
    const before = requests("/token");
    const texts = await Promise.all(connections.map(async (mcp) => (await mcp.callTool("whoami", {})).text));
    expect(texts).toEqual(["it is you", "it is you"]);
    expect(requests("/token")).toBe(before + 1);
    await Promise.all(connections.map((mcp) => mcp.close()));
    expect(await two.list()).toMatchObject([{ key: { server: server.url, account: "", user: "" } }]);
  });

  test("that are damaged or swapped are refused with the file to remove", async () => {
    const folder = join(await mkdtemp(join(tmpdir(), "logins-")), "logins");
    const files = createFileStore(folder, undefined);
    await call({ ...person(), store: files, account: "a" });
    await call({ ...person(), store: files, account: "b" });
    const [first = "", second = ""] = (await readdir(folder)).filter((name) => name.endsWith(".login"));
    await writeFile(join(folder, first), await readFile(join(folder, second)));
    await expect(files.list()).rejects.toMatchObject({ code: "SECRET_STORE_FAILED" });
  });
});
