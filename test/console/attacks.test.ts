// Attacks on the sign-in of the console, in a real browser that is signed in: other sites, other ports, rebinding, fixation, replay.

import { readFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startBrowser } from "../helpers/browser.ts";
import { startConsole, type TestConsole } from "../helpers/console.ts";
import { isThere, needs } from "../helpers/needs.ts";

/** The source of a function that tries everything a page can send. */
const ATTACK = readFileSync(new URL("../fixtures/attacking-page.txt", import.meta.url), "utf8");

let browser: Browser;
let served: TestConsole;
/** A web server of the attacker: `localhost` is another site than 127.0.0.1, and its port on 127.0.0.1 is the same site. */
let attacker: Server;
let attackerPort: number;
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  attacker = createServer((request, response) => {
    const headers: Record<string, string> = { "content-type": "text/html" };
    const cookie = new URL(request.url ?? "/", "http://x").searchParams.get("cookie");
    if (cookie !== null) headers["set-cookie"] = `${cookie}; Path=/`;
    response.writeHead(200, headers).end("<!doctype html><title>attacker</title>");
  });
  await new Promise<void>((resolve) => attacker.listen(0, "127.0.0.1", resolve));
  attackerPort = (attacker.address() as AddressInfo).port;
  served = await startConsole();
  if (isThere("chromium")) browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  await served.stop();
  attacker.closeAllConnections();
  attacker.close();
});

interface Head {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A request that no browser would send. */
function send({ method = "POST", path, headers = {}, body }: Head): Promise<{
  readonly status: number | undefined;
  readonly cookie: string | undefined;
  readonly headers: Record<string, unknown>;
}> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: "127.0.0.1",
        port: served.port,
        method,
        path,
        headers: { "content-type": "application/json", ...headers },
      },
      (response) => {
        response.destroy();
        const [cookie] = response.headers["set-cookie"] ?? [];
        resolve({ status: response.statusCode, cookie: cookie?.split(";")[0], headers: response.headers });
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

const own = (): string => `http://127.0.0.1:${served.port}`;

async function takeCookie(): Promise<string> {
  const body = JSON.stringify({ token: served.token });
  const { cookie } = await send({ path: "/console/api/sign-in", headers: { origin: own() }, body });
  return cookie ?? "";
}

describe("attacks in the browser", needs("chromium"), () => {
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
    await page.goto(served.link());
    await page.getByRole("heading", { name: "Servers", level: 1 }).waitFor();
  });

  afterEach(() => context.close());

  for (const [what, host] of [
    ["another site", "localhost"],
    ["another port of the same host", "127.0.0.1"],
  ] as const)
    it(`a page of ${what} can neither read nor do anything`, async () => {
      const refused: string[] = [];
      const off = served.gateway.events.on((event) => {
        if (event.type === "gateway.refused") refused.push(event.path);
      });
      const evil = await context.newPage();
      await evil.goto(`http://${host}:${attackerPort}/`);
      const results = (await evil.evaluate(`(${ATTACK})(${JSON.stringify(own())})`)) as Record<
        string,
        string
      >;
      expect({ ...results, form: "sent" }).toEqual({
        ...{ get: "failed", post: "failed", simple: "opaque", stream: "failed", form: "sent" },
      });
      off();
      expect(refused.length).toBeGreaterThanOrEqual(3);
      expect(served.gateway.workspace.hub.member("main").processes.restarts).toBe(0);
      // The page cannot be shown in a frame either.
      const { headers } = await send({ method: "GET", path: "/" });
      expect(String(headers["content-security-policy"])).toContain("frame-ancestors 'none'");
    });

  it("a cookie that another port sets does not sign in, and is replaced at the next sign-in", async () => {
    const evil = await context.newPage();
    await evil.goto(`http://127.0.0.1:${attackerPort}/?cookie=portolan_${served.port}=fixed`);
    await page.reload();
    await page.getByLabel("Token of the gateway").waitFor();
    await page.goto(served.link());
    await page.getByRole("heading", { name: "Servers", level: 1 }).waitFor();
    const cookies = await context.cookies();
    expect(cookies.find(({ name }) => name === `portolan_${served.port}`)?.value).not.toBe("fixed");
  });

  it("a sign-in link works once", async () => {
    const link = served.link();
    const second = await browser.newContext();
    const first = await context.newPage();
    await first.goto(link);
    await first.getByRole("heading", { name: "Servers", level: 1 }).waitFor();
    const replayed = await second.newPage();
    await replayed.goto(link);
    await replayed.getByText("This link was used before", { exact: false }).waitFor();
    await second.close();
  });
});

describe("attacks by hand-made requests", () => {
  it("a request with another Host header is refused, as in DNS rebinding", async () => {
    const cookie = await takeCookie();
    const host = `evil.example:${served.port}`;
    for (const path of ["/", "/console/api/snapshot", "/console/api/sign-in"])
      expect((await send({ path, headers: { host, origin: `http://${host}`, cookie } })).status).toBe(403);
  });

  it("a request needs a session, the Origin of the console, and JSON", async () => {
    const cookie = await takeCookie();
    const path = "/console/api/snapshot";
    const status = async (headers: Record<string, string>): Promise<number | undefined> =>
      (await send({ path, headers, body: "{}" })).status;
    expect(await status({ cookie, origin: own() })).toBe(200);
    expect(await status({ origin: own() })).toBe(401);
    expect(await status({ cookie })).toBe(403);
    expect(await status({ cookie, origin: `http://127.0.0.1:${served.port + 1}` })).toBe(403);
    expect(await status({ cookie, origin: `http://localhost:${served.port}` })).toBe(403);
    expect(await status({ cookie, origin: own(), "sec-fetch-site": "same-site" })).toBe(403);
    expect(await status({ cookie, origin: "null" })).toBe(403);
    expect(await status({ cookie, origin: own(), "content-type": "text/plain" })).toBe(400);
    expect(await status({ cookie: `${cookie}; ${cookie.split("=")[0]}=other`, origin: own() })).toBe(401);
  });

  it("every sign-in makes a new session, and signing out ends it", async () => {
    const [first, second] = [await takeCookie(), await takeCookie()];
    expect(first).not.toBe(second);
    const headers = { cookie: first, origin: own() };
    expect((await send({ path: "/console/api/sign-out", headers })).status).toBe(204);
    expect((await send({ path: "/console/api/snapshot", headers })).status).toBe(401);
    expect(
      (await send({ path: "/console/api/snapshot", headers: { ...headers, cookie: second } })).status,
    ).toBe(200);
  });

  it("the console cannot stop the gateway, and an unknown method is an error", async () => {
    const cookie = await takeCookie();
    const response = await fetch(`${own()}/console/api/stop`, {
      method: "POST",
      headers: { cookie, origin: own(), "content-type": "application/json" },
      body: "{}",
    });
    expect(await response.json()).toMatchObject({ error: { code: "NOT_SUPPORTED" } });
  });
});
