// Accounts in the console: who is logged in to a server behind OAuth, until when, and the command for a login.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createLoginStore } from "../../src/oauth/index.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { findViolations } from "../helpers/accessibility.ts";
import { startBrowser } from "../helpers/browser.ts";
import { startConsole, type TestConsole } from "../helpers/console.ts";
import { isThere, needs } from "../helpers/needs.ts";

let browser: Browser | undefined;
let served: TestConsole;
let server: Awaited<ReturnType<typeof startHttpServer>>;

beforeAll(async () => {
  vi.stubEnv("XDG_DATA_HOME", mkdtempSync(join(tmpdir(), "data-")));
  server = await startHttpServer({ era: "modern" });
  const gone = "http://127.0.0.1:1/mcp";
  await store(server.url, { expiresAt: Date.now() + 3_600_000, refreshToken: "r", user: "ann@example.com" });
  await store(gone, { expiresAt: Date.now() - 1_000 });
  served = await startConsole({ work: { url: server.url }, old: { url: gone } });
  if (isThere("chromium")) browser = await startBrowser();
});

afterAll(async () => {
  await browser?.close();
  await served.stop();
  await server.close();
  vi.unstubAllEnvs();
});

async function store(url: string, tokens: object): Promise<void> {
  const issuer = "https://login.example.com";
  await createLoginStore({ report: () => {}, keyring: "off" }).update(
    { server: url, account: "", user: "" },
    async () => ({
      ...{ issuer, client: { id: "client" } as never, authorizationServer: { issuer } },
      tokens: { accessToken: "a", ...tokens } as never,
    }),
  );
}

async function open(page: Page, path: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${path}`)}`);
  await page.locator("main h1").waitFor();
}

describe("accounts", needs("chromium"), () => {
  it("are shown with the name, the expiry of the token, and the command for a login", async () => {
    const context = await (browser as Browser).newContext();
    const page = await context.newPage();
    await page.goto(served.link());
    await page
      .locator(".server-card", { hasText: "work" })
      .getByText("logged in as ann@example.com")
      .waitFor();
    const old = page.locator(".server-card", { hasText: "old" });
    await old.getByText("login expired").waitFor();
    await old.getByText("portolan login old").waitFor();
    expect(await findViolations(page)).toEqual([]);
    await open(page, "servers/work");
    await page
      .getByText(/logged in as ann@example.com, the token is valid until .* and is then renewed/)
      .waitFor();
    await page.getByText("https://login.example.com").waitFor();
    await open(page, "servers/old");
    await page.locator(".facts").getByText("portolan login old").waitFor();
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await findViolations(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    }
    await context.close();
  });
});
