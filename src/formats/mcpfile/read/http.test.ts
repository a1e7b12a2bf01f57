import { describe, expect, test } from "vitest";
import { parseMcpfile } from "./parse.ts";

function problems(text: string): string[] {
  return parseMcpfile(text, "m.yaml").diagnostics.map(
    ({ severity, line, column, message }) =>
      `${severity === "error" ? "" : `${severity} `}${line}:${column} ${message}`,
  );
}

const SCHEMA = "inputSchema: {type: object, properties: {name: {type: string}, on: {type: boolean}}}";

/** A file of 0.0.1 with one tool, whose invocation starts at line 9, column 17. */
const http = (fields: string): string =>
  [
    "mcpFileVersion: 0.0.1",
    "servers:",
    "- name: s",
    "  version: 1.0.0",
    "  tools:",
    "  - name: t",
    "    description: d",
    `    ${SCHEMA}`,
    `    invocation: {http: {${fields}}}`,
  ].join("\n");

describe("HTTP invocations", () => {
  test.each<[string, string[]]>([
    ["method: get, url: 'https://a.example/{name}?x={on}#f'", []],
    ["method: DELETE, url: 'http://localhost:80/', body: json", []],
    [
      "method: OPTIONS, url: 'https://a.example'",
      ['9:33 servers[0].tools[0].invocation.http.method cannot be "OPTIONS"'],
    ],
    ["url: 'https://a.example'", ["9:24 method is missing in servers[0].tools[0].invocation.http"]],
    ["method: GET, url: 'ftp://a.example'", ["9:43 the url must start with http:// or https://"]],
    ["method: GET, url: a.example", ["9:43 the url must start with http:// or https://"]],
    [
      "method: GET, url: 'https://{name}/'",
      ["9:43 the scheme, host and port of the url cannot contain a value of the call"],
    ],
    [
      "method: GET, url: 'https://{name}@a.example/'",
      ["9:43 the scheme, host and port of the url cannot contain a value of the call"],
    ],
    [
      "method: GET, url: 'https://a.example:{name}/'",
      ["9:43 the scheme, host and port of the url cannot contain a value of the call"],
    ],
    [
      "method: GET, url: 'https://a.example{name}'",
      ["9:43 the scheme, host and port of the url cannot contain a value of the call"],
    ],
    [
      "method: GET, url: '{name}://a.example'",
      ["9:43 the scheme, host and port of the url cannot contain a value of the call"],
    ],
    ["method: GET, url: 'https://a b/'", ["9:43 the url contains white space"]],
    ["method: GET, url: 'https://a:b/'", ["9:43 the url is not a URL"]],
    ["method: GET, url: 'https://a.example/{nam}'", ['9:62 "{nam}" is not a property of the inputSchema']],
    [
      "method: GET, url: 'https://{name}/{nam}'",
      [
        "9:43 the scheme, host and port of the url cannot contain a value of the call",
        '9:59 "{nam}" is not a property of the inputSchema',
      ],
    ],
    ["method: GET, url: 'https://a.example', body: json", ["9:64 a GET request has no body"]],
    [
      "method: POST, url: 'https://a.example', body: xml",
      ['9:71 servers[0].tools[0].invocation.http.body cannot be "xml"'],
    ],
    [
      "method: POST, url: 'https://a.example', query: [nam]",
      ['9:73 "nam" is not a property of the inputSchema'],
    ],
    [
      "method: GET, url: 'https://a.example', timeout: soon",
      [
        '9:73 servers[0].tools[0].invocation.http.timeout must be a length of time such as 30, "500ms" or "2m", not "soon"',
      ],
    ],
    [
      "method: GET, url: 'https://a.example', headers: {}",
      ['9:64 unknown key "headers" in servers[0].tools[0].invocation.http'],
    ],
  ])("of version 0.0.1: %s", (fields, expected) => {
    expect(problems(http(fields))).toEqual(expected);
  });

  const later = (fields: string): string =>
    `mcpFileVersion: 0.1.1\nname: a\nversion: 1.0.0\ntools:\n- name: t\n  description: d\n  ${SCHEMA}\n  invocation: {http: {${fields}}}`;
  test.each<[string, string[]]>([
    ["method: GET, url: '${BASE}/{name}', headers: {A: '{name}{headers.B}${C}{env.D}'}", []],
    ["method: GET, url: '${SCHEME}://a.example:${PORT}/{name}'", []],
    [
      "method: GET, url: '${BASE}{name}'",
      ["8:41 the scheme, host and port of the url cannot contain a value of the call"],
    ],
    [
      "method: GET, url: '${SCHEME}://{name}/'",
      ["8:41 the scheme, host and port of the url cannot contain a value of the call"],
    ],
    [
      "method: GET, url: 'https://{headers.Host}/'",
      ["8:41 the scheme, host and port of the url cannot contain a value of the call"],
    ],
    ["method: GET, url: 'https://a.example', headers: {Host: a}", ["8:72 the header Host cannot be set"]],
    [
      "method: GET, url: 'https://a.example', headers: {content-length: 1}",
      ["8:72 the header content-length cannot be set"],
    ],
    [
      "method: GET, url: 'https://a.example', headers: {Transfer-Encoding: a}",
      ["8:72 the header Transfer-Encoding cannot be set"],
    ],
    [
      "method: GET, url: 'https://a.example', headers: {Connection: a}",
      ["8:72 the header Connection cannot be set"],
    ],
    ["method: GET, url: 'https://a.example', headers: {a b: c}", ['8:72 "a b" is not the name of a header']],
    [
      "method: GET, url: 'https://a.example', headers: {A: b, a: c}",
      ["8:78 the header a is declared twice: first at line 8"],
    ],
    [
      'method: GET, url: "https://a.example", headers: {A: "b\\nc"}',
      ["8:75 the header A contains a line break or another control character"],
    ],
    [
      "method: GET, url: 'https://a.example', headers: {A: '{headers.b c}'}",
      ['8:76 "b c" is not the name of a header'],
    ],
    [
      "method: POST, url: 'https://a.example', bodyRoot: name",
      ['8:63 unknown key "bodyRoot" in tools[0].invocation.http'],
    ],
    [
      "method: POST, url: 'https://a.example', bodyAsArray: true",
      ['8:63 unknown key "bodyAsArray" in tools[0].invocation.http'],
    ],
  ])("of version 0.1.1: %s", (fields, expected) => {
    expect(problems(later(fields))).toEqual(expected);
  });

  test.each<[string, string[]]>([
    ["method: POST, url: 'https://a.example', bodyAsArray: true", []],
    ["method: POST, url: 'https://a.example', bodyRoot: 'name.'", ['9:73 bodyRoot "name." is not a path']],
    [
      "method: POST, url: 'https://a.example', bodyRoot: nam",
      ['9:73 "nam" is not a property of the inputSchema'],
    ],
    [
      "method: POST, url: 'https://a.example', bodyRoot: name, bodyAsArray: true",
      ["9:79 bodyRoot and bodyAsArray exclude each other"],
    ],
    [
      "method: GET, url: 'https://a.example', bodyRoot: name",
      ["9:62 bodyRoot needs a JSON body, which this GET request does not have"],
    ],
  ])("of version 0.2: %s", (fields, expected) => {
    const head = "kind: MCPToolDefinitions\nschemaVersion: 0.2.0";
    expect(problems(later(fields).replace("mcpFileVersion: 0.1.1", head))).toEqual(expected);
  });
});

describe("prompts and resources", () => {
  const later = (lines: string): string => `mcpFileVersion: 0.1.1\nname: a\nversion: 1.0.0\n${lines}`;
  const how = "invocation: {cli: {command: x}}";
  test.each<[string, string, string[]]>([
    [
      "a prompt without anything",
      "prompts: [{}]",
      [
        "4:11 name is missing in prompts[0]",
        "4:11 description is missing in prompts[0]",
        "4:11 invocation is missing in prompts[0]",
      ],
    ],
    [
      "a prompt's name twice",
      `prompts: [{name: p, description: d, ${how}}, {name: p, description: d, ${how}}]`,
      ['4:78 prompt name "p" is declared here and at line 4, column 18'],
    ],
    [
      "an argument without name",
      `prompts: [{name: p, description: d, arguments: [{required: true}], ${how}}]`,
      ["4:49 name is missing in prompts[0].arguments[0]"],
    ],
    [
      "a resource without uri",
      `resources: [{name: r, description: d, ${how}}]`,
      ["4:13 uri is missing in resources[0]"],
    ],
    [
      "a uri that is none",
      `resources: [{name: r, description: d, uri: 'a b', ${how}}]`,
      ['4:44 "a b" is not a URI'],
    ],
    [
      "a uri twice",
      `resources: [{name: r, description: d, uri: 'a:b', ${how}}, {name: s, description: d, uri: 'a:b', ${how}}]`,
      ['4:116 uri "a:b" is declared here and at line 4, column 44'],
    ],
    [
      "a value in a resource",
      "resources: [{name: r, description: d, uri: 'a:b', inputSchema: {type: object, properties: {x: {}}}, invocation: {cli: {command: 'x {x}'}}}]",
      ['4:132 "{x}" is not known: there are no arguments here'],
    ],
    [
      "a template without placeholders",
      `resourceTemplates: [{name: r, description: d, uriTemplate: 'a:b', ${how}}]`,
      ["4:60 the uriTemplate has no {name}"],
    ],
    [
      "a template with a lone brace",
      `resourceTemplates: [{name: r, description: d, uriTemplate: 'a:{b', ${how}}]`,
      ["4:60 the uriTemplate has an unmatched brace"],
    ],
    [
      "a template with an odd expression",
      `resourceTemplates: [{name: r, description: d, uriTemplate: 'a:{!b}', ${how}}]`,
      ['4:60 "{!b}" is not an expression of RFC 6570'],
    ],
    [
      "a template with an unknown name",
      `resourceTemplates: [{name: r, description: d, uriTemplate: 'a:{+b,c*}', inputSchema: {type: object, properties: {b: {}}}, invocation: {cli: {command: 'x {b}'}}}]`,
      ['4:60 "c" is not a property of the inputSchema'],
    ],
  ])("report errors: %s", (_, lines, expected) => {
    expect(problems(later(lines))).toEqual(expected);
  });
});
