import { expect, test } from "vitest";
import { isPortolanError } from "../../errors/index.ts";
import { parseServerOptions, parseTime } from "./parse.ts";

test.each<[string, number | undefined]>([
  ["30", 30_000],
  ["1.5", 1_500],
  ["500ms", 500],
  ["2m", 120_000],
  ["1h", 3_600_000],
  ["0.2s", 200],
  ["0", undefined],
  ["-1", undefined],
  ["abc", undefined],
  ["", undefined],
  ["9999h", undefined],
  ["1e3", undefined],
])('parseTime reads "%s" as %s ms', (text, expected) => {
  expect(parseTime(text)).toBe(expected);
});

test("parseServerOptions reads headers, environment and limits", () => {
  const options = parseServerOptions(
    {
      header: ["Authorization: Bearer a:b", "X-A:1"],
      env: ["A=b=c", "TOKEN"],
      timeout: "5",
      startTimeout: "100ms",
      maxTime: "1m",
      era: "modern",
      transport: "sse",
    },
    { TOKEN: "secret" },
  );
  expect(options.headers).toEqual({ Authorization: "Bearer a:b", "X-A": "1" });
  expect(options.env).toEqual({ A: "b=c", TOKEN: "secret" });
  expect(options.limits).toEqual({ requestTimeoutMs: 5_000, startTimeoutMs: 100, maxRequestMs: 60_000 });
  expect(options).toMatchObject({ era: "modern", transport: "sse", input: true, verbose: false });
});

test("parseServerOptions reports all problems at once", () => {
  try {
    parseServerOptions(
      {
        header: ["nocolon", "Bad Name: x", "X: a\nb"],
        env: ["=x", "UNSET"],
        timeout: "soon",
        era: "modem",
        transport: "stdio",
      },
      {},
    );
    expect.unreachable();
  } catch (thrown) {
    if (!isPortolanError(thrown)) throw thrown;
    expect(thrown.code).toBe("USAGE");
    expect(thrown.data["problems"]).toHaveLength(8);
    expect(thrown.message).toContain('Did you mean "modern"?');
  }
});
