import { expect, test } from "vitest";
import type { Invocation } from "../../../model/index.ts";
import { parseMcpfile } from "./parse.ts";
import { renderTemplate, renderWords } from "../write/render.ts";

/** The bases start at line 5, column 3; the invocation is at line 30. */
function file(bases: readonly string[], invocation: string): string {
  const head = [
    "mcpFileVersion: 0.1.1",
    "name: a",
    "version: 1.0.0",
    "invocationBases:",
    ...bases.map((base) => `  ${base}`),
  ];
  const tool = [
    "tools:",
    "- name: t",
    "  description: d",
    "  inputSchema: {type: object, properties: {x: {type: string}}}",
  ];
  const blank = Array.from({ length: 29 - head.length - tool.length }, () => "");
  return [...head, ...blank, ...tool, `  invocation: {extends: ${invocation}}`].join("\n");
}

const problems = (text: string): string[] =>
  parseMcpfile(text, "f.yaml").diagnostics.map(
    ({ severity, line, column, message }) =>
      `${severity === "error" ? "" : `${severity} `}${line}:${column} ${message}`,
  );

function invocation(text: string): Invocation | undefined {
  expect(problems(text)).toEqual([]);
  return parseMcpfile(text, "f.yaml").servers[0]?.tools[0]?.invocation;
}

const API = ["api: {http: {method: GET, url: 'https://a.example', headers: {A: a, B: b}, query: [x]}}"];

test("extend concatenates strings, merges maps and appends to lists", () => {
  const found = invocation(
    file(API, "{from: api, extend: {url: '/{x}', headers: {B: c, C: d}, query: [x]}}"),
  );
  if (found?.kind !== "http") throw new Error("not http");
  expect(renderTemplate(found.url)).toBe("https://a.example/{x}");
  expect(found.headers.map(({ name, value }) => `${name}: ${renderTemplate(value)}`)).toEqual([
    "A: a",
    "B: c",
    "C: d",
  ]);
  expect(found.query).toEqual(["x", "x"]);
});

test("override replaces values", () => {
  const found = invocation(
    file(API, "{from: api, override: {method: POST, headers: {Z: z}, url: 'https://b.example/'}}"),
  );
  expect(found).toMatchObject({
    method: "POST",
    rest: "json",
    url: [{ text: "https://b.example/" }],
    headers: [{ name: "Z" }],
  });
});

test.each(["[A]", "{A: ''}", "{A: whatever}"])("remove deletes the headers in %s", (names) => {
  expect(invocation(file(API, `{from: api, remove: {headers: ${names}, query: [x]}}`))).toMatchObject({
    headers: [{ name: "B" }],
    query: [],
  });
});

test("remove deletes a string", () => {
  expect(problems(file(API, "{from: api, remove: {url: any}}"))).toEqual([
    "30:25 url is missing in tools[0].invocation.extends",
  ]);
});

test("a base can be incomplete, and can extend another base", () => {
  const bases = [
    "git: {cli: {command: git}}",
    "log: {extends: {from: git, extend: {command: ' log', env: {A: '1'}}}}",
  ];
  const found = invocation(file(bases, "{from: log, extend: {command: ' {x}'}}"));
  if (found?.kind !== "cli") throw new Error("not cli");
  expect(renderWords(found.words, () => "")).toBe("git log {x}");
  expect(found.env).toMatchObject([{ name: "A" }]);
});

test.each<[string, readonly string[], string, string[]]>([
  ["an unknown base", API, "{from: apy}", ['30:32 there is no invocation base "apy"']],
  ["no from", API, "{extend: {url: /x}}", ["30:25 from is missing in tools[0].invocation.extends"]],
  [
    "an unknown key",
    API,
    "{from: api, change: {}}",
    ['30:37 unknown key "change" in tools[0].invocation.extends'],
  ],
  [
    "an unknown field",
    API,
    "{from: api, extend: {ulr: /x}}",
    ['30:46 unknown key "ulr" in tools[0].invocation.extends.extend'],
  ],
  [
    "a field of the other kind",
    API,
    "{from: api, override: {command: x}}",
    ['30:48 unknown key "command" in tools[0].invocation.extends.override'],
  ],
  [
    "an unknown field to remove",
    API,
    "{from: api, remove: {ulr: x}}",
    ['30:46 unknown key "ulr" in tools[0].invocation.extends.remove'],
  ],
  [
    "one field in two",
    API,
    "{from: api, extend: {url: /x}, override: {url: 'https://b'}}",
    ["30:67 cannot use multiple operations on url: extend, override"],
  ],
  [
    "nothing to override with",
    API,
    "{from: api, override: {allowPrivate: false}}",
    ["warning 30:48 override with an empty value does nothing: allowPrivate"],
  ],
  [
    "a number to extend",
    ["api: {http: {method: GET, url: 'https://a.example', maxResponseBytes: 5}}"],
    "{from: api, extend: {maxResponseBytes: 5}}",
    ["30:46 maxResponseBytes cannot be extended"],
  ],
  [
    "a base that is broken, told once",
    ["api: {http: {ulr: x}}"],
    "{from: api}",
    ['5:16 unknown key "ulr" in invocationBases.api.http'],
  ],
  [
    "a base of no kind",
    ["api: {}"],
    "{from: api}",
    ["5:8 invocationBases.api must have exactly one key: http, cli or extends"],
  ],
  ["itself", ["a: {extends: {from: a}}"], "{from: a}", ['5:23 the invocation base "a" extends itself']],
  [
    "a circle",
    ["a: {extends: {from: b}}", "b: {extends: {from: a}}"],
    "{from: a}",
    ['6:23 the invocation base "a" extends itself'],
  ],
  [
    "what is wrong only when put together",
    API,
    "{from: api, extend: {url: '{x}'}}",
    ["30:51 the scheme, host and port of the url cannot contain a value of the call"],
  ],
])("reports errors: %s", (_, bases, how, expected) => {
  expect(problems(file(bases, how))).toEqual(expected);
});

test("many tools that extend one large base give an error within seconds", () => {
  const bases = `  api: {http: {method: GET, url: "https://a.example/${"x".repeat(60_000)}"}}`;
  const tools = Array.from(
    { length: 5_000 },
    (_, index) => `- {name: t${index}, description: d, invocation: {extends: {from: api}}}`,
  );
  const text = [
    "mcpFileVersion: 0.1.1",
    "name: a",
    "version: 1.0.0",
    "invocationBases:",
    bases,
    "tools:",
    ...tools,
  ].join("\n");
  const before = process.cpuUsage();
  expect(problems(text)).toEqual([expect.stringMatching(/ all tools of this file together are too large$/)]);
  expect(process.cpuUsage(before).user).toBeLessThan(10_000_000);
});
