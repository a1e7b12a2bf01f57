import { describe, expect, test } from "vitest";
import { createColors } from "../terminal/colors.ts";
import { displayWidth } from "../terminal/layout.ts";
import { describeListing, type Listing, type ListOptions } from "./view.ts";

const listing: Listing = {
  server: {
    name: "srv",
    info: { name: "demo", version: "1.2" },
    era: "modern",
    revision: "2026-07-28",
    transport: "http",
    capabilities: {},
    instructions: "- Use this server only for things that it is really made for.",
  },
  tools: [
    {
      name: "search",
      description:
        "Searches everything that there is to be searched, and a little more than that.\n\nSlowly.",
      inputSchema: {
        type: "object",
        properties: { query: { type: "string" }, mode: { enum: ["fast", "thorough", "exhaustive"] } },
        required: ["query"],
      },
    },
  ],
  resources: [
    { uri: "demo://short", name: "short", mimeType: "text/plain", description: "漢字 ".repeat(30) },
    { uri: "demo://a/longer/one", name: "Title" },
  ],
  resourceTemplates: [{ uriTemplate: `demo://${"x".repeat(50)}/{id}`, name: "wide", description: "Notes." }],
  prompts: [{ name: "greet", description: "Greets.", arguments: [{ name: "who", required: true }] }],
  timing: { connectMs: 1, listMs: 2 },
  diagnostics: [{ code: "TOOL_DROPPED", severity: "warning", message: "a tool is left out: it has no name" }],
};

const show = (width?: number, options: ListOptions = {}): string =>
  describeListing(listing, createColors(false), options, width);

describe("list on a terminal", () => {
  test("lines fit the width, words stay whole, and names that a user types are not truncated", () => {
    expect(show(50)).toBe(`demo 1.2
MCP 2026-07-28 (modern) · http · connected in 1 ms
· listed in 2 ms

Instructions
  - Use this server only for things that it is
    really made for.

Tools (1)
  // Searches everything that there is to be
  // searched, and a little more than that.
  function search(
    query: string,
    mode?: "fast" | "thorough" | "exhaustive",
  ): string

Resources (2)
  demo://short         text/plain · 漢字 漢字 漢…
  demo://a/longer/one  Title

Resource templates (1)
  demo://${"x".repeat(50)}/{id}
    wide · Notes.

Prompts (1)
  greet(who)  Greets.

Diagnostics (1)
  warning a tool is left out: it has no name
    [TOOL_DROPPED]`);
  });

  test.each([40, 60, 80, 100, 120, 200])(
    "only a line with a URI template is wider than %i columns",
    (width) => {
      for (const options of [{}, { all: true }]) {
        const lines = show(width, options).split("\n");
        for (const line of lines)
          if (!line.includes("{id}")) expect(displayWidth(line)).toBeLessThanOrEqual(width);
      }
    },
  );

  test("--all shows each full description on lines of its own", () => {
    expect(show(60, { all: true })).toContain("  demo://short\n    text/plain · 漢字 漢字");
    expect(show(60, { all: true })).toContain("  //\n  // Slowly.");
    expect(show(60, { all: true })).not.toContain("…");
  });
});

test("without a terminal, no line is truncated or wrapped", () => {
  const text = show();
  expect(text).toContain(
    '  function search(query: string, mode?: "fast" | "thorough" | "exhaustive"): string\n',
  );
  expect(text).toContain(`  demo://short         text/plain · ${"漢字 ".repeat(30).trim()}\n`);
});
