// Hostile values, against a real program that prints its arguments and a real server that returns its request.

import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  argv,
  atEnd,
  http,
  openTool,
  record,
  shell,
  strings,
  template,
  textOf,
  variable,
} from "../../test/helpers/invoke.ts";

const SHELL = [
  "x; touch pwned #",
  "x && touch pwned",
  "x | touch pwned",
  "x || touch pwned",
  "x & touch pwned",
  "$(touch pwned)",
  "`touch pwned`",
  "x\ntouch pwned",
  "x\r\ntouch pwned",
  "'; touch pwned; '",
  '"; touch pwned; "',
  "'$(touch pwned)'",
  "\\'; touch pwned; \\'",
  "${IFS}touch${IFS}pwned",
  "> pwned",
  "< /etc/passwd",
  ">(touch pwned)",
  "{touch,pwned}",
  "*",
  "?(a)",
  "~root",
  "!!",
  "#",
  "\\",
  "a b  c\td",
  "'",
  '"',
  "$HOME",
  "%PATH%",
  "^& calc",
  "EOF\ntouch pwned\n",
  "a[$(touch pwned)]",
];

const TEMPLATES = [
  "$&",
  "$`",
  "$'",
  "$1$$",
  "{other}",
  "{{other}}",
  "${SECRET}",
  "{env.SECRET}",
  "{headers.Authorization}",
  "%s%n%d",
  "__proto__",
  "constructor",
];

const PLACES = [
  "../../admin",
  "..%2f..%2fadmin",
  "%2e%2e",
  "%2E%2E/%2e",
  "a/b",
  "a\\b",
  "?admin=1",
  "#fragment",
  "x?y#z",
  "a&role=admin",
  "a;role=admin",
  "//evil.test/x",
  "http://evil.test/",
  "@evil.test/",
  ":80@evil.test",
  "evil.test\\@good",
  "①②⑦.⓪.⓪.①",
  "evil。test",
  "ｅｖｉｌ.test",
  "%00",
  "%0d%0aHost: evil.test",
  "\u202egnp.exe",
  "\ufeffx",
  "😀",
  "a+b c",
  "x".repeat(5_000),
];

const OPTIONS = [
  "-",
  "--",
  "-rf",
  "--upload-pack=touch pwned;",
  "-oProxyCommand=touch pwned",
  "--help",
  "-\u0000x",
];
const BAD = ["a\u0000b", "\ud800"];
const DOTS = [".", ".."];
const LINES = ["x\r\nX-Evil: 1", "x\nX-Evil: 1", "x\r\n\r\nGET /evil HTTP/1.1", "x\u0000", "żółć", "\u2028"];

const PLAIN = [...SHELL, ...TEMPLATES, ...PLACES];

test("the lists contain more than 80 hostile values", () => {
  expect(new Set([...PLAIN, ...OPTIONS, ...BAD, ...DOTS, ...LINES]).size).toBeGreaterThan(80);
});

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-inject-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const schema = {
  type: "object",
  properties: {
    v: { type: "string" },
    other: { type: "string" },
    list: { type: "array", items: { type: "string" } },
  },
};

describe("arguments of a command", () => {
  test("a hostile value stays one argument", async () => {
    const folder = emptyFolder();
    const words = ["clone", "{v}", "--name={v}", variable("v", "--depth {v}"), "pre-{v}-{other}", "last"];
    const { call } = await openTool(argv(words, { cwd: [{ kind: "text", text: folder }] }), schema, {
      env: { SECRET: "s3cret" },
    });
    for (const v of PLAIN) {
      const result = await call({ v, other: "OTHER" });
      expect(result.isError, v).toBeUndefined();
      expect(JSON.parse(textOf(result)), v).toEqual([
        "clone",
        v,
        `--name=${v}`,
        "--depth",
        v,
        `pre-${v}-OTHER`,
        "last",
      ]);
    }
    expect(existsSync(join(folder, "pwned"))).toBe(false);
  });

  test.each(OPTIONS)("a value that could be an option is refused: %j", async (v) => {
    const whole = await openTool(argv(["{v}"]), schema);
    expect((await whole.call({ v })).isError).toBe(true);
    const format = await openTool(argv([variable("v", "--depth {v}")]), schema);
    expect((await format.call({ v })).isError).toBe(true);
    const list = await openTool(argv(["{list}"]), schema);
    expect((await list.call({ list: ["fine", v] })).isError).toBe(true);
    const second = await openTool(argv(["{other}{v}"]), schema);
    expect((await second.call({ other: "", v })).isError).toBe(true);
    const script = await openTool(shell("echo {v}"), schema);
    expect((await script.call({ v })).isError).toBe(true);
    const two = await openTool(shell('echo "{other}{v}"'), schema);
    expect((await two.call({ other: "", v })).isError).toBe(true);
  });

  test("a value that begins with a dash is accepted if the schema or the template allows it", async () => {
    const { call } = await openTool(argv(["{flag}", "{dashed}", "{n}", "-x{v}"]), {
      type: "object",
      properties: {
        flag: { enum: ["-a", "-b"] },
        dashed: { type: "string", pattern: "^-[a-z]+$" },
        n: { type: "integer" },
        v: { type: "string" },
      },
    });
    const result = await call({ flag: "-a", dashed: "-long", n: -5, v: "-rf" });
    expect(JSON.parse(textOf(result))).toEqual(["-a", "-long", "-5", "-x-rf"]);
    const loose = { type: "object", properties: { v: { type: "string", pattern: "^[a-z-]+$" } } };
    expect((await (await openTool(argv(["{v}"]), loose)).call({ v: "-rf" })).isError).toBe(true);
  });

  test("NUL is refused", async () => {
    const { call } = await openTool(argv(["a{v}"], { env: [{ name: "V", value: [] }] }), schema);
    expect(textOf(await call({ v: "a\0b" }))).toContain("NUL");
  });

  test("a value that is too long for any program gives an error that says so", async () => {
    const { call } = await openTool(argv(["{v}"]), schema);
    const result = await call({ v: "x".repeat(3_000_000) });
    expect(textOf(result)).toBe("The command cannot be started: its arguments are too long.");
  });

  test("a caller cannot choose the program, or a folder outside of the given one", async () => {
    const { upstream, reports } = await openTool(
      {
        kind: "cli",
        words: [{ kind: "word", parts: [{ kind: "input", path: ["v"] }] }],
        appendUnused: false,
      },
      schema,
    );
    expect(reports).toMatchObject([{ code: "TOOL_DROPPED", tool: "it" }]);
    expect(upstream.describe().capabilities).toEqual({});
    const folder = emptyFolder();
    const inside = await openTool(
      argv([], {
        cwd: [
          { kind: "text", text: `${folder}/` },
          { kind: "input", path: ["v"] },
        ],
      }),
      schema,
    );
    mkdirSync(join(folder, "real"));
    symlinkSync(emptyFolder(), join(folder, "out"));
    symlinkSync("real", join(folder, "in"));
    for (const v of ["real", "in"])
      expect(textOf(await inside.call({ v })), v).not.toContain("lead to a folder outside of");
    for (const v of ["..", "../..", "a/../../b", "../portolan-inject-evil", "out", "in/../out"])
      expect(textOf(await inside.call({ v })), v).toContain("lead to a folder outside of");
  });

  test("argument names that the schema does not declare are never passed on", async () => {
    const open = { type: "object", properties: { a: { type: "string" } }, additionalProperties: true };
    const { call } = await openTool(argv([], { appendUnused: true }), open);
    expect(textOf(await call({ "upload-pack": "x", a: "-y" }))).toContain("does not use the argument");
    expect(JSON.parse(textOf(await call({ a: "-y" })))).toEqual(["--a=-y"]);
  });
});

describe("scripts", () => {
  const places: [string, string][] = [
    ["bare", "printf '%s' {v}"],
    ["double", `printf '%s' "{v}"`],
    ["single", "printf '%s' '{v}'"],
    ["ansi", "printf '%s' $'{v}'"],
    ["substitution", `printf '%s' "$(printf '%s.' {v})"`],
    ["nested", `printf '%s' "$(printf '%s.' "{v}")"`],
    ["backticks", "printf '%s' \"`printf '%s.' {v}`\""],
    ["here", "cat <<EOF\n{v}\nEOF\n"],
    ["indented here", "cat <<-END\n\t{v}\n\tEND\n"],
    ["after a comment", "# it's a trap\nprintf '%s' {v}"],
    ["after arithmetic", "x=$((1<<2)); printf '%s' {v}"],
    ["after a parameter", "x=abc; y=${x#a}; printf '%s' {v}"],
    ["pipe", "printf '%s' {v} | cat"],
  ];
  test.each(places)("a value is never code: %s", async (name, code) => {
    const folder = emptyFolder();
    const parts = code
      .split(/(\{v\})/)
      .map((piece) =>
        piece === "{v}"
          ? ({ kind: "input", path: ["v"] } as const)
          : ({ kind: "text", text: piece } as const),
      );
    const { call, reports } = await openTool(
      shell(parts, { cwd: [{ kind: "text", text: folder }] }),
      schema,
      {
        env: { SECRET: "s3cret" },
      },
    );
    expect(reports).toEqual([]);
    // All calls at once, because the start of a shell takes most of the time.
    await Promise.all(
      PLAIN.map(async (v) => {
        const result = await call({ v });
        expect(result.isError, v).toBeUndefined();
        const dotted = ["substitution", "nested", "backticks"].includes(name);
        const here = name.includes("here");
        expect(textOf(result), v).toBe(here ? `${v}\n` : dotted ? `${v}.` : v);
      }),
    );
    expect(existsSync(join(folder, "pwned"))).toBe(false);
  });

  test.each([
    "{v}",
    '"{v}" x',
    "echo a; {v}",
    "true &&{v}",
    "echo | {v}",
    "x=$({v})",
    "x=`{v}`",
    "if {v}; then echo; fi",
    "eval {v}",
    "\n\n  {v}",
    "# comment\n{v}",
    "cat <<E\nx\nE\n{v}",
    "echo $(( {v} + 1 ))",
    "echo $((1+{v}))",
    "(( {v} ))",
    'echo "{v}',
    "echo \\{v}",
    'echo "\\{v}"',
    "echo '{v}",
  ])("a script in which a value would be code is refused when the server opens: %j", async (code) => {
    const { reports } = await openTool(shell(code), schema);
    expect(reports).toMatchObject([{ code: "TOOL_DROPPED" }]);
  });

  test("the diagnostic of a script with an open quote names the quote", async () => {
    const { reports } = await openTool(shell('echo "{v}'), schema);
    expect(reports).toMatchObject([
      {
        message:
          'the tool "it" is left out: the shell script in "command" has a quote, a parenthesis or a backtick that is not closed',
      },
    ]);
  });

  test.each([
    "echo {v}",
    "echo \\\n  {v}",
    'echo "; {v}"',
    "x=({v}); echo $x",
    "x={v}; echo $x",
    "echo eval-{v}",
    "cat < {v}",
  ])("a script in which a value cannot be code is accepted: %j", async (code) => {
    const parts = code
      .split(/(\{v\})/)
      .map((piece) =>
        piece === "{v}"
          ? ({ kind: "input", path: ["v"] } as const)
          : ({ kind: "text", text: piece } as const),
      );
    expect((await openTool(shell(parts), schema)).reports).toEqual([]);
  });

  test("a number may be part of arithmetic, and an enum value may be the program", async () => {
    const numbers = {
      type: "object",
      properties: { n: { type: "integer" }, p: { enum: ["echo", "printf"] } },
    };
    for (const program of ["bash", "sh"] as const) {
      const code = { program, script: template("{p} $(({n} * 2))") };
      const { call } = await openTool(shell("", { shell: code }), numbers);
      expect(textOf(await call({ n: 4, p: "printf" })), program).toBe("8");
    }
  });

  test("a value in a here-document that is not expanded is refused when the server opens", async () => {
    const { reports } = await openTool(shell("cat <<'EOF'\n{v}\nEOF\n"), schema);
    expect(reports[0]?.message).toContain("here-document");
  });
});

describe("requests", () => {
  test("a hostile value stays in its part of the URL", async () => {
    const recorder = await record();
    const { call } = await openTool(
      http("GET", `${recorder.origin}/api/users/{v}/profile?q={v}&fixed=1`, { headers: { "X-Fixed": "1" } }),
      { ...schema, additionalProperties: true },
      { env: { SECRET: "s3cret" } },
    );
    await call({ v: "plain", other: "o" });
    const count = recorder.requests[0]?.rawHeaders.length;
    const refused: string[] = [];
    for (const v of [...PLAIN, ...OPTIONS.slice(0, -1), ...LINES.filter((line) => !line.includes("\0"))]) {
      const before = recorder.requests.length;
      const result = await call({ v, other: v });
      if (result.isError === true) {
        expect(recorder.requests.length, v).toBe(before);
        refused.push(v);
        continue;
      }
      const request = recorder.requests[before];
      const url = new URL(request?.url ?? "", recorder.origin);
      expect(url.origin, v).toBe(recorder.origin);
      expect(url.pathname.split("/").map(decodeURIComponent), v).toEqual(["", "api", "users", v, "profile"]);
      expect([...url.searchParams], v).toEqual([
        ["q", v],
        ["fixed", "1"],
        ["other", v],
      ]);
      expect(request?.rawHeaders.length, v).toBe(count);
      expect(request?.headers.host, v).toBe(`127.0.0.1:${recorder.port}`);
    }
    expect(refused).toEqual(["../../admin"]);
  });

  test.each([...DOTS, "", ...BAD, "./x", "a/../b", "..\\x"])("a path segment cannot be %j", async (v) => {
    const recorder = await record();
    const { call } = await openTool(http("GET", `${recorder.origin}/users/{v}/profile`), schema);
    expect((await call({ v })).isError).toBe(true);
    const half = await openTool(http("GET", `${recorder.origin}/users/.{v}`), schema);
    if (v === "." || v === "") expect((await half.call({ v })).isError).toBe(true);
    expect(recorder.requests).toEqual([]);
  });

  test.each(LINES)("a header cannot hold %j", async (v) => {
    const recorder = await record();
    const { call } = await openTool(
      http("GET", recorder.origin, { headers: { "X-Value": "a {v}" } }),
      schema,
    );
    expect((await call({ v })).isError).toBe(true);
    expect(recorder.requests).toEqual([]);
  });

  test.each([
    "http://{v}.test/",
    "http://{v}/",
    "{v}",
    "http://x{v}",
    "http://x:80{v}",
    "{v}://x/",
    "file:///{v}",
    "http://x@{v}/",
  ])("an argument cannot be part of the host: %s", async (url) => {
    const { reports } = await openTool(http("GET", url), schema);
    expect(reports).toMatchObject([{ code: "TOOL_DROPPED" }]);
  });

  test.each(["Host", "Content-Length", "Transfer-Encoding", "Connection", "a b", "x\r\ny"])(
    "a header that HTTP needs itself cannot be declared: %j",
    async (name) => {
      const { reports } = await openTool(
        http("GET", "http://localhost/", { headers: { [name]: "{v}" } }),
        schema,
      );
      expect(reports).toMatchObject([{ code: "TOOL_DROPPED" }]);
    },
  );

  test("a JSON body contains a hostile value as a string", async () => {
    const recorder = await record();
    const { call } = await openTool(http("POST", `${recorder.origin}/x`), schema);
    for (const v of PLAIN) {
      await call({ v });
      expect(JSON.parse(recorder.requests.at(-1)?.body ?? "")).toEqual({ v });
    }
  });

  test("an argument cannot repeat a query parameter that the URL sets", async () => {
    const recorder = await record();
    const { call } = await openTool(http("GET", `${recorder.origin}/?role=user`), {
      ...strings("v"),
      additionalProperties: true,
    });
    expect(textOf(await call({ role: "admin" }))).toContain('The argument "role" is not allowed');
  });
});
