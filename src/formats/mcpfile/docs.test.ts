// The examples of docs/reference/mcpfile.md say what they claim to say, and its table of fields names them all.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseMcpfile } from "./parse.ts";
import { fileShape, primitiveShape } from "./shapes.ts";
import { CLI_SHAPE, httpShape } from "./shapes-invocation.ts";

const page = readFileSync(new URL("../../../docs/reference/mcpfile.md", import.meta.url), "utf8");
const examples = [...page.matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text);

describe("examples", () => {
  test.each(examples)("%s", (text) => {
    const refused = /^# refused: (.*)/.exec(text)?.[1];
    const { diagnostics } = parseMcpfile(text, "mcpfile.yaml");
    expect(diagnostics.map(({ message }) => message)).toEqual(refused === undefined ? [] : [refused]);
  });

  test("there are some of each kind", () => {
    expect(examples.filter((text) => text.startsWith("# refused"))).toHaveLength(3);
    expect(examples.length).toBeGreaterThan(5);
  });
});

test("every field has a row", () => {
  const rows = new Set([...page.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name));
  const shapes = [CLI_SHAPE, httpShape("0.2"), primitiveShape("tools", "0.2"), fileShape("0.1")];
  const fields = new Set(shapes.flatMap(({ fields }) => Object.keys(fields)));
  fields.delete("mcpFileVersion");
  expect([...fields].filter((name) => !rows.has(name))).toEqual([]);
});
