import { describe, expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import type { OutputStream } from "../context.ts";
import type { RawOptions } from "../options/parse.ts";
import { createColors } from "../terminal/colors.ts";
import { createOutput, describeError, exitCodeOf } from "./output.ts";

function stream(isTTY: boolean): OutputStream & { text: () => string } {
  const parts: string[] = [];
  return { isTTY, write: (text) => parts.push(text) > 0, text: () => parts.join("") };
}

test.each<[boolean, RawOptions, "text" | "json"]>([
  [true, {}, "text"],
  [true, { json: true }, "json"],
  [false, {}, "json"],
  [false, { text: true }, "text"],
])("the output with terminal: %s and options %j is %s", (isTTY, raw, form) => {
  expect(createOutput({ stdout: stream(isTTY), stderr: stream(true), env: {} }, raw).form).toBe(form);
});

const error = new PortolanError("SERVER_START_FAILED", "it broke\u001b[2J\ntwice", {
  server: "srv\u202e",
  tool: "t",
  stderr: "line 1\n\u001b]0;title\u0007line 2\n",
  hint: "look",
  cause: new Error("why"),
});

describe("errors", () => {
  test("as JSON: one line on stderr, nothing on stdout", () => {
    const io = { stdout: stream(false), stderr: stream(false), env: {} };
    createOutput(io, {}).error(error);
    expect(io.stdout.text()).toBe("");
    expect(io.stderr.text().split("\n")).toHaveLength(2);
    expect(JSON.parse(io.stderr.text())).toEqual({ error: error.toJSON() });
    expect(io.stderr.text()).toContain("\\u202e");
  });

  test("as text: message, server and tool, last stderr lines, and hint", () => {
    expect(describeError(error, createColors(false))).toBe(
      [
        "error it broke",
        "      twice [SERVER_START_FAILED]",
        "   at srv\ufffd › t",
        "   the last lines of the server's stderr:",
        "   │ line 1",
        "   │ ␛]0;title␇line 2",
        " hint look",
      ].join("\n"),
    );
    expect(describeError(error, createColors(false), true)).toContain("cause Error: why");
    const ofGateway = new PortolanError("SERVER_START_FAILED", "no", { stderr: "x", data: { log: "a.log" } });
    expect(describeError(ofGateway, createColors(false))).toContain("the last lines of the gateway's log:");
  });

  test("as text at a terminal: wrapped between words, without a server that the message names", () => {
    const httpError = new PortolanError("HTTP_ERROR", "https://h/mcp answered HTTP 503 and nothing else", {
      server: "https://h/mcp",
      hint: "Check the URL and the server's health.",
    });
    expect(describeError(httpError, createColors(false), false, 32)).toBe(
      [
        "error https://h/mcp answered",
        "      HTTP 503 and nothing else",
        "      [HTTP_ERROR]",
        " hint Check the URL and the",
        "      server's health.",
      ].join("\n"),
    );
  });

  test("have exit codes from the table of error codes", () => {
    expect(exitCodeOf(error)).toBe(3);
    expect(exitCodeOf(new PortolanError("TIMEOUT", ""))).toBe(124);
    expect(exitCodeOf({ code: "FROM_A_NEWER_COPY" } as never)).toBe(70);
  });
});

test("--quiet omits notes, but prints results and errors", () => {
  const io = { stdout: stream(true), stderr: stream(true), env: {} };
  const output = createOutput(io, { quiet: true, color: false });
  output.note("x");
  expect(io.stderr.text()).toBe("");
  output.print("result");
  output.error(error);
  expect(io.stdout.text()).toBe("result\n");
  expect(io.stderr.text()).toContain("it broke");
});

test("a spinner is hidden around notes and stopped by a result", () => {
  const seen: string[] = [];
  const note = (text: string): boolean => seen.push(text) > 0;
  const output = createOutput(
    { stdout: { isTTY: true, write: note }, stderr: { isTTY: true, write: note }, env: {} },
    {},
  );
  output.around({
    hide: () => seen.push("hide"),
    show: () => seen.push("show"),
    stop: () => seen.push("stop"),
  });
  output.note("note");
  output.print("result");
  expect(seen).toEqual(["hide", "note\n", "show", "stop", "result\n"]);
});

test("a result that is nested deeper than the call stack is printed as JSON", () => {
  const deep = `{"a":[1,${"[".repeat(100_000)}${"]".repeat(100_000)}],"b":"\u202e"}`;
  const io = { stdout: stream(false), stderr: stream(false), env: {} };
  createOutput(io, {}).json(JSON.parse(deep));
  expect(io.stdout.text()).toBe(`${deep.replace("\u202e", "\\u202e")}\n`);
});
