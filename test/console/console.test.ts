// The console in a real browser: first visit, calls with every input, server requests, failures, restarts, both themes and widths.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { readdirSync, readFileSync } from "node:fs";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { toPins, writePins } from "../../src/cli/pins/approvals.ts";
import { readPins, type ServerPins } from "../../src/hub/index.ts";
import { lockFileOf } from "../../src/packages/index.ts";
import { findViolations } from "../helpers/accessibility.ts";
import { startBrowser } from "../helpers/browser.ts";
import { startConsole, type TestConsole } from "../helpers/console.ts";
import { isThere, needs } from "../helpers/needs.ts";

const PAGES = [
  ...["servers", "servers/main", "servers/broken", "tools", "tools/mcp_inputs_return_input"],
  ...["resources", "prompts", "activity", "approvals", "contracts", "context"],
  ...["packages", "sandbox", "secrets"],
];

let browser: Browser;
let served: TestConsole;
let context: BrowserContext;
let page: Page;
/** Errors of the page, and requests to other hosts. */
let troubles: string[] = [];

beforeAll(async () => {
  if (!isThere("chromium")) return;
  [browser, served] = await Promise.all([startBrowser(), startConsole()]);
});

afterAll(async () => {
  await browser?.close();
  await served?.stop();
});

async function openPage(options: Parameters<Browser["newContext"]>[0] = {}): Promise<void> {
  context = await browser.newContext(options);
  page = await context.newPage();
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") troubles.push(message.text());
  });
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("request", (request) => {
    const { protocol, host } = new URL(request.url());
    if (protocol !== "data:" && host !== `127.0.0.1:${served.port}`) troubles.push(request.url());
  });
}

async function signIn(): Promise<void> {
  await page.goto(served.link());
  await page.getByRole("heading", { name: "Servers", level: 1 }).waitFor();
}

/** Goes to a page of the console without loading it anew. */
async function visit(path: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${path}`)}`);
}

describe("the console", needs("chromium"), () => {
  beforeEach(async () => {
    troubles = [];
    await openPage();
  });

  afterEach(async () => {
    await context.close();
  });

  it("opens with a one-time link, whose code disappears from the address, and shows the servers", async () => {
    const link = served.link();
    await page.goto(link);
    await page.getByRole("heading", { name: "main", level: 2 }).waitFor();
    expect(page.url()).toBe(`${served.url}/`);
    await expect
      .poll(() => page.locator(".server-card", { hasText: "main" }).getByText("ready").count())
      .toBe(1);
    expect(await page.locator(".server-error").count()).toBe(1);
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ name: `portolan_${served.port}`, httpOnly: true, sameSite: "Strict" });
    expect(troubles).toEqual([]);
  });

  it("signs in with the token, and out again", async () => {
    await page.goto(served.url);
    await page.getByLabel("Token of the gateway").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("This is not the token of the gateway.").waitFor();
    await page.getByLabel("Token of the gateway").fill(served.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Servers", level: 1 }).waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token of the gateway").waitFor();
    await page.reload();
    await page.getByLabel("Token of the gateway").waitFor();
    // The refused token is the only error, and the browser reports it itself.
    expect(troubles.filter((text) => !text.includes("401"))).toEqual([]);
  });

  it("calls a tool with every type of input", async () => {
    await signIn();
    await visit("tools");
    await page.getByLabel("Find a tool").fill("return_inp");
    await page.getByRole("link", { name: /return_input/ }).click();
    await page.getByRole("button", { name: "Call", exact: true }).click();
    expect(await page.getByText("This field is required.").count()).toBe(2);
    await page.getByLabel("text required").fill("hello\nworld");
    await page.getByLabel("city").selectOption("Rome");
    await page.getByLabel("count required").fill("3");
    await page.getByLabel("ratio").fill("0.5");
    await page.getByLabel("flag").selectOption("true");
    await page.getByLabel("day").fill("2026-03-01");
    await page.getByRole("group", { name: "tags array" }).getByRole("button", { name: "Add" }).click();
    await page.getByLabel("tags 1", { exact: true }).fill("one");
    await page.getByLabel("blue").check();
    await page.getByLabel("street required").fill("High Street");
    await page.getByLabel("more").fill('{"a":[1]}');
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("status").getByText("done").waitFor();
    await page
      .getByRole("group", { name: "Format of the text" })
      .getByRole("button", { name: "Text" })
      .click();
    const text = await page.locator(".text-view pre").textContent();
    expect(JSON.parse(text ?? "")).toEqual({
      ...{ text: "hello\nworld", city: "Rome", count: 3, ratio: 0.5, flag: true, day: "2026-03-01" },
      ...{ tags: ["one"], colors: ["blue"], place: { street: "High Street" }, more: { a: [1] } },
    });
    await page.getByRole("button", { name: "Run again" }).click();
    await expect.poll(() => page.locator(".history li").count()).toBe(2);
    expect(troubles).toEqual([]);
  });

  it("shows progress, cancels, and answers an elicitation", async () => {
    await signIn();
    await visit("tools/mcp_main_slow");
    await page.getByLabel(/^ms/).fill("60000");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("progressbar").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("The call was cancelled.").waitFor();
    await visit("tools/mcp_main_ask_form");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("heading", { name: "This call needs input from you" }).waitFor();
    await page.getByLabel(/^name/).fill("Ada");
    await page.getByRole("button", { name: "Answer" }).click();
    await page.getByRole("status").getByText("done").waitFor();
    expect(await page.locator(".result").textContent()).toContain("Ada");
    expect(troubles).toEqual([]);
  });

  it("shows images, audio, links and errors of results, and the call as a waterfall", async () => {
    await signIn();
    await visit("tools/mcp_main_rich");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByAltText("Image of the result").waitFor();
    await page.getByLabel("Audio of the result").waitFor();
    expect(await page.locator(".resource-link a").count()).toBe(1);
    await visit("activity");
    await page.getByRole("button", { name: "mcp_main_rich" }).first().click();
    await page
      .locator(".waterfall")
      .getByText(/^gateway/)
      .waitFor();
    expect(await page.locator(".waterfall rect").count()).toBeGreaterThan(1);
    expect(troubles).toEqual([]);
  });

  it("shows the crash and the restart of a server, and stops and starts a server", async () => {
    await signIn();
    await visit("tools/mcp_main_crash");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByText("SERVER_CRASHED").waitFor();
    await visit("servers/main");
    await page.locator("main .lead").getByText("ready").waitFor();
    expect(await page.locator(".log").textContent()).toContain("crash");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("main .lead").getByText("stopped").waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    await page.locator("main .lead").getByText("ready").waitFor();
    expect(troubles).toEqual([]);
  });

  it("shows what changed in the definition of a tool, and approves it", async () => {
    const { workspace } = served.gateway;
    const read = async (): Promise<ServerPins> =>
      (await readPins(workspace)).find(({ server }) => server === "inputs") as ServerPins;
    const before = await read();
    const tools = before.tools.map((tool) => ({ ...tool, findings: [] }));
    await writePins(lockFileOf(served.folder), before, tools, () => toPins(tools));
    await expect.poll(async () => (await read()).mode).toBe("enforce");
    served.setTools({ description: "Returns its input, and more." });
    await expect.poll(async () => (await read()).tools[0]?.verdict).toBe("changed");
    expect([...workspace.hub.toolNames().keys()]).not.toContain("mcp_inputs_return_input");
    await signIn();
    await visit("packages");
    const card = page.getByRole("region", { name: "inputs" });
    await card.getByText("1 change to approve").waitFor();
    expect(await card.locator(".diff-new").first().textContent()).toContain("and more.");
    await card.getByRole("button", { name: "Approve return_input" }).click();
    await card.getByText("1 tool approved").waitFor();
    await expect.poll(() => [...workspace.hub.toolNames().keys()]).toContain("mcp_inputs_return_input");
    await visit("secrets");
    await page.getByText("The config files of this workspace refer to no secrets.").waitFor();
    expect(troubles).toEqual([]);
  });

  it("survives a restart of the gateway without a reload of the page", async () => {
    await signIn();
    await page.evaluate("globalThis.isSamePage = true");
    await served.stop();
    await page.getByText("The gateway does not respond.").waitFor();
    await served.start();
    await page.getByText("The gateway does not respond.").waitFor({ state: "detached" });
    await visit("tools/mcp_main_echo");
    await page.getByLabel(/^text/).fill("after the restart");
    await page.getByRole("button", { name: "Call", exact: true }).click();
    await page.getByRole("status").getByText("done").waitFor();
    expect(await page.evaluate("globalThis.isSamePage")).toBe(true);
  });
});

describe("every page", needs("chromium"), () => {
  for (const [colorScheme, width] of [
    ["light", 1280],
    ["dark", 390],
  ] as const)
    it(`has no accessibility violation and fits the window: ${colorScheme}, ${width} pixels`, async () => {
      troubles = [];
      await openPage({ colorScheme, viewport: { width, height: 800 } });
      await signIn();
      const found: Record<string, readonly string[]> = {};
      for (const path of PAGES) {
        await visit(path);
        await page.locator("main h1").waitFor();
        await page.locator(".loading").waitFor({ state: "detached" });
        const violations = await findViolations(page);
        if (violations.length > 0) found[path] = violations;
        const overflow = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
        if (overflow > 0) found[`${path} is too wide`] = [`${overflow} pixels`];
      }
      expect(found).toEqual({});
      const background = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
      expect(background).toBe(colorScheme === "dark" ? "rgb(16, 23, 26)" : "rgb(245, 247, 247)");
      expect(troubles).toEqual([]);
      await context.close();
    });
});

describe("the files of the page", () => {
  const folder = fileURLToPath(new URL("../../dist/console/", import.meta.url));
  const size = (name: string): number => gzipSync(readFileSync(join(folder, name)), { level: 9 }).length;

  it("are small: at most 41 KB for the first load, and 80 KB for everything", () => {
    const html = readFileSync(join(folder, "index.html"), "utf8");
    const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, name = ""]) => name);
    expect(first.length).toBeGreaterThan(1);
    const sum = (names: readonly string[]): number => names.reduce((total, name) => total + size(name), 0);
    expect(sum(["index.html", ...first])).toBeLessThan(41 * 1024);
    const all = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      /\.(?:js|css|html)$/.test(name),
    );
    expect(sum(all)).toBeLessThan(80 * 1024);
  });
});
