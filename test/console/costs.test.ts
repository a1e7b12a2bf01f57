// Context cost, budgets and the sandbox in a real browser, at both widths and in both themes.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import { findViolations } from "../helpers/accessibility.ts";
import { startBrowser } from "../helpers/browser.ts";
import { startConsole, type TestConsole } from "../helpers/console.ts";
import { isThere, needs } from "../helpers/needs.ts";
import { RawModern, textOf } from "../helpers/raw-clients.ts";

const AGENT = "token-of-the-agent-0123456789";
const DAY_MS = 86_400_000;
const LOOKS = [
  ["light", 1280],
  ["dark", 1280],
  ["light", 390],
  ["dark", 390],
] as const;

let browser: Browser;
let served: TestConsole;

beforeAll(async () => {
  if (!isThere("chromium")) return;
  const budgets = {
    "every day": {
      callers: ["agent"],
      calls: { amount: 2, periodMs: DAY_MS },
      cost: { amount: 1_000, periodMs: DAY_MS },
      unitsPerCall: 1,
    },
  };
  [browser, served] = await Promise.all([
    startBrowser(),
    // A second server with the same tools, which could be dropped.
    startConsole(
      { "copy-of-main": stdioCommand("--era=modern") },
      { budgets, callers: [{ name: "agent", token: AGENT }] },
    ),
  ]);
});

afterAll(async () => {
  await browser?.close();
  await served?.stop();
});

async function open(path: string, [colorScheme, width]: (typeof LOOKS)[number]): Promise<Page> {
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(served.link());
  await page.getByRole("heading", { name: "Servers", level: 1 }).waitFor();
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${path}`)}`);
  return page;
}

/** Violations of accessibility, a page that scrolls sideways, and texts of bars that are cut or wrapped. */
async function findFaults(page: Page): Promise<string[]> {
  const wide = Number(await page.evaluate("document.documentElement.scrollWidth - innerWidth"));
  const cut = (await page.evaluate(`
    [...document.querySelectorAll(".bars li > *:not(meter)")]
      .filter((one) => one.scrollWidth > one.clientWidth + 1 || one.offsetHeight > 30)
      .map((one) => "cut or wrapped: " + one.textContent)
  `)) as string[];
  return [...(await findViolations(page)), ...cut, ...(wide > 0 ? [`${wide} pixels too wide`] : [])];
}

describe("the page of context cost", needs("chromium"), () => {
  it.each(LOOKS)("shows servers, tools and ways to save tokens: %s, %i pixels", async (...look) => {
    const page = await open("context", look);
    const dropped = page.locator("section", {
      has: page.getByRole("heading", { name: "Ways to save tokens" }),
    });
    await dropped.getByText("have the same name, description and input schema").first().waitFor();
    await dropped.getByRole("button", { name: "Copy the lines for portolan.yaml" }).first().waitFor();
    const servers = page.locator("section", { has: page.getByRole("heading", { name: "By server" }) });
    expect(await servers.getByRole("link").allTextContents()).toEqual(
      expect.arrayContaining(["main", "copy-of-main", "inputs"]),
    );
    expect(await findFaults(page)).toEqual([]);
  });
});

it("servers that share a process have a sandbox card each", needs("chromium"), async () => {
  const page = await open("sandbox", LOOKS[0]);
  const names = page.locator("section h2");
  await page.getByRole("heading", { name: "copy-of-main" }).waitFor();
  expect((await names.allTextContents()).filter((name) => name.endsWith("main")).toSorted()).toEqual([
    "copy-of-main",
    "main",
  ]);
  await page.evaluate('location.hash = "#/sandbox/main"');
  await page.getByRole("link", { name: "All servers" }).waitFor();
  expect(await names.allTextContents()).toEqual(["main"]);
});

it("a denial disappears when the path was granted", needs("chromium", "bubblewrap"), async () => {
  const notes = join(served.folder, "notes");
  mkdirSync(notes);
  const write = (sandbox: object): void => {
    const reader = { ...stdioCommand("--era=modern"), env: { NOTES: notes }, sandbox };
    const { servers } = JSON.parse(config) as { servers: object };
    writeFileSync(file, JSON.stringify({ servers: { ...servers, reader } }));
  };
  const file = join(served.folder, "portolan.yaml");
  const config = readFileSync(file, "utf8");
  write({ mode: "enforce" });
  const page = await open("sandbox", LOOKS[0]);
  const card = page.getByRole("region", { name: "reader" });
  await card.getByText("was denied at").waitFor();
  expect(await card.getByText(`--read ${notes}`).count()).toBe(1);
  write({ mode: "enforce", fs: { read: [notes] } });
  await card.getByText("was denied at").waitFor({ state: "detached" });
  await card.getByText(notes, { exact: true }).waitFor();
  writeFileSync(file, config);
  await card.waitFor({ state: "detached" });
});

describe("the card of budgets", needs("chromium"), () => {
  it("appears with the first call, and is updated by the next calls", async () => {
    const page = await open("activity", ["light", 1280]);
    const card = page.locator("section", { has: page.getByRole("heading", { name: "Budgets" }) });
    await page.locator("main h1").waitFor();
    expect(await card.count()).toBe(0);
    const agent = new RawModern(served.url, { token: AGENT });
    expect(textOf(await agent.tool("mcp_main_echo", { text: "one" }))).toBe("one");
    await card.getByText("1 of 2 calls").waitFor();
    expect(textOf(await agent.tool("mcp_main_echo", { text: "two" }))).toBe("two");
    await card.getByText("2 of 2 calls").waitFor();
    await card.getByText("2 of 1,000 cost units").waitFor();
    expect(await card.getByText("every day · agent").count()).toBe(2);
  });

  it.each(LOOKS)("has no layout fault and no accessibility violation: %s, %i pixels", async (...look) => {
    const page = await open("activity", look);
    await page.getByText("2 of 2 calls").waitFor();
    expect(await findFaults(page)).toEqual([]);
  });
});
