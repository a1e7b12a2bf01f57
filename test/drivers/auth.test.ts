// Logins to drivers with real programs: by command, page and file; other users, expiry and logout.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Contracts } from "../../src/contracts/index.ts";
import {
  openWorkspaceWith,
  type Person,
  type Workspace,
  type WorkspaceHubOptions,
} from "../../src/hub/index.ts";
import { driverWorkspace, type DriverWorkspace } from "../helpers/driver-workspaces.ts";
import { until } from "../helpers/connect.ts";
import { serve } from "../helpers/http.ts";
import { needs } from "../helpers/needs.ts";

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "portolan-home-"));
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_DATA_HOME", join(home, "data"));
  return () => {
    vi.unstubAllEnvs();
    rmSync(home, { recursive: true, force: true });
  };
});

interface Opened {
  readonly workspace: Workspace;
  readonly contracts: Contracts;
  /** The output of the contract, or its error code. */
  call(userId?: string): Promise<Record<string, unknown>>;
}

async function open({ folder }: DriverWorkspace, options: WorkspaceHubOptions = {}): Promise<Opened> {
  const workspace = await openWorkspaceWith(folder, { snapshots: false, watchFiles: false, ...options });
  onTestFinished(() => workspace.close());
  const contracts = (await workspace.contracts()) as Contracts;
  const call = async (userId?: string): Promise<Record<string, unknown>> => {
    const { result } = await contracts.call({ tool: "who-am-i", context: { userId } });
    return result.ok ? (result.value as Record<string, unknown>) : { ...result.error };
  };
  return { workspace, contracts, call };
}

const LOCAL_PAGE = `auth: { login: { url: "http://127.0.0.1:9/in" } }`;

function person(more: Partial<Person> = {}): Person & { readonly said: string[] } {
  const said: string[] = [];
  return { terminal: false, say: (text) => said.push(text), show: async () => true, said, ...more };
}

/** A login program that puts a token into its home. */
const LOGIN = `
import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
mkdirSync(homedir() + "/.whoami", { recursive: true });
writeFileSync(homedir() + "/.whoami/token", "token of " + (process.argv[2] ?? "somebody"));
`;

function withLogin(more = "", parts = {}): DriverWorkspace {
  const made = driverWorkspace({
    driver: `auth:
  state: { paths: ["~/.whoami/token"] }
  login: { cmd: "${process.execPath} login.mjs me" }
${more}`,
    ...parts,
  });
  made.write("login.mjs", LOGIN);
  return made;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const stateOf = (contracts: Contracts, userId?: string): string | undefined =>
  contracts.status({ userId })[0]?.auth;

describe("a login command", () => {
  test("runs on request, stores the login, and another process uses it", async () => {
    const made = withLogin();
    const served = await open(made);
    expect(await served.call()).toMatchObject({
      code: "auth_required",
      message: expect.stringContaining("portolan login who-mcp (or run ") as string,
      cause: { login: [{ driver: "who-mcp", login: { command: expect.any(String) as string } }] },
    });
    const other = await open(made, { person: person() });
    expect(await other.contracts.login("who-mcp")).toEqual({ ok: true });
    expect(readFileSync(join(home, ".whoami/token"), "utf8")).toBe("token of me");
    const file = join(home, "data/portolan/driver-auth.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8")).not.toContain("token of me");
    // The process in which the first call was refused.
    expect(await served.call()).toMatchObject({ token: "token of me" });
    const later = await open(made);
    expect(stateOf(later.contracts)).toBe("authed");
    expect(await later.call()).toMatchObject({ token: "token of me" });
  });

  test("also counts if the user ran it by hand; after a logout, the login file alone does not count", async () => {
    const made = withLogin();
    const served = await open(made);
    expect(await served.call()).toMatchObject({ code: "auth_required" });
    mkdirSync(join(home, ".whoami"));
    writeFileSync(join(home, ".whoami/token"), "by hand");
    await until(async () => (await served.call()).token === "by hand");
    const other = await open(made, { person: person() });
    expect(await other.contracts.logout("who-mcp")).toBe(true);
    await until(async () => (await served.call()).code === "auth_required");
    expect(await served.call()).toMatchObject({ code: "auth_required" });
    expect(existsSync(join(home, ".whoami/token"))).toBe(true);
    expect(await other.contracts.login("who-mcp")).toEqual({ ok: true });
    expect(await served.call()).toMatchObject({ token: "token of me" });
  });

  test("that is interactive does not run without a terminal", async () => {
    const made = withLogin("", {
      driver: `auth: { login: { cmd: "${process.execPath} login.mjs", interactive: true } }`,
    });
    const { contracts } = await open(made, { person: person() });
    expect(await contracts.login("who-mcp")).toMatchObject({
      ok: false,
      failure: { error: { code: "auth_required", message: expect.stringContaining("login.mjs") as string } },
    });
    expect(readdirSync(home)).toEqual(["data"]);
  });

  test("that fails reports its exit code and output", async () => {
    const made = withLogin();
    made.write("login.mjs", 'console.error("no such account"); process.exit(3);');
    const me = person();
    const { contracts } = await open(made, { person: me });
    expect(await contracts.login("who-mcp")).toMatchObject({
      ok: false,
      failure: {
        error: { code: "auth_failed", message: expect.stringContaining("exited with code 3") as string },
      },
    });
    expect(me.said.join()).toContain("no such account");
    expect(stateOf(contracts)).toBe("unauthed");
  });

  test("runs without a shell", async () => {
    const made = driverWorkspace({ driver: `auth: { login: { cmd: "touch ${home}/a; touch ${home}/b" } }` });
    const { contracts } = await open(made, { person: person() });
    expect(await contracts.login("who-mcp")).toMatchObject({ ok: false });
    expect(existsSync(join(home, "a"))).toBe(false);
  });

  test("for another caller stores the login in a separate home folder", async () => {
    const made = withLogin();
    const { contracts, call } = await open(made);
    expect(await contracts.login("who-mcp", { userId: "ann" })).toEqual({ ok: true });
    expect(existsSync(join(home, ".whoami"))).toBe(false);
    const ann = await call("ann");
    expect(ann).toMatchObject({ token: "token of me" });
    expect(ann.home).not.toBe(home);
    expect(await call("bob")).toMatchObject({
      code: "auth_required",
      message: expect.stringContaining("portolan login who-mcp --user bob") as string,
    });
    // A login of the owner does not count for other callers either.
    expect(await contracts.login("who-mcp")).toEqual({ ok: true });
    expect(await call()).toMatchObject({ home });
    expect(await call("bob")).toMatchObject({ code: "auth_required" });
  });
});

test("a new login replaces the server process that started before it", async () => {
  const made = withLogin(`  expiry: { detect: "exception:TokenExpired" }`);
  const served = await open(made);
  const other = await open(made, { person: person() });
  await other.contracts.login("who-mcp");
  const { pid } = await served.call();
  made.write("fails", "TokenExpired: yesterday");
  expect(await served.call()).toMatchObject({ code: "auth_required" });
  expect(stateOf(served.contracts)).toBe("expired");
  rmSync(made.path("fails"));
  await other.contracts.logout("who-mcp");
  await other.contracts.login("who-mcp");
  const again = await served.call();
  expect(again).toMatchObject({ token: "token of me" });
  expect(again.pid).not.toBe(pid);
  await until(() => !isAlive(pid as number));
});

describe("in the sandbox", needs("bubblewrap"), () => {
  beforeEach(() => void vi.stubEnv("PORTOLAN_SANDBOX", "enforce"));

  test("a login command can write only the declared paths, and the server reads them", async () => {
    const made = withLogin(`sandbox: { fs: { read: [.] } }`);
    mkdirSync(join(home, ".secret"));
    writeFileSync(join(home, ".secret/key"), "not yours");
    made.write(
      "login.mjs",
      `${LOGIN}
import { existsSync } from "node:fs";
if (existsSync(homedir() + "/.secret/key")) process.exit(9);
writeFileSync(homedir() + "/elsewhere", "forgotten");`,
    );
    const { contracts, call } = await open(made);
    expect(await contracts.login("who-mcp")).toEqual({ ok: true });
    expect(readFileSync(join(home, ".whoami/token"), "utf8")).toBe("token of me");
    expect(existsSync(join(home, "elsewhere"))).toBe(false);
    expect(await call()).toMatchObject({ token: "token of me" });
    expect(await contracts.login("who-mcp", { userId: "ann" })).toEqual({ ok: true });
    expect(await call("ann")).toMatchObject({ token: "token of me" });
  });

  test("a failed login leaves no files; a login file directly in the home folder is refused", async () => {
    const made = withLogin(`sandbox: { fs: { read: [.] } }`);
    made.write("login.mjs", "process.exit(1);");
    const { contracts } = await open(made);
    expect(await contracts.login("who-mcp")).toMatchObject({ ok: false });
    expect(existsSync(join(home, ".whoami"))).toBe(false);

    const wide = driverWorkspace({
      driver: `auth: { state: { paths: ["~/.whoamirc"] }, login: { cmd: "${process.execPath} login.mjs" } }`,
    });
    wide.write("login.mjs", LOGIN);
    const other = await open(wide);
    expect(await other.contracts.login("who-mcp")).toMatchObject({
      ok: false,
      failure: { error: { message: expect.stringContaining("~/.whoamirc") as string } },
    });
  });
});

describe("a login page", () => {
  /** Requests a page like a browser; fetch of Node sends other headers. */
  const get = (address: string, options: object = {}): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const sent = request(address, { agent: false, ...options }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on("error", reject).end();
    });

  const page = (more: string): DriverWorkspace =>
    driverWorkspace({ driver: `auth: { login: { url: "https://login.example.com/in?x=1", ${more} } }` });

  test("redirects to a callback address that works once, and only for a plain GET navigation", async () => {
    const wrong: (number | undefined)[] = [];
    let back = "";
    const me = person({
      show: async (url) => {
        const shown = new URL(url);
        expect([shown.origin, shown.searchParams.get("x")]).toEqual(["https://login.example.com", "1"]);
        back = shown.searchParams.get("redirect_uri") ?? "";
        expect(new URL(back).hostname).toBe("127.0.0.1");
        wrong.push(await get(new URL("/", back).href));
        wrong.push(await get(new URL("/callback", back).href));
        wrong.push(await get(back, { headers: { origin: "https://evil.example" } }));
        wrong.push(await get(back, { method: "POST" }));
        wrong.push(await get(back, { headers: { "sec-fetch-mode": "cors" } }));
        wrong.push(await get(back, { headers: { host: "evil.example" } }));
        void get(`${back}?code=one-time-code`);
        return true;
      },
    });
    const { contracts } = await open(page("requires_callback_url: true"), { person: me });
    expect(await contracts.login("who-mcp")).toEqual({ ok: true });
    expect(wrong).toEqual(Array(6).fill(404));
    await expect(get(back)).rejects.toThrow();
    expect(JSON.stringify(readFileSync(join(home, "data/portolan/driver-auth.json"), "utf8"))).not.toContain(
      "one-time-code",
    );
  });

  test("gives its code to the login command on stdin, not in arguments or variables", async () => {
    const made = driverWorkspace({
      driver: `auth:
  state: { paths: ["~/.whoami/"] }
  login: { url: "https://login.example.com/in", requires_callback_url: true, cmd: "${process.execPath} code.mjs" }`,
    });
    made.write(
      "code.mjs",
      `import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
mkdirSync(homedir() + "/.whoami", { recursive: true });
const code = new URL(readFileSync(0, "utf8").trim()).searchParams.get("code");
const isSeen = JSON.stringify([process.argv, process.env]).includes(code);
writeFileSync(homedir() + "/.whoami/token", isSeen ? "seen" : "token for " + code);`,
    );
    const me = person({
      show: async (url) => {
        void get(`${new URL(url).searchParams.get("redirect_uri") ?? ""}?code=one-time-code`);
        return true;
      },
    });
    const { contracts, call } = await open(made, { person: me });
    expect({ ...(await contracts.login("who-mcp")), said: me.said.slice(1) }).toEqual({ ok: true, said: [] });
    expect(await call()).toMatchObject({ token: "token for one-time-code" });
  });

  test("can report that the user cancelled", async () => {
    const me = person({
      show: async (url) => {
        const back = new URL(url).searchParams.get("redirect_uri");
        void get(`${back}?error=access_denied`);
        return true;
      },
    });
    const { contracts } = await open(page("requires_callback_url: true"), { person: me });
    expect(await contracts.login("who-mcp")).toMatchObject({
      ok: false,
      failure: {
        error: { code: "auth_failed", message: expect.stringContaining("user cancelled") as string },
      },
    });
  });

  test("is only named in the error if nobody can open it", async () => {
    const { contracts } = await open(page("requires_callback_url: true"));
    expect(await contracts.login("who-mcp")).toMatchObject({
      ok: false,
      failure: {
        error: {
          code: "auth_required",
          message: expect.stringContaining("https://login.example.com") as string,
        },
      },
    });
  });

  test("must use https, except on this machine", async () => {
    const shown: string[] = [];
    const me = person({ show: async (url) => shown.push(url) > 0 });
    const made = driverWorkspace({ driver: `auth: { login: { url: "http://login.example.com/in" } }` });
    const { workspace, contracts } = await open(made, { person: me });
    expect(contracts).toBeUndefined();
    expect(workspace.diagnostics).toContainEqual(
      expect.objectContaining({
        severity: "error",
        message: expect.stringContaining("auth.login.url is not https") as string,
      }),
    );
    const local = driverWorkspace({ driver: LOCAL_PAGE });
    await (await open(local, { person: me })).contracts.login("who-mcp");
    expect(shown).toEqual(["http://127.0.0.1:9/in"]);
  });
});

describe("a remote driver", () => {
  interface Remote {
    token: string;
    refreshes: number;
    status: number;
    headers: Record<string, string>;
  }

  /** Accepts one token at a time; a refresh creates a new one. */
  async function remote(more: string): Promise<{ made: DriverWorkspace; state: Remote; calls(): number }> {
    const state: Remote = { token: "old", refreshes: 0, status: 401, headers: {} };
    const server = await serve("legacy", {
      "tools/call": ({ json, response }) => {
        if (state.token === "good") return json({ content: [{ type: "text", text: '{"hello":"you"}' }] });
        response.writeHead(state.status, state.headers).end("no");
      },
    });
    onTestFinished(() => server.close());
    const made = driverWorkspace({
      server: `server: { kind: remote, url: "${server.url}" }\ntransport: http\nnetwork: { egress: ["${new URL(server.url).host}"] }`,
      driver: more,
    });
    const tool = made.read(".drivers/who-mcp/DRIVER.md").replace("tool_name: whoami", "tool_name: t");
    made.write(".drivers/who-mcp/DRIVER.md", tool);
    return { made, state, calls: () => server.count("tools/call") };
  }

  test.each([
    ["http_status:419", 419, {}],
    ["header:X-Login:expired", 400, { "x-login": "expired" }],
  ])("%s: refreshes once for all waiting calls, and repeats them", async (detect, status, headers) => {
    const { made, state } = await remote(
      `auth: { refresh: { cmd: "placeholder" }, expiry: { detect: "${detect}" } }`,
    );
    const file = ".drivers/who-mcp/DRIVER.md";
    made.write(
      file,
      made.read(file).replace("placeholder", "NODE refresh.mjs".replace("NODE", process.execPath)),
    );
    made.write("refresh.mjs", 'import { appendFileSync } from "node:fs"; appendFileSync("refreshed", "x");');
    Object.assign(state, { status, headers });
    const { call } = await open(made);
    const watching = setInterval(() => {
      if (existsSync(made.path("refreshed"))) state.token = "good";
    }, 5);
    onTestFinished(() => clearInterval(watching));
    expect(await Promise.all([call(), call(), call()])).toEqual([1, 2, 3].map(() => ({ hello: "you" })));
    expect(made.read("refreshed")).toBe("x");
  });

  test("a refresh that does not help ends with auth_required, and is not repeated at once", async () => {
    const { made, calls } = await remote(`auth: { refresh: { cmd: "${process.execPath} refresh.mjs" } }`);
    made.write("refresh.mjs", 'import { appendFileSync } from "node:fs"; appendFileSync("refreshed", "x");');
    const { call, contracts } = await open(made);
    expect(await call()).toMatchObject({ code: "auth_required" });
    expect([calls(), made.read("refreshed")]).toEqual([2, "x"]);
    expect(stateOf(contracts)).toBe("unauthed");
    expect(await call()).toMatchObject({ code: "auth_required" });
    expect(made.read("refreshed")).toBe("x");
  });

  test("a refresh command that fails ends with auth_required", async () => {
    const { made, calls } = await remote(`auth: { refresh: { cmd: "${process.execPath} refresh.mjs" } }`);
    made.write("refresh.mjs", "process.exit(1);");
    const { call } = await open(made);
    expect(await call()).toMatchObject({ code: "auth_required" });
    expect(calls()).toBe(1);
  });

  test("completes_when sends its request only to hosts that the driver may reach", async () => {
    const seen: string[] = [];
    const server = await serve("legacy", {
      GET: ({ request, response }) => {
        seen.push(request.url ?? "");
        response.writeHead(request.url === "/me" ? 204 : 302, { location: "/me" }).end();
      },
    });
    onTestFinished(() => server.close());
    const { origin } = new URL(server.url);
    const driver = (url: string, more = ""): DriverWorkspace =>
      driverWorkspace({
        driver: `${more}
auth: { login: { url: "https://login.example.com", completes_when: { http: { method: GET, url: "${url}", expect_status: 204 } } } }`,
      });
    const listed = await open(driver(`${origin}/me`, `network: { egress: ["${new URL(origin).host}"] }`));
    expect(await listed.call()).toMatchObject({ home });
    const redirected = await open(
      driver(`${origin}/other`, `network: { egress: ["${new URL(origin).host}"] }`),
    );
    expect(await redirected.call()).toMatchObject({ code: "auth_required" });
    expect(seen).toContain("/other");
    seen.length = 0;
    const unlisted = await open(driver(`${origin}/me`));
    expect(await unlisted.call()).toMatchObject({ code: "auth_required" });
    expect(seen).toEqual([]);
  });
});

describe("health check of a driver", () => {
  const health = (contracts: Contracts): string | undefined => contracts.status()[0]?.health;

  test("by a command", async () => {
    const made = driverWorkspace({
      driver: `health_check: { method: exec, cmd: "${process.execPath} health.mjs", expect_exit: 4, every: PT1S }`,
    });
    made.write("health.mjs", "process.exit(4);");
    const { contracts, call } = await open(made);
    await until(() => health(contracts) === "healthy");
    made.write("health.mjs", "console.error('the database is down'); process.exit(5);");
    await until(() => health(contracts) === "failed");
    expect(contracts.status()[0]?.healthReason).toMatch(/exited with code 5, not 4: the database is down$/);
    expect(await call()).toMatchObject({ code: "tool_unavailable" });
  });

  test("by an HTTP request, and by a ping", async () => {
    let status = 200;
    const server = await serve("legacy", { GET: ({ response }) => response.writeHead(status).end() });
    onTestFinished(() => server.close());
    const { host, origin } = new URL(server.url);
    const asked = await open(
      driverWorkspace({
        driver: `network: { egress: ["${host}"] }
health_check: { method: http, http: { method: GET, url: "${origin}/health" }, every: PT1S }`,
      }),
    );
    const made = driverWorkspace({ driver: "health_check: { method: ping, every: PT1S }" });
    const pinged = await open(made);
    await until(() => health(asked.contracts) === "healthy" && health(pinged.contracts) === "healthy");
    status = 503;
    made.write("sick", "");
    await until(() => health(asked.contracts) === "failed" && health(pinged.contracts) === "failed");
  });
});
