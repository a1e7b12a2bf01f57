// Callers of one gateway at a server behind OAuth: each has its own login, gets the link to it, and sees nothing of the others.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { HubEvent } from "../../src/hub/index.ts";
import type { OAuthSettings } from "../../src/model/index.ts";
import { openPage, startBrowser } from "../helpers/browser.ts";
import { portolan, start, temporaryFolder } from "../helpers/cli.ts";
import { HttpBrowser, type Shown } from "../helpers/http-browser.ts";
import { needs } from "../helpers/needs.ts";
import { type OAuthServer, startOAuthServer } from "../helpers/oauth-server.ts";
import { type Loose, type Message, RawLegacy, RawModern } from "../helpers/raw-clients.ts";
import { openTestGateway, type TestGateway, TOKEN } from "../helpers/raw-gateways.ts";
import { filesBelow } from "../helpers/workspace.ts";

const CALLERS = ["alice", "bob", "carol"].map((name) => ({ name, token: tokenOf(name) }));
const WHOAMI = "mcp_notes_whoami";

let server: OAuthServer;
beforeEach(async () => {
  server = await startOAuthServer();
});
afterEach(() => server.close());

function tokenOf(name: string): string {
  return `the-gateway-token-of-${name}`;
}

function open(auth: OAuthSettings = { perCaller: true }): Promise<TestGateway> {
  const endpoint = { transport: "http", url: server.url, auth } as const;
  return openTestGateway([{ alias: "notes", endpoint }], { callers: CALLERS });
}

test.each(["0.0.0.0", "::"])(
  "a gateway at %s without public_url gives no login link, and warns about that",
  async (host) => {
    const endpoint = { transport: "http", url: server.url, auth: { perCaller: true } } as const;
    const servers = [{ alias: "notes", endpoint }];
    const { url, diagnostics } = await openTestGateway(servers, { callers: CALLERS, host });
    expect(diagnostics).toMatchObject([
      { severity: "warning", hint: expect.stringContaining("gateway.public_url") as string },
    ]);
    const local = url.replace(/\/\/.*:/, "//127.0.0.1:");
    const client = await RawLegacy.open(local, { token: tokenOf("alice"), capabilities: CAPABILITIES });
    const shown = JSON.stringify(await client.tool("mcp_notes_login"));
    expect(shown).toContain("AUTH_REQUIRED");
    expect(shown).not.toContain("/login/");
  },
);

/** A person at a browser: proves to be the caller with its gateway token, and logs in at the server as `user`. */
async function logIn(
  link: string,
  { caller, user = caller }: { caller: string; user?: string },
): Promise<Shown> {
  const browser = new HttpBrowser();
  browser.setCookie(new URL(server.url).origin, "as", user);
  await browser.open(link);
  return browser.submit(link, { proof: "token", token: tokenOf(caller) });
}

/** Answers URL elicitations by logging in, and keeps their links. */
function person(caller: string): { readonly links: string[]; readonly answer: (asked: Loose) => object } {
  const links: string[] = [];
  return {
    links,
    answer: ({ params }) => {
      links.push(String(params.url));
      void logIn(String(params.url), { caller });
      return { action: "accept" };
    },
  };
}

const text = ({ result, error }: Message): unknown => result?.content?.[0]?.text ?? error;
const names = ({ result }: Message): string[] => result.tools.map(({ name }: { name: string }) => name);
const CAPABILITIES = { elicitation: { url: {} } };

test("a server that a person stopped is stopped for all callers, until it is restarted", async () => {
  const { url, gateway } = await open();
  const client = new RawModern(url, {
    ...{ token: tokenOf("alice"), capabilities: CAPABILITIES, answer: person("alice").answer },
  });
  expect(text(await client.tool(WHOAMI))).toBe("it is alice");
  const { hub } = gateway.workspace;
  await hub.member("notes").stopOnRequest();
  expect(names(await client.ask("tools/list"))).toEqual([]);
  const { result, error } = await client.ask("tools/call", { name: WHOAMI, arguments: {} });
  expect(result).toBeUndefined();
  expect(error?.message).toContain("notes");
  expect(hub.member("notes").state).toBe("stopped");
  await gateway.workspace.restart("notes");
  expect(text(await client.tool(WHOAMI))).toBe("it is alice");
});

describe.each(["legacy", "modern"] as const)("a %s server", (era) => {
  beforeEach(() => {
    server.era = era;
  });

  test("a modern client gets the link by input_required, and the call resumes after the login", async () => {
    const { url } = await open();
    const alice = person("alice");
    const client = new RawModern(url, {
      token: tokenOf("alice"),
      capabilities: CAPABILITIES,
      answer: alice.answer,
    });
    expect(names(await client.ask("tools/list"))).toEqual(["mcp_notes_login"]);
    const alone = new RawModern(url, {
      ...{ token: tokenOf("alice"), capabilities: {}, path: "/servers/notes/mcp" },
    });
    expect((await alone.ask("server/discover")).result.capabilities.tools).toEqual({ listChanged: true });
    expect(names(await alone.ask("tools/list"))).toEqual(["login"]);

    const first = await client.ask("tools/call", { name: WHOAMI, arguments: {} });
    const [[key, request] = ["", {}]] = Object.entries<Loose>(first.result.inputRequests);
    expect(first.result.resultType).toBe("input_required");
    expect(request).toMatchObject({ method: "elicitation/create", params: { mode: "url" } });
    expect(request.params).not.toHaveProperty("elicitationId");
    expect(request.params.url).toMatch(new RegExp(`^${url}/login/[\\w-]{43}$`));
    expect(key).toBe("login-notes");

    expect(text(await client.tool(WHOAMI))).toBe("it is alice");
    // The same link for both calls.
    expect(new Set(alice.links)).toEqual(new Set([request.params.url]));
    expect(names(await client.ask("tools/list"))).toEqual(["mcp_notes_notes_of_alice", WHOAMI]);
  });

  test("a legacy client gets the link by elicitation, and the call resumes after the login", async () => {
    const { url } = await open();
    const alice = person("alice");
    const client = await RawLegacy.open(url, {
      ...{ token: tokenOf("alice"), capabilities: CAPABILITIES },
      answer: alice.answer,
    });
    const stream = await client.listen();
    expect(text(await client.tool(WHOAMI))).toBe("it is alice");
    expect(client.asked).toMatchObject([
      { method: "elicitation/create", params: { mode: "url", url: alice.links[0] } },
    ]);
    const elicitationId: unknown = client.asked[0]?.params.elicitationId;
    const complete = await stream.find(({ method }) => method === "notifications/elicitation/complete");
    expect(complete.params).toEqual({ elicitationId });
    await stream.find(({ method }) => method === "notifications/tools/list_changed");
  });

  test("two callers never see each other's data, and a third gets the link", async () => {
    const { url, gateway } = await open();
    const events: HubEvent[] = [];
    gateway.events.on((event) => void events.push(event));
    const clients = new Map<string, [RawModern, RawLegacy]>();
    for (const name of ["alice", "bob"]) {
      const options = { token: tokenOf(name), capabilities: CAPABILITIES, answer: person(name).answer };
      clients.set(name, [new RawModern(url, options), await RawLegacy.open(url, options)]);
    }
    for (const [name, [modern]] of clients) expect(text(await modern.tool(WHOAMI))).toBe(`it is ${name}`);
    // Both at once, in both eras.
    const rounds = Array.from({ length: 20 }, () => [...clients]).flat();
    await Promise.all(
      rounds.flatMap(([name, both]) =>
        both.map(async (client) => expect(text(await client.tool(WHOAMI))).toBe(`it is ${name}`)),
      ),
    );
    for (const [name, both] of clients)
      for (const client of both) {
        const listed = client instanceof RawModern ? client.ask("tools/list") : client.call("tools/list");
        expect(names(await listed)).toEqual([`mcp_notes_notes_of_${name}`, WHOAMI]);
        expect((await listed).result.cacheScope ?? "private").toBe("private");
      }
    expect(server.mixed).toBe(0);
    expect([...server.users.values()].toSorted()).toEqual(["alice", "bob"]);

    // Carol's client has no elicitation.
    const carol = new RawModern(url, { token: tokenOf("carol"), capabilities: {} });
    expect(names(await carol.ask("tools/list"))).toEqual(["mcp_notes_login"]);
    for (const tool of [WHOAMI, "mcp_notes_notes_of_alice", "mcp_notes_login"]) {
      const { error } = await carol.ask("tools/call", { name: tool, arguments: {} });
      expect(error?.data).toMatchObject({ code: "AUTH_REQUIRED", server: "notes" });
      expect(error?.message).toContain(error?.data.url);
    }
    // The owner of the machine has no login either, and does not use those of the callers.
    const owner = new RawModern(url, { token: TOKEN, capabilities: {} });
    const { error } = await owner.ask("tools/call", { name: WHOAMI, arguments: {} });
    expect(error?.data.code).toBe("AUTH_REQUIRED");
    expect(gateway.workspace.hub.toolNames().size).toBe(0);
    const about = events
      .filter(({ type }) => type === "mcp.tools_changed")
      .map((event) => JSON.stringify(event));
    for (const event of about) expect(event).toMatch(/"caller":"(\w+)".*notes_of_\1/);
  });
});

test("a login link works only for its caller, in one browser, and once", async () => {
  const { url } = await open();
  const client = new RawModern(url, { token: tokenOf("alice"), capabilities: {} });
  const link = (await client.ask("tools/call", { name: WHOAMI, arguments: {} })).error?.data.url as string;
  const origin = new URL(link).origin;

  // Bob opens the link of Alice: his token does not fit, and he is not sent to the login.
  const asBob = await logIn(link, { caller: "bob" });
  expect(asBob).toMatchObject({ status: 403, url: { href: link } });
  expect(asBob.text).toContain("This is not the token of alice.");
  // A page of another site sends the form with the right token.
  const browser = new HttpBrowser();
  const forged = await browser.submit(link, { token: tokenOf("alice") }, "https://attacker.example");
  expect(forged.status).toBe(403);
  expect(browser.cookies(origin)).toEqual([]);
  // A forged proof.
  browser.setCookie(
    origin,
    "portolan-login-caller",
    `${Buffer.from("alice").toString("base64url")}.9999999999999.x`,
  );
  expect((await browser.open(link)).text).toContain("First confirm your identity.");
  expect((await browser.open(link)).headers.get("x-frame-options")).toBe("DENY");

  // The answer of the login page comes back to another browser.
  const back = new Promise<URL>((resolve) => {
    server.redirect = (answer) => {
      resolve(new URL(answer));
      answer.pathname = "/login/nothing";
    };
  });
  await logIn(link, { caller: "alice" });
  const answer = await back;
  const stolen = await new HttpBrowser().open(answer);
  expect(stolen.text).toContain("This login cannot be continued in this browser");
  expect(server.count.get("/token")).toBeUndefined();

  server.redirect = () => {};
  const done = await logIn(link, { caller: "alice" });
  expect(done.text).toContain("You are logged in to notes");
  expect((await new HttpBrowser().open(link)).status).toBe(404);
  expect(text(await client.tool(WHOAMI))).toBe("it is alice");
});

test("a denied login ends the call with an error", async () => {
  const { url } = await open();
  server.redirect = (answer) => {
    answer.searchParams.delete("code");
    answer.searchParams.set("error", "access_denied");
  };
  const client = await RawLegacy.open(url, {
    ...{ token: tokenOf("alice"), capabilities: CAPABILITIES },
    answer: person("alice").answer,
  });
  expect((await client.tool(WHOAMI)).error).toMatchObject({
    message: "the login was denied, by the person or by the authorization server",
    data: { code: "AUTH_FAILED" },
  });
  const declining = await RawLegacy.open(url, {
    ...{ token: tokenOf("alice"), capabilities: CAPABILITIES },
    answer: () => ({ action: "decline" }),
  });
  expect((await declining.tool(WHOAMI)).error?.message).toMatch(
    /^notes requires a login, which was declined: open http/,
  );
});

test("a legacy client that cannot get an elicitation during a call gets URLElicitationRequired", async () => {
  const { url } = await open();
  const client = await RawLegacy.open(url, { token: tokenOf("alice"), capabilities: CAPABILITIES });
  const stream = await client.listen();
  const exchange = client.send(
    "POST",
    { ...client.headers, accept: "application/json" },
    { jsonrpc: "2.0", id: 9, method: "tools/call", params: { name: WHOAMI, arguments: {} } },
  );
  const { error } = await exchange.answer(9);
  expect(error).toMatchObject({ code: -32_042, data: { elicitations: [{ mode: "url" }] } });
  const { url: link, elicitationId } = (error?.data.elicitations[0] ?? {}) as Record<string, string>;
  await logIn(link ?? "", { caller: "alice" });
  const complete = await stream.find(({ method }) => method === "notifications/elicitation/complete");
  expect(complete.params).toEqual({ elicitationId });
  expect(text(await client.tool(WHOAMI))).toBe("it is alice");
});

test("a server that lists its tools without a login requires the login at the call", async () => {
  server.listsFreely = true;
  const { url } = await open();
  const options = { token: tokenOf("bob"), capabilities: CAPABILITIES, answer: person("bob").answer };
  const client = new RawModern(url, options);
  expect(names(await client.ask("tools/list"))).toEqual([WHOAMI]);
  expect(text(await client.tool(WHOAMI))).toBe("it is bob");
  await vi.waitFor(async () =>
    expect(names(await client.ask("tools/list"))).toEqual(["mcp_notes_notes_of_bob", WHOAMI]),
  );
});

test("a login survives a restart of the gateway, and is required again after its revocation", async () => {
  const first = await open();
  const options = { token: tokenOf("alice"), capabilities: CAPABILITIES, answer: person("alice").answer };
  expect(text(await new RawModern(first.url, options).tool(WHOAMI))).toBe("it is alice");
  await first.gateway.close();
  const { url } = await open();
  const quiet = new RawModern(url, { token: tokenOf("alice"), capabilities: {} });
  expect(text(await quiet.tool(WHOAMI))).toBe("it is alice");
  server.revokeAccess();
  server.revokeRefresh();
  const { error } = await quiet.ask("tools/call", { name: WHOAMI, arguments: {} });
  expect(error?.data).toMatchObject({ code: "AUTH_REQUIRED" });
  expect(text(await new RawModern(url, options).tool(WHOAMI))).toBe("it is alice");
});

test("a logout in another process ends the use of the token at once", async () => {
  const { url } = await open();
  for (const caller of ["alice", "bob"]) {
    const options = { token: tokenOf(caller), capabilities: CAPABILITIES, answer: person(caller).answer };
    expect(text(await new RawModern(url, options).tool(WHOAMI))).toBe(`it is ${caller}`);
  }
  const cwd = temporaryFolder();
  writeFileSync(
    join(cwd, "portolan.yaml"),
    `servers:\n  notes: { url: "${server.url}", auth: { per_caller: true } }\n`,
  );
  const env = { XDG_DATA_HOME: process.env["XDG_DATA_HOME"] ?? "", DBUS_SESSION_BUS_ADDRESS: "" };
  // This authorization server does not end a token that is revoked.
  const { code, out } = await portolan(["logout", "notes", "--user", "alice"], { cwd, env });
  expect([code, JSON.parse(out)]).toEqual([0, { server: "notes", loggedOut: true }]);
  const alice = new RawModern(url, { token: tokenOf("alice"), capabilities: {} });
  const { error } = await alice.ask("tools/call", { name: WHOAMI, arguments: {} });
  expect(error?.data).toMatchObject({ code: "AUTH_REQUIRED", server: "notes" });
  const bob = new RawModern(url, { token: tokenOf("bob"), capabilities: {} });
  expect(text(await bob.tool(WHOAMI))).toBe("it is bob");
});

test("the callers share one registered client, also when they log in at the same moment", async () => {
  const { url } = await open();
  await Promise.all(
    ["alice", "bob", "carol"].map(async (caller) => {
      const options = { token: tokenOf(caller), capabilities: CAPABILITIES, answer: person(caller).answer };
      expect(text(await new RawModern(url, options).tool(WHOAMI))).toBe(`it is ${caller}`);
    }),
  );
  expect(server.count.get("/register")).toBe(1);
  expect(server.mixed).toBe(0);
});

test("a client that the authorization server forgot is registered again", async () => {
  const { url } = await open();
  const call = (caller: string): Promise<Message> => {
    const options = { token: tokenOf(caller), capabilities: CAPABILITIES, answer: person(caller).answer };
    return new RawModern(url, options).tool(WHOAMI);
  };
  expect(text(await call("alice"))).toBe("it is alice");
  server.forgetClients();
  expect((await call("bob")).error).toMatchObject({ data: { code: "AUTH_FAILED" } });
  expect(text(await call("bob"))).toBe("it is bob");
  expect(server.count.get("/register")).toBe(2);
});

test("no token, code or verifier leaves the store of logins", async () => {
  const { url, gateway, diagnostics } = await open();
  const seen: unknown[] = [];
  gateway.events.on((event) => void seen.push(event), { calls: true });
  const replies: Message[] = [];
  for (const name of ["alice", "bob"]) {
    const options = { token: tokenOf(name), capabilities: CAPABILITIES, answer: person(name).answer };
    const client = new RawModern(url, options);
    replies.push(await client.tool(WHOAMI), await client.ask("tools/list"));
  }
  server.revokeAccess();
  server.revokeRefresh();
  const client = new RawModern(url, { token: tokenOf("alice"), capabilities: {} });
  replies.push(await client.ask("tools/call", { name: WHOAMI, arguments: {} }));
  const written = filesBelow(process.env["XDG_DATA_HOME"] ?? "").map((file) => file.text);
  const all = [JSON.stringify([seen, replies, diagnostics, gateway.diagnostics]), ...written].join("\n");
  expect(server.secrets.size).toBeGreaterThan(6);
  for (const secret of server.secrets) expect(all).not.toContain(secret);
  for (const { token } of CALLERS) expect(JSON.stringify([seen, replies, diagnostics])).not.toContain(token);
});

test("a person logs in with a real browser", needs("chromium"), async () => {
  const { url } = await open();
  const client = new RawModern(url, { token: tokenOf("alice"), capabilities: {} });
  const link = (await client.ask("tools/call", { name: WHOAMI, arguments: {} })).error?.data.url as string;
  await using browser = await startBrowser();
  const page = await openPage(browser, link);
  await page.context().addCookies([{ name: "as", value: "alice", url: server.url }]);
  await page.getByLabel("Token of alice").fill(tokenOf("alice"));
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: "You are logged in to notes" }).waitFor();
  expect(text(await client.tool(WHOAMI))).toBe("it is alice");
  // The browser has a cookie for the caller from now on.
  server.revokeAccess();
  server.revokeRefresh();
  const again = (await client.ask("tools/call", { name: WHOAMI, arguments: {} })).error?.data.url as string;
  await page.goto(again);
  await page.getByRole("button", { name: "Continue to notes" }).click();
  await page.getByRole("heading", { name: "You are logged in to notes" }).waitFor();
});

test("portolan serve writes no secret to its log, its files or the list of processes", async () => {
  const cwd = temporaryFolder();
  const homes = { XDG_DATA_HOME: join(cwd, "data"), XDG_STATE_HOME: join(cwd, "state") };
  const env = {
    ...homes,
    XDG_CONFIG_HOME: join(cwd, "config"),
    DBUS_SESSION_BUS_ADDRESS: "",
    ALICE: tokenOf("alice"),
  };
  writeFileSync(
    join(cwd, "portolan.yaml"),
    `servers:
  notes:
    url: ${server.url}
    auth: { per_caller: true }
gateway:
  port: 0
  callers: [{ name: alice, token: "\${ALICE}" }]
`,
  );
  const serve = start(["serve", "--verbose"], { cwd, env });
  const url = await vi.waitFor(() => {
    const found = /at (http:\S+)\/mcp/.exec(serve.err())?.[1];
    if (found === undefined) throw new Error(`not yet: ${serve.err()}`);
    return found;
  }, 30_000);
  const options = { token: tokenOf("alice"), capabilities: CAPABILITIES, answer: person("alice").answer };
  expect(text(await new RawModern(url, options).tool(WHOAMI))).toBe("it is alice");
  expect(text(await (await RawLegacy.open(url, options)).tool(WHOAMI))).toBe("it is alice");
  server.revokeAccess();
  expect(text(await new RawModern(url, options).tool(WHOAMI))).toBe("it is alice");
  const processes = commandLines();
  serve.child.kill("SIGTERM");
  const { out, err } = await serve.done;
  expect(err).toContain("for alice");
  const written = filesBelow(cwd).map((file) => file.text);
  for (const secret of [...server.secrets, tokenOf("alice")])
    for (const shown of [out, err, processes, ...written]) expect(shown).not.toContain(secret);
});

/** The command lines of all processes, where the system shows them as files. */
function commandLines(): string {
  let pids: string[] = [];
  try {
    pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return "";
  }
  const lines = pids.map((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8");
    } catch {
      return "";
    }
  });
  return lines.join("\n");
}
