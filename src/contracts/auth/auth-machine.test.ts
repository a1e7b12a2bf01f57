// States of a login: unknown, unauthed, logging-in, authed, expired.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { driver } from "../../../test/helpers/contracts.ts";
import { PortolanError } from "../../errors/index.ts";
import type { DriverAuth } from "../../model/index.ts";
import { AuthMachine } from "./auth-machine.ts";
import type { AuthPorts } from "./login-steps.ts";
import { authKey, createAuthStore } from "./auth-store.ts";
import { isExpired } from "./expiry.ts";
import { fail, toFailure } from "../dispatch/failure.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";

const ann = { userId: "ann", workspaceId: "w" };
const annHere = { ...ann, interactive: true };

function machine(auth: DriverAuth, ports: AuthPorts = {}, hooks: DriverHooks = {}, file?: string) {
  const one = driver({ auth });
  const moves: string[] = [];
  const store = createAuthStore(file);
  const auths = new AuthMachine(store, { pollMs: 1, ...ports }, ({ from, to }) =>
    moves.push(`${from} > ${to}`),
  );
  return {
    moves,
    auths,
    store,
    one,
    ready: (context: object = ann, signal?: AbortSignal) => auths.ready(one, hooks, context, signal),
    state: () => auths.stateOf(one, hooks, ann),
  };
}

const login: DriverAuth = { login: { command: "tool login", interactive: true, requiresCallbackUrl: false } };
const exits = (codes: Record<string, number | null>, ran: string[] = []): AuthPorts => ({
  run: async (command) => {
    ran.push(command);
    return { exitCode: codes[command] ?? null };
  },
});

test("a driver without a login is always authed", async () => {
  const { auths, one, state } = machine({});
  expect(auths.needsLogin(one, {})).toBe(false);
  expect(state()).toBe("authed");
});

test("a caller without a terminal gets the login command immediately, and Portolan runs nothing", async () => {
  const ran: string[] = [];
  const { ready, state } = machine(login, exits({}, ran));
  expect(await ready()).toMatchObject({
    ok: false,
    failure: {
      error: {
        code: "auth_required",
        message: expect.stringContaining("portolan login files-mcp --user ann") as string,
        cause: { login: [{ driver: "files-mcp", login: login.login }] },
      },
    },
  });
  expect(ran).toEqual([]);
  expect(state()).toBe("unauthed");
});

test("an interactive caller logs in once for all waiting calls", async () => {
  const ran: string[] = [];
  const { ready, state, moves } = machine(login, exits({ "tool login": 0 }, ran));
  expect(await Promise.all([ready(annHere), ready(annHere), ready(annHere)])).toEqual([
    { ok: true },
    { ok: true },
    { ok: true },
  ]);
  expect(ran).toEqual(["tool login"]);
  expect(state()).toBe("authed");
  expect(moves).toEqual(["unknown > logging-in", "logging-in > authed"]);
  expect(await ready()).toEqual({ ok: true });
});

test("a failed login leaves the state unauthed", async () => {
  const { ready, state } = machine(login, exits({ "tool login": 3 }));
  expect(await ready(annHere)).toMatchObject({
    ok: false,
    failure: {
      error: { code: "auth_failed", message: expect.stringContaining("exited with code 3") as string },
    },
  });
  expect(state()).toBe("unauthed");
});

test("a call requires a login if Portolan cannot run the login command", async () => {
  expect(await machine(login).ready(annHere)).toMatchObject({
    failure: { error: { code: "auth_required" } },
  });
});

describe("the end of a login", () => {
  test("is detected by a command that Portolan repeats until it has the expected exit code", async () => {
    let asked = 0;
    const auth: DriverAuth = {
      login: {
        ...login.login,
        interactive: true,
        requiresCallbackUrl: false,
        completesWhen: { command: "tool whoami", exitCode: 7 },
      },
    };
    const { ready } = machine(auth, {
      run: async (command) => ({ exitCode: command === "tool login" ? 0 : (asked += 1) < 4 ? 1 : 7 }),
    });
    expect(await ready(annHere)).toEqual({ ok: true });
    expect(asked).toBe(4);
  });

  test("is detected by an HTTP request after Portolan opened a login page", async () => {
    const shown: string[] = [];
    const auth: DriverAuth = {
      login: {
        url: "https://example.com/in",
        interactive: true,
        requiresCallbackUrl: true,
        completesWhen: { http: { method: "GET", url: "https://example.com/me", expectStatus: 204 } },
      },
    };
    const { ready } = machine(auth, {
      openUrl: async (url, { needsCallback }) => {
        shown.push(`${url} ${needsCallback}`);
        return { ok: true };
      },
      http: async () => ({ status: shown.length > 0 ? 204 : 401 }),
    });
    expect(await ready(annHere)).toEqual({ ok: true });
    expect(shown).toEqual(["https://example.com/in true"]);
  });

  test("is detected by existing state files, without a login", async () => {
    const auth: DriverAuth = { ...login, state: { paths: ["/a", "/b"], env: [] } };
    expect(await machine(auth, { exists: async () => true }).ready()).toEqual({ ok: true });
    expect((await machine(auth, { exists: async (path) => path === "/a" }).ready()).ok).toBe(false);
  });

  test("is reported by the entry module", async () => {
    const { ready, state } = machine({}, {}, { login: async () => ({ ok: true }) });
    expect((await ready()).ok).toBe(false);
    expect((await ready(annHere)).ok).toBe(true);
    expect(state()).toBe("authed");
    const no = machine(login, {}, { login: async () => ({ ok: false, reason: "user_cancelled" }) });
    expect(await no.ready(annHere)).toMatchObject({
      failure: {
        error: { code: "auth_failed", message: expect.stringContaining("user cancelled") as string },
      },
    });
  });

  test("is reported by the entry module with the code of the callback URL", async () => {
    const codes: (string | null)[] = [];
    const hooks: DriverHooks = {
      login: async ({ showPage }) => {
        codes.push((await showPage("https://example.com/in")).searchParams.get("code"));
        return { ok: true };
      },
    };
    const callback = new URL("http://127.0.0.1:1/x?code=abc");
    const { ready } = machine({}, { openUrl: async () => ({ ok: true, callback }) }, hooks);
    expect(await ready(annHere)).toEqual({ ok: true });
    expect(codes).toEqual(["abc"]);
    const nowhere = machine({}, {}, hooks);
    expect(await nowhere.ready(annHere)).toMatchObject({ failure: { error: { code: "auth_required" } } });
  });

  test("is a failure if it is not detected in time", async () => {
    const auth: DriverAuth = {
      login: {
        command: "tool login",
        interactive: true,
        requiresCallbackUrl: false,
        completesWhen: { command: "tool whoami" },
      },
    };
    const { ready, state } = machine(auth, {
      ...exits({ "tool login": 0, "tool whoami": 1 }),
      loginTimeoutMs: 30,
    });
    expect((await ready(annHere)).ok).toBe(false);
    expect(state()).toBe("unauthed");
  });
});

describe("a refresh of a login", () => {
  const auth: DriverAuth = { ...login, refresh: { command: "tool refresh", everyMs: 1_000 } };
  test("runs when it is due, once for all waiting calls", async () => {
    let now = 0;
    const ran: string[] = [];
    const { ready } = machine(auth, {
      ...exits({ "tool login": 0, "tool refresh": 0 }, ran),
      now: () => now,
    });
    await ready(annHere);
    now = 999;
    await ready();
    expect(ran).toEqual(["tool login"]);
    now = 1_000;
    expect(await Promise.all([ready(), ready()])).toEqual([{ ok: true }, { ok: true }]);
    expect(ran).toEqual(["tool login", "tool refresh"]);
  });

  test("that fails leaves the state unauthed", async () => {
    let now = 0;
    const { ready, state } = machine(auth, {
      ...exits({ "tool login": 0, "tool refresh": 1 }),
      now: () => now,
    });
    await ready(annHere);
    now = 5_000;
    expect(await ready()).toMatchObject({ ok: false, failure: { error: { code: "auth_required" } } });
    expect(state()).toBe("unauthed");
  });

  test("renews an expired login", async () => {
    const ran: string[] = [];
    const { ready, auths, one, state } = machine(
      { ...auth, expiryDetect: "http_status:401" },
      exits({ "tool login": 0, "tool refresh": 0 }, ran),
    );
    await ready(annHere);
    auths.detectExpiry(
      one,
      {},
      ann,
      toFailure(new PortolanError("HTTP_ERROR", "no", { data: { status: 401 } })),
    );
    expect(state()).toBe("expired");
    expect(auths.routingState(one, {}, ann)).toBe("unknown");
    expect(await ready()).toEqual({ ok: true });
    expect(ran).toEqual(["tool login", "tool refresh"]);
  });
});

describe("an expired login", () => {
  test.each([
    ["exit_code:4", { exitCode: 4 }, true],
    ["exit_code:4", { exitCode: 5 }, false],
    ["http_status:401", { httpStatus: 401 }, true],
    ["exception:TokenExpired", { exception: "TokenExpired: log in again" }, true],
    ["exception:TokenExpired", { exception: "TokenExpiredSoon" }, false],
    [
      "header:WWW-Authenticate:Bearer error=expired",
      { headers: { "www-authenticate": "Bearer error=expired" } },
      true,
    ],
    ["http_status:401, exit_code:4", { exitCode: 4 }, true],
    ["moon:full", { exitCode: 4 }, false],
    [undefined, { httpStatus: 401 }, false],
  ])("is detected by %s in %j: %s", (detect, signs, expected) => {
    expect(isExpired(detect, signs)).toBe(expected);
  });

  test("is detected by the error text of the tool, and the call fails with auth_required", async () => {
    const { ready, auths, one, state } = machine(
      { ...login, expiryDetect: "exception:TokenExpired" },
      exits({ "tool login": 0 }),
    );
    await ready(annHere);
    const other = fail("upstream_error", "disk full");
    expect(auths.detectExpiry(one, {}, ann, other)).toBe(other);
    expect(
      auths.detectExpiry(one, {}, ann, fail("upstream_error", "TokenExpired: yesterday")).error.code,
    ).toBe("auth_required");
    expect(state()).toBe("expired");
  });
});

describe("the login state in the file", () => {
  async function file(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "portolan-auth-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return join(folder, "deep", "logins.json");
  }

  test("belongs to one driver, one workspace and one user", async () => {
    const path = await file();
    await machine(login, exits({ "tool login": 0 }), {}, path).ready(annHere);
    const later = machine(login, {}, {}, path);
    expect(await later.ready()).toEqual({ ok: true });
    expect((await later.ready({ ...ann, userId: "bob" })).ok).toBe(false);
    expect((await later.ready({ ...ann, workspaceId: "v" })).ok).toBe(false);
    expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({
      logins: { [authKey("files-mcp", "w", "ann")]: { state: "authed" } },
    });
  });

  test("ignores an unfinished login, and treats a damaged file as empty", async () => {
    const path = await file();
    await createAuthStore(path).set(authKey("files-mcp", "w", "ann"), { state: "logging-in", since: 1 });
    const later = machine(login, {}, {}, path);
    await later.store.reload();
    expect(later.state()).toBe("unauthed");
    await writeFile(path, "{ not json");
    expect((await machine(login, {}, {}, path).ready()).ok).toBe(false);
  });

  test("keeps the entries of several writers at the same time", async () => {
    const path = await file();
    const stores = [createAuthStore(path), createAuthStore(path)];
    await Promise.all(
      stores.flatMap((store, index) =>
        [1, 2, 3].map((n) => store.set(`${index}.${n}`, { state: "authed", since: n })),
      ),
    );
    const { logins } = JSON.parse(await readFile(path, "utf8")) as { logins: object };
    expect(Object.keys(logins)).toHaveLength(6);
  });
});

describe("a login that never completes", () => {
  const sign = { command: "tool whoami", exitCode: 0 };
  const signed = (more: object): DriverAuth => ({
    login: { interactive: false, requiresCallbackUrl: false, completesWhen: sign, ...more },
  });
  const message = (outcome: Awaited<ReturnType<AuthMachine["ready"]>>): string =>
    outcome.ok ? "" : outcome.failure.error.message;

  test("fails soon after its command ends, and names the expected result", async () => {
    const said: string[] = [];
    const ports = { ...exits({ "tool login": 0, "tool whoami": 1 }), lagMs: 30 };
    const { ready } = machine(signed({ command: "tool login" }), {
      ...ports,
      say: (text) => said.push(text),
    });
    expect(message(await ready(annHere))).toContain(
      'the login command has ended, but the login is not complete (expected: "tool whoami" exits with code 0)',
    );
    expect(said).toEqual(['files-mcp: waiting until "tool whoami" exits with code 0.']);
  });

  test("fails if the command that checks it cannot run", async () => {
    const run: AuthPorts["run"] = async (command) => {
      if (command === "tool login") return { exitCode: 0 };
      throw new PortolanError("SERVER_START_FAILED", "there is no program tool");
    };
    const { ready } = machine(signed({ command: "tool login" }), { run });
    expect(message(await ready(annHere))).toContain("exits with code 0: there is no program tool");
  });

  test("on a page fails after the login timeout", async () => {
    const openUrl: AuthPorts["openUrl"] = async () => ({ ok: true });
    const ports = { ...exits({ "tool whoami": 1 }), openUrl, lagMs: 1, loginTimeoutMs: 100 };
    const { ready } = machine(signed({ url: "https://example.com" }), ports);
    const begun = performance.now();
    expect(message(await ready(annHere))).toContain('expected: "tool whoami" exits with code 0');
    expect(performance.now() - begun).toBeGreaterThan(80);
  });
});
