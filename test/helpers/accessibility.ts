// Accessibility of a page in a real browser, by the rules of axe-core.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** One line for each rule that the page violates, with the elements. */
export async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  const violations = (await page.evaluate("axe.run().then(({ violations }) => violations)")) as {
    readonly id: string;
    readonly nodes: readonly { readonly html: string }[];
  }[];
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`,
  );
}
