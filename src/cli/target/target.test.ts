import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPortolanError, type PortolanError } from "../../errors/index.ts";
import {
  type CommandState,
  commandTarget,
  isUnknownTarget,
  parseTarget,
  splitWords,
  type TargetContext,
} from "./target.ts";

const context = (state: CommandState = "found"): TargetContext => ({ windows: false, probe: () => state });

function failure(run: () => unknown): PortolanError {
  try {
    run();
  } catch (thrown) {
    if (isPortolanError(thrown) && thrown.code === "TARGET_INVALID") return thrown;
    throw thrown;
  }
  throw new Error("did not fail");
}

describe("splitWords", () => {
  test.each<[string, string[]]>([
    ["npx -y  some-server", ["npx", "-y", "some-server"]],
    ["a 'b c' \"d e\"", ["a", "b c", "d e"]],
    ["a'b'\"c\"d", ["abcd"]],
    ["a '' \"\"", ["a", "", ""]],
    ["a\\ b c\\'d", ["a b", "c'd"]],
    ['"a\\"b\\\\c\\n"', ['a"b\\c\\n']],
    ["'a\\b'", ["a\\b"]],
    ["x '| & ; < > $( `' \"|;\"", ["x", "| & ; < > $( `", "|;"]],
    ["x a\\|b $HOME ~ *.js", ["x", "a|b", "$HOME", "~", "*.js"]],
    ["  \t ", []],
    ["a \n", ["a"]],
  ])("splits %s", (text, expected) => {
    expect(splitWords(text)).toEqual(expected);
  });

  test("keeps backslashes on Windows", () => {
    expect(splitWords('C:\\bin\\node.exe "C:\\My Files\\a.js" \\"x', true)).toEqual([
      "C:\\bin\\node.exe",
      "C:\\My Files\\a.js",
      '"x',
    ]);
  });

  test.each(["a | b", "a && b", "a; b", "a > f", "a < f", "a $(b)", "a `b`", "a\nb"])(
    "refuses %j, and the hint names sh -c",
    (text) => {
      const { message, hint } = failure(() => splitWords(text));
      expect(message).toMatch(/shell/);
      expect(hint).toMatch(/sh -c/);
    },
  );

  test.each(["a 'b", 'a "b', "a\\"])("refuses %j, which has an unclosed quote or escape", (text) => {
    failure(() => splitWords(text));
  });

  test("returns words in single quotes unchanged", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" })), (words) => {
        const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
        expect(splitWords(line)).toEqual(words);
      }),
    );
  });
});

describe("parseTarget", () => {
  test.each([
    ["https://mcp.example.com/mcp", "http"],
    ["HTTP://localhost:3000", "http"],
    ["ws://localhost:1/x", "websocket"],
    ["wss://h/x", "websocket"],
  ])("the URL %s has the transport %s", (text, transport) => {
    expect(parseTarget(text, context("missing"))).toMatchObject({ kind: "url", transport });
  });

  test("the label of a URL omits query and fragment", () => {
    expect(parseTarget("https://h:8/mcp?key=secret#x", context()).label).toBe("https://h:8/mcp");
  });

  test("splits a command into program and arguments", () => {
    expect(parseTarget("npx -y 'a b'", context())).toEqual({
      kind: "command",
      command: "npx",
      args: ["-y", "a b"],
      label: "npx -y a b",
    });
  });

  test("words after -- are used unchanged, and a missing program is an error", () => {
    expect(commandTarget(["node", "a b;", "|"], context())).toMatchObject({
      command: "node",
      args: ["a b;", "|"],
    });
    expect(failure(() => commandTarget([], context())).message).toMatch(/There is no command after --/);
    const missing = failure(() => commandTarget(["uvx", "x"], context("missing")));
    expect(missing.message).toBe('There is no program "uvx" on the PATH.');
    expect(missing.hint).toMatch(/^Install it \(https:\/\/docs\.astral\.sh\/uv\), /);
    expect(missing.hint).not.toContain("--");
  });

  test.each<[string, CommandState, RegExp, RegExp]>([
    ["linear", "missing", /"linear" is neither a URL nor a command on PATH/, /quoted command/],
    ["npx", "found", /alone is not a server/, /quotes/],
    ["./nope", "missing", /no file "\.\/nope"/, /target is/],
    ["./dir", "directory", /is a directory/, /server\.js/],
    ["./server.py --x", "not-executable", /not executable/, /Try "python3 \.\/server\.py --x"\./],
    ["./data", "not-executable", /not executable/, /Make the file executable/],
    ["localhost:3000/mcp", "missing", /neither/, /http:\/\/localhost:3000\/mcp/],
    ["mcp.example.com", "missing", /neither/, /https:\/\/mcp\.example\.com/],
    ["ftp://x", "missing", /ftp:\/\//, /https:/],
    ["http://", "missing", /is not a URL/, /target/],
    ["", "found", /empty/, /target/],
  ])("refuses %j if the command is: %s", (text, state, message, hint) => {
    const failed = failure(() => parseTarget(text, context(state)));
    expect(failed.message).toMatch(message);
    expect(failed.hint).toMatch(hint);
    expect(isUnknownTarget(failed)).toBe(["linear", "localhost:3000/mcp", "mcp.example.com"].includes(text));
  });

  test("credentials in a URL are refused and not repeated", () => {
    const failed = failure(() => parseTarget("https://me:hunter2@h/mcp", context()));
    expect(JSON.stringify(failed)).not.toContain("hunter2");
    expect(failed.hint).toContain("--header");
  });
});

test("npx, bunx and pnpm dlx need not be installed, because Portolan installs the package", () => {
  for (const text of ["bunx some-server", "pnpm dlx some-server", "npx -y some-server"])
    expect(parseTarget(text, context("missing"))).toMatchObject({ kind: "command", label: text });
  expect(failure(() => parseTarget("uvx some-server", context("missing"))).message).toContain(
    'no program "uvx"',
  );
  expect(failure(() => parseTarget("pnpm start", context("missing"))).message).toContain('no program "pnpm"');
});
