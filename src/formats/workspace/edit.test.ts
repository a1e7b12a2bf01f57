import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPortolanError } from "../../errors/index.ts";
import type { ServerFields } from "../manifest/index.ts";
import { addServer, changeServer, removeServer } from "./edit.ts";
import { parseWorkspace } from "./read.ts";

const FILE = `# our workspace
version: 1   # of the format

sources:
- a.json   # kept as it is

servers: # all of them
  # about files
  files:
    command: npx   # the usual way
    args: ['-y', "server"]
    # last word on files

  # about search
  search: {url: "https://example.com/mcp"} # far away

# about names
naming:   "{alias}_{tool}"
`;

describe("addServer", () => {
  test("creates a new file", () => {
    const text = addServer(undefined, "files", { command: "npx", args: ["-y", "server"], env: { A: "1" } });
    expect(text).toBe(`version: 1
servers:
  files:
    command: npx
    args: [-y, server]
    env:
      A: "1"
`);
    expect(addServer("# mine\n", "a", { url: "https://x/" })).toBe(
      "# mine\n\nversion: 1\nservers:\n  a:\n    url: https://x/\n",
    );
  });

  test("inserts the lines after the last server and changes nothing else", () => {
    const text = addServer(FILE, "db", { command: "db server", start: "lazy" });
    expect(text).toBe(
      FILE.replace("# far away\n", "# far away\n\n  db:\n    command: db server\n    start: lazy\n"),
    );
  });

  test("uses the indentation and the line ends of the file", () => {
    expect(
      addServer("servers:\r\n    a:\r\n        command: x\r\nnaming: '{tool}'\r\n", "b", { command: "z" }),
    ).toBe("servers:\r\n    a:\r\n        command: x\r\n    b:\r\n      command: z\r\nnaming: '{tool}'\r\n");
  });

  test.each([
    ["no servers yet", "version: 1 # x\n\n\n", "version: 1 # x\n\nservers:\n  a:\n    command: x\n"],
    [
      "servers without a value",
      "servers: # x\nversion: 1\n",
      "servers: # x\n  a:\n    command: x\nversion: 1\n",
    ],
    ["empty braces", "servers: {} # x\nversion: 1\n", "servers: # x\n  a:\n    command: x\nversion: 1\n"],
    [
      "no line end",
      "servers:\n  b:\n    command: |-\n      y",
      "servers:\n  b:\n    command: |-\n      y\n  a:\n    command: x\n",
    ],
    [
      "servers in braces",
      "# c\nservers: {b: {command: y}}\n",
      "# c\nservers: {b: {command: y}, a: {command: x}}\n",
    ],
    ["all in braces", "{servers: {b: {command: y}}}\n", "{servers: {b: {command: y}, a: {command: x}}}\n"],
  ])("edits a file with %s", (_, before, after) => {
    expect(addServer(before, "a", { command: "x" })).toBe(after);
  });

  test.each<[string, string | undefined, string, ServerFields, string]>([
    [
      "an alias that is taken",
      FILE,
      "files",
      { command: "x" },
      "CONFIG_INVALID there is already a server files, at line 9",
    ],
    [
      "a bad alias",
      FILE,
      "a b",
      { command: "x" },
      'CONFIG_INVALID alias "a b" contains characters that tool names cannot have',
    ],
    [
      "no endpoint",
      FILE,
      "a",
      {},
      "FILE_INVALID the server a would not be valid: servers.a has neither command nor url (line 17)",
    ],
    [
      "a bad address",
      undefined,
      "a",
      { url: "nowhere" },
      "FILE_INVALID the server a would not be valid: url is not a URL (line 4)",
    ],
    [
      "a broken file",
      "servers: [",
      "a",
      { command: "x" },
      "FILE_INVALID portolan.yaml is not valid: not valid YAML",
    ],
    [
      "servers that are a list",
      "servers: [a]",
      "a",
      { command: "x" },
      "FILE_INVALID portolan.yaml is not valid: servers must be an object",
    ],
  ])("refuses %s", (_, text, alias, fields, expected) => {
    expect(refusal(() => addServer(text, alias, fields))).toContain(expected);
  });
});

describe("removeServer", () => {
  test("removes the lines of the server and the comment above it", () => {
    expect(removeServer(FILE, "search")).toBe(
      FILE.replace('  # about search\n  search: {url: "https://example.com/mcp"} # far away\n\n', ""),
    );
  });

  test("keeps the comment above the first server, which may be about all servers", () => {
    expect(removeServer(FILE, "files")).toBe(FILE.replace(/ {2}files:\n(.*\n){3}/, ""));
  });

  test.each([
    ["the only one", "servers: # x\n  a:\n    command: x\nversion: 1\n", "servers: {} # x\nversion: 1\n"],
    [
      "the last line",
      "version: 1\n\nservers:\n  b: {command: x}\n\n  a:\n    command: x",
      "version: 1\n\nservers:\n  b: {command: x}\n",
    ],
    ["in braces", "servers: {a: {command: x}, b: {command: y}}\n", "servers: {b: {command: y}}\n"],
    [
      "long text",
      "servers:\n  a:\n    command: |\n      x\n\n      y\n  b: {command: y}\n",
      "servers:\n  b: {command: y}\n",
    ],
  ])("removes a server: %s", (_, before, after) => {
    expect(removeServer(before, "a")).toBe(after);
  });

  test("refuses an unknown server, and a server with a YAML anchor that another server uses", () => {
    expect(refusal(() => removeServer(FILE, "x"))).toBe("SERVER_UNKNOWN portolan.yaml declares no server x");
    const shared = "servers:\n  a: {command: x, env: &e {A: b}}\n  b: {command: y, env: *e}\n";
    expect(refusal(() => removeServer(shared, "a"))).toContain(
      "FILE_INVALID Portolan cannot edit portolan.yaml",
    );
  });
});

test("changeServer replaces fields, and keeps comments and other servers", () => {
  const text =
    "# mine\nservers:\n  a:\n    package: '@a/b@^1' # first\n    env: { A: x } # kept\n  b:\n    command: y # other\n";
  const after = changeServer(text, "a", { package: "@a/b@^2", sandbox: { network: ["a.com"] } });
  expect(after).toContain('# mine\nservers:\n  a:\n    package: "@a/b@^2"');
  expect(after).toContain("env: { A: x } # kept");
  expect(after).toContain("command: y # other");
  expect(after).toContain("network: [a.com]");
  expect(changeServer(text, "a", { package: "@a/b@^1" })).toBe(text);
  expect(changeServer(text, "a", { env: undefined })).not.toContain("kept");
  expect(refusal(() => changeServer(text, "c", {}))).toContain("SERVER_UNKNOWN");
});

test("removing an added server restores the file", () => {
  const value = fc
    .string({ minLength: 1, maxLength: 20, unit: "grapheme" })
    .filter((text) => !text.includes("\0"));
  fc.assert(
    fc.property(
      fc.constantFrom(
        FILE,
        "servers:\n  b: {command: x}\n",
        "naming: '{tool}'\n\nservers:\n\n  b:\n    command: x\n",
      ),
      fc.record({
        command: value,
        args: fc.array(value, { maxLength: 3 }),
        env: fc.dictionary(fc.stringMatching(/^[A-Z]{1,8}$/), value),
      }),
      (text, fields) => {
        const added = addServer(text, "added", fields);
        const server = parseWorkspace(added, "f").servers.find(({ alias }) => alias === "added");
        expect(server?.endpoint).toEqual({ transport: "stdio", ...fields });
        expect(removeServer(added, "added")).toBe(text);
      },
    ),
    { numRuns: 300 },
  );
});

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (thrown) {
    if (isPortolanError(thrown)) return `${thrown.code} ${thrown.message}`;
    throw thrown;
  }
  return "nothing was refused";
}
