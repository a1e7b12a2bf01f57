// Frontmatter: its start and end, and positions that are those of the file.

import { describe, expect, test } from "vitest";
import { entryOf, nodeAt, toPlain } from "../../document/index.ts";
import { readFrontmatter } from "./frontmatter.ts";

const plain = (text: string): unknown => {
  const { root, body, diagnostics } = readFrontmatter(text, "f.md");
  return { value: root && toPlain(root), body, problems: diagnostics.map(({ message }) => message) };
};

describe("valid frontmatter", () => {
  test.each<[string, string, string]>([
    ["with a body", "---\na: 1\n---\nText\n", "Text\n"],
    ["with a line between", "---\na: 1\n---\n\n# Title\n---\nmore", "\n# Title\n---\nmore"],
    ["without a body", "---\na: 1\n---\n", ""],
    ["without a last line end", "---\na: 1\n---", ""],
    ["with spaces after the lines", "--- \na: 1\n---\t\n", ""],
    ["with a byte order mark", "\uFEFF---\na: 1\n---\n", ""],
    ["with Windows line ends", "---\r\na: 1\r\n---\r\nText\r\n", "Text\r\n"],
  ])("%s", (_, text, body) => {
    expect(plain(text)).toEqual({ value: { a: 1 }, body, problems: [] });
  });

  test("keeps the lines and columns of the file", () => {
    const { root } = readFrontmatter("\uFEFF---\r\na: 1\r\nb:\r\n  - c: x\r\n---\r\n", "f.md");
    expect(entryOf(root, "a")).toMatchObject({ line: 2, column: 1 });
    expect(nodeAt(root, "b", 0, "c")).toMatchObject({ line: 4, column: 8, path: ["b", 0, "c"] });
  });
});

describe("invalid frontmatter", () => {
  test.each<[string, string, string]>([
    ["an empty file", "", "there is no frontmatter"],
    ["only text", "# Title\n", "there is no frontmatter"],
    ["text before it", "Hello\n---\na: 1\n---\n", "there is no frontmatter"],
    ["an empty line before it", "\n---\na: 1\n---\n", "there is no frontmatter"],
    ["four dashes", "----\na: 1\n---\n", "there is no frontmatter"],
    ["no end", "---\na: 1\n", "does not end"],
    ["only the first line", "---", "does not end"],
    ["nothing in it", "---\n---\n", "is empty"],
    ["only a comment in it", "---\n# a\n---\n", "is empty"],
    ["a list in it", "---\n- a\n---\n", "must be an object"],
    ["broken YAML", "---\na: [1\n---\n", "not valid YAML"],
    ["a key twice", "---\na: 1\na: 2\n---\n", "twice"],
    ["more than a megabyte", `---\na: ${"x".repeat(1_048_576)}\n---\n`, "bytes"],
    ["a body of more than a megabyte", `---\na: 1\n---\n${"é".repeat(600_000)}`, "bytes"],
    ["a bomb", `---\na: &a [x]\n${bomb()}\n---\n`, "used more than 20 times"],
    ["too deep", `---\na: ${"[".repeat(100)}${"]".repeat(100)}\n---\n`, "nested"],
  ])("%s", (_, text, message) => {
    const { diagnostics } = readFrontmatter(text, "f.md");
    expect(diagnostics).toContainEqual(
      expect.objectContaining({ severity: "error", message: expect.stringContaining(message) }),
    );
  });

  test("is reported with the line of the file", () => {
    const { diagnostics } = readFrontmatter("---\na: 1\nb: [1\n---\n", "f.md");
    expect(diagnostics[0]?.line).toBeGreaterThanOrEqual(3);
  });
});

function bomb(): string {
  return Array.from({ length: 30 }, (_, index) => `k${index}: [*a, *a, *a]`).join("\n");
}
