// Approvals in a real browser: a person approves and denies calls of an agent, and nothing runs before.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBrowser } from "../helpers/browser.ts";
import { until } from "../helpers/connect.ts";
import { startConsole, type TestConsole } from "../helpers/console.ts";
import { isThere, needs } from "../helpers/needs.ts";
import { RawModern, textOf } from "../helpers/raw-clients.ts";

const AGENT = "token-of-the-agent-0123456789";
const INPUT = { text: "<b>hello</b>\u202e", count: 3, more: { deep: { deeper: ["at the bottom"] } } };

let browser: Browser;
let served: TestConsole;
let page: Page;

beforeAll(async () => {
  if (!isThere("chromium")) return;
  const approval = [
    { tools: ["inputs.return_input"], reason: "It returns everything", forMs: 600_000, callers: ["agent"] },
    { tools: ["main.add"], by: ["terminal"] as const },
  ];
  [browser, served] = await Promise.all([
    startBrowser(),
    startConsole({}, { approval, callers: [{ name: "agent", token: AGENT }] }),
  ]);
  served.gateway.approvals.addWay("terminal");
  page = await (await browser.newContext()).newPage();
});

afterAll(async () => {
  await browser?.close();
  await served?.stop();
});

describe("the page of approvals", needs("chromium"), () => {
  const call = (args: object = INPUT) =>
    new RawModern(served.url, { token: AGENT }).post("tools/call", {
      name: "mcp_inputs_return_input",
      arguments: args,
    });
  const card = () => page.getByRole("region", { name: "Call of return_input" });

  it("approves a call once, and the call runs only after that", async () => {
    await page.goto(served.link());
    await page.getByRole("heading", { name: "Servers", level: 1 }).waitFor();
    const exchange = call();
    // The navigation counts the calls that wait.
    await page.getByRole("link", { name: "Approvals 1 waiting" }).click();
    await card().getByText("inputs.return_input").waitFor();
    await card().getByText("Called by agent").waitFor();
    await card().getByText("It returns everything.").waitFor();
    // The arguments are text, whatever they contain.
    const shown = await card().getByLabel("Arguments").textContent();
    expect(shown).toContain('"<b>hello</b>\\u202e"');
    expect(shown).toContain('"at the bottom"');
    expect(exchange.ended).toBe(false);
    await card().getByRole("button", { name: "Approve once" }).click();
    expect(textOf(await exchange.answer())).toEqual(INPUT);
    await page.getByText("No call is waiting for approval.").waitFor();
  });

  it("the duration of a call does not contain its wait for approval", async () => {
    await page.getByRole("link", { name: "Activity" }).click();
    await page.getByText(/\d m?s after .* of waiting for approval · agent/).waitFor();
    await page.getByRole("button", { name: "mcp_inputs_return_input" }).click();
    await page.getByText("Waited for approval", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Approvals" }).click();
  });

  it("denies a call with a reason that the caller reads", async () => {
    const exchange = call();
    await card().getByLabel("Reason for a denial").fill("Use the other tool.");
    await card().getByRole("button", { name: "Deny" }).click();
    const { result } = await exchange.answer();
    expect(result.isError).toBe(true);
    expect(result.content[0].text).toContain("a person denied the call in the console");
    expect(result.content[0].text).toContain("Use the other tool.");
    await page.getByText("No call is waiting for approval.").waitFor();
  });

  it("approves for the time that the rule allows", async () => {
    const exchange = call({ text: "again", count: 1 });
    await card().getByRole("button", { name: "Approve for 10 min" }).click();
    expect(textOf(await exchange.answer())).toEqual({ text: "again", count: 1 });
    expect(textOf(await call({ text: "again", count: 1 }).answer())).toEqual({ text: "again", count: 1 });
  });

  it("shows a call that its rule does not let the console approve", async () => {
    const client = new RawModern(served.url, { token: AGENT });
    const exchange = client.post("tools/call", { name: "mcp_main_add", arguments: { a: 1, b: 2 } });
    const other = page.getByRole("region", { name: "Call of add" });
    await other.getByText("gateway.approval[1] allows approval only by: terminal.").waitFor();
    expect(await other.getByRole("button", { name: /Approve/ }).count()).toBe(0);
    // The gateway enforces it, whatever the page shows.
    const [first] = await served.gateway.approvals.list();
    const answer = await page.evaluate(
      `fetch("/console/api/decide", { method: "POST", headers: { "content-type": "application/json" }, body: ${JSON.stringify(
        JSON.stringify({ id: first?.id, decision: "approve" }),
      )} }).then((response) => response.text())`,
    );
    expect(answer).toContain("does not allow approval by console");
    // The call disappears with its client.
    exchange.destroy();
    await until(async () => (await served.gateway.approvals.list()).length === 0);
    await page.getByText("No call is waiting for approval.").waitFor();
  });
});
