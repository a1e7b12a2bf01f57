// Every whole file in the README and the documents is valid, and the tables name every field.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseManifest, SANDBOX_BLOCK } from "../manifest/index.ts";
import { parseMcpfile } from "../mcpfile/index.ts";
import { readYaml, toPlain } from "../document/index.ts";
import { parseWorkspace } from "./read.ts";

const page = (name: string): string =>
  readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8");
/** Examples that are whole files. */
const examples = (name: string): string[] =>
  [...page(name).matchAll(/^```yaml\n([\s\S]*?)^```/gm)]
    .map(([, text = ""]) => text)
    .filter((text) => /^(?:servers|config|kind|sources|gateway):/m.test(text));

describe.each([
  "../README.md",
  "guides/packages.md",
  "guides/pins.md",
  "guides/sandbox.md",
  "guides/secrets.md",
  "guides/workspaces.md",
  "reference/access-control.md",
  "reference/config-files.md",
  "reference/sandbox.md",
  "start/mcpfile.md",
])("examples of docs/%s", (name) => {
  test.each(examples(name))("are valid: %s", (text) => {
    const { root } = readYaml(text, "x.yaml");
    const keys = Object.keys(root === undefined ? {} : (toPlain(root) as object));
    const parse = keys.includes("config")
      ? parseManifest
      : keys.includes("kind")
        ? parseMcpfile
        : parseWorkspace;
    // A relaxed sandbox gives an info diagnostic, which is not an error.
    const mistakes = parse(text, "/project/x.yaml").diagnostics.filter(({ severity }) => severity !== "info");
    expect(mistakes).toEqual([]);
  });
});

test("docs/reference/sandbox.md has a row for every field of a sandbox", () => {
  const rows = new Set([...page("reference/sandbox.md").matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name));
  expect([...(SANDBOX_BLOCK.rules.keys?.values() ?? [])].filter((name) => !rows.has(name))).toEqual([]);
});
