// The examples of docs/reference/mcpfile.md have the results that the page names, and its table contains every field.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseMcpfile } from "./read/parse.ts";
import { createFormat } from "./schema/file-schema.ts";

const page = readFileSync(new URL("../../../docs/reference/mcpfile.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text);

describe("examples of docs/reference/mcpfile.md", () => {
  test.each(examples)("have the result that the page names: %s", (text) => {
    const refused = /^# refused: (.*)/.exec(text)?.[1];
    const { diagnostics } = parseMcpfile(text, "mcpfile.yaml");
    expect(diagnostics.map(({ message }) => message)).toEqual(refused === undefined ? [] : [refused]);
  });

  test("include valid and refused files", () => {
    expect(examples.filter((text) => text.startsWith("# refused"))).toHaveLength(3);
    expect(examples.length).toBeGreaterThan(5);
  });
});

test("docs/reference/mcpfile.md has a row for each field", () => {
  const rows = new Set([...page.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name));
  const { cli, http, primitives } = createFormat("0.2");
  const schemas = [cli, http, primitives.tools, createFormat("0.1").file];
  const fields = new Set(schemas.flatMap(({ rules }) => [...(rules.keys?.values() ?? [])]));
  fields.delete("mcpFileVersion");
  expect([...fields].filter((name) => !rows.has(name))).toEqual([]);
});
