// MCP Apps in the console, in a real browser: a public app is shown, and a hostile one stays in its frame.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Frame, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findViolations } from "../helpers/accessibility.ts";
import { startBrowser } from "../helpers/browser.ts";
import { startConsole, type TestConsole } from "../helpers/console.ts";
import { isThere, needs } from "../helpers/needs.ts";

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const BUDGET = path("../../node_modules/@modelcontextprotocol/server-budget-allocator/dist/index.js");

let browser: Browser;
let served: TestConsole;
let attacker: Server;
/** Requests that reached the attacker. */
const reached: string[] = [];
let context: BrowserContext;
let page: Page;

beforeAll(async () => {
  attacker = createServer((request, response) => {
    reached.push(String(request.url));
    response.writeHead(200, { "access-control-allow-origin": "*" }).end("taken");
  });
  await new Promise<void>((resolve) => attacker.listen(0, "127.0.0.1", resolve));
  const { port } = attacker.address() as AddressInfo;
  const addresses = { attacker: `http://127.0.0.1:${port}`, console: "http://127.0.0.1:1" };
  served = await startConsole({
    budget: { command: process.execPath, args: [BUDGET, "--stdio"], sandbox: "off" },
    hostile: {
      command: process.execPath,
      args: [
        path("../fixtures/app-server.mjs"),
        path("../fixtures/hostile-app.html"),
        JSON.stringify(addresses),
      ],
    },
  });
  if (isThere("chromium")) browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  await served?.stop();
  attacker.closeAllConnections();
  attacker.close();
});

async function signIn(link: string): Promise<void> {
  await page.goto(link);
  await page.getByRole("heading", { name: "Servers", level: 1 }).waitFor();
}

async function callTool(name: string): Promise<void> {
  await page.evaluate(`location.hash = "#/tools/${name}"`);
  await page.getByRole("button", { name: "Call", exact: true }).click();
}

/** The inner frame, when the app has filled the element. */
async function findApp(selector: string): Promise<Frame> {
  const inner = page.frameLocator("iframe.app-frame").frameLocator("iframe");
  await inner.locator(selector).first().waitFor();
  const found = page.frames().find((frame) => frame.parentFrame()?.parentFrame() === page.mainFrame());
  if (found === undefined) throw new Error("the app has no frame");
  return found;
}

/** The result of a call of a tool of the fixture, as the server saw it. */
async function readCounts(): Promise<{ counts: Record<string, number>; capabilities: object }> {
  const { workspace } = served.gateway;
  const params = { name: "mcp_hostile_count", arguments: {} };
  const { structuredContent } = await workspace.hub.request({ method: "tools/call", params });
  return structuredContent as { counts: Record<string, number>; capabilities: object };
}

describe("apps", needs("chromium"), () => {
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
  });

  afterEach(() => context.close());

  it("shows a public app with the result of its tool, on another host name, without the cookie", async () => {
    const cookies: (string | undefined)[] = [];
    page.on("request", (request) => {
      if (new URL(request.url()).hostname === "localhost")
        void request.allHeaders().then(({ cookie }) => cookies.push(cookie));
    });
    await signIn(served.link());
    await callTool("mcp_budget_get-budget-data");
    await page.getByRole("status").getByText("done").waitFor();
    const app = await findApp("canvas");
    await expect.poll(() => app.locator("body").innerText()).toMatch(/Marketing/);
    const outer = await page.locator("iframe.app-frame").getAttribute("src");
    expect(new URL(outer ?? "").hostname).toBe("localhost");
    expect(await app.evaluate("document.referrer + location.href")).toBe("about:srcdoc");
    await expect.poll(() => cookies.length).toBeGreaterThan(1);
    expect(cookies.filter(Boolean)).toEqual([]);
    const height = async (): Promise<number> =>
      (await page.locator("iframe.app-frame").boundingBox())?.height ?? 0;
    await expect.poll(height).toBeGreaterThan(310);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await findViolations(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    }
  });

  it("keeps a hostile app in its frame", async () => {
    await signIn(served.link());
    await callTool("mcp_hostile_show");
    const app = await findApp("#tried:not(:empty)");
    const tried = JSON.parse(await app.locator("#tried").innerText()) as Record<string, string>;
    expect(tried).toEqual({
      ...{ fetch: "TypeError", console: "TypeError", parent: "SecurityError", top: "SecurityError" },
      ...{ topLocation: "SecurityError", cookie: "SecurityError", storage: "SecurityError", popup: "null" },
      ...{ eval: "EvalError", own: "answered", read: "answered" },
      model: 'apps of hostile may not call the tool "secret"',
      other: 'apps of hostile may not call the tool "mcp_main_echo"',
      sampling: "the console does not support sampling/createMessage",
    });
    expect(await app.locator("#input").innerText()).toBe('{"arguments":{}}');
    await expect.poll(() => page.locator("iframe.app-frame").getAttribute("style")).toBe("height: 432px;");
    await page.getByText("Not allowed: https://evil.example; script-src *, http://127.0.0.1:1.").waitFor();
    await page.getByText("The app can connect only to https://api.example.com.").waitFor();
    // A forged message has called nothing, and the document was not replaced.
    const { counts } = await readCounts();
    expect(counts).toEqual({ show: 1, note: 1, count: 1 });
    await app.locator("#leave").click();
    await page.getByRole("button", { name: "Close the app" }).click();
    await page.getByText("The app is closed.").waitFor();
    await expect.poll(() => page.locator("iframe").count()).toBe(0);
    expect(page.url()).toContain(served.url);
    expect(context.pages()).toHaveLength(1);
    expect(reached).toEqual([]);
  });

  it("opens a link only after a confirmation, and refuses a script link", async () => {
    await signIn(served.link());
    await callTool("mcp_hostile_show");
    const app = await findApp("#tried:not(:empty)");
    await app.locator("#script-link").click();
    await expect.poll(() => app.locator("#links").innerText()).toBe('["answered"]');
    await app.locator("#link").click();
    await page.getByText("https://example.com/page").waitFor();
    await page.getByRole("button", { name: "Do not open" }).click();
    await expect.poll(() => app.locator("#links").innerText()).toBe('"answered"');
    expect(context.pages()).toHaveLength(1);
    await app.locator("#link").click();
    const opened = context.waitForEvent("page");
    await page.getByRole("button", { name: "Open in a new tab" }).click();
    expect(await (await opened).evaluate("String(opener)")).toBe("null");
  });

  it("uses 127.0.0.1 for the frame of a console at localhost, and the policy names only that host", async () => {
    const { url } = served;
    const response = await fetch(url);
    const policy = String(response.headers.get("content-security-policy"));
    const frames = /frame-src ([^;]+)/.exec(policy)?.[1] ?? "";
    expect(frames).toMatch(/^http:\/\/localhost:\d+$/);
    await signIn(served.link().replace("127.0.0.1", "localhost"));
    await callTool("mcp_hostile_show");
    await findApp("#tried:not(:empty)");
    const src = (await page.locator("iframe.app-frame").getAttribute("src")) ?? "";
    expect(new URL(src).hostname).toBe("127.0.0.1");
    expect(new URL(src).port).toBe(new URL(frames).port);
  });

  it("shows app-only tools to clients that support apps, and hides them from other clients", async () => {
    await expect
      .poll(() => [...served.gateway.workspace.hub.toolNames().keys()])
      .toContain("mcp_hostile_show");
    const { capabilities } = await readCounts();
    expect(JSON.stringify(capabilities)).toContain("text/html;profile=mcp-app");
    const list = async (declared: object): Promise<string[]> => {
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": declared,
      };
      const response = await fetch(`${served.url}/mcp`, {
        method: "POST",
        headers: {
          ...{ authorization: `Bearer ${served.token}`, "content-type": "application/json" },
          ...{ accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28" },
          "mcp-method": "tools/list",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } }),
      });
      const { result } = (await response.json()) as { result: { tools: { name: string }[] } };
      return result.tools.map(({ name }) => name).filter((name) => name.startsWith("mcp_hostile_"));
    };
    const plain = ["mcp_hostile_count", "mcp_hostile_secret", "mcp_hostile_show"];
    expect(await list({})).toEqual(plain);
    const apps = {
      extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } },
    };
    expect(await list(apps)).toEqual([...plain, "mcp_hostile_note"].toSorted());
  });
});
