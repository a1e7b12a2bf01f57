// A real browser: Chromium of the system, driven by playwright-core. A test file starts it once, in `beforeAll`, and opens a page of a
// fresh profile in each test. Tests that use it have `needs("chromium")`.

import { type Browser, chromium, type Page } from "playwright-core";
import { onTestFinished } from "vitest";
import { findChromium } from "./needs.ts";

/** The caller closes it, in `afterAll`. It reaches this machine only. */
export async function startBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: findChromium(),
    args: [
      "--disable-dev-shm-usage",
      "--disable-gpu",
      // Pages with fonts or scripts of other hosts do not wait for a network that tests do not have.
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
}

/** A page with its own cookies and storage, closed after the test. */
export async function openPage(browser: Browser, address?: URL | string): Promise<Page> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  if (address !== undefined) await page.goto(String(address));
  return page;
}
