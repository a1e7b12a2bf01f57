import { describe, expect, test } from "vitest";
import { parseMcpfile } from "./read/parse.ts";

function problems(text: string, hints = false): string[] {
  return parseMcpfile(text, "m.yaml").diagnostics.map(
    ({ severity, line, column, message, hint }) =>
      `${severity === "error" ? "" : `${severity} `}${line}:${column} ${message}${hints ? ` | ${hint}` : ""}`,
  );
}

/** A file of 0.0.1 with one tool; its lines start at line 6, column 5. */
function tool(...lines: string[]): string {
  const head = ["mcpFileVersion: 0.0.1", "servers:", "- name: s", "  version: 1.0.0", "  tools:"];
  return [...head, ...lines.map((line, index) => `  ${index === 0 ? "- " : "  "}${line}`)].join("\n");
}

const SCHEMA =
  "inputSchema: {type: object, properties: {name: {type: string}, on: {type: boolean}, count: {type: integer}}}";
/** A tool whose invocation starts at line 9, column 17. */
const invoke = (invocation: string): string =>
  tool("name: t", "description: d", SCHEMA, `invocation: ${invocation}`);
/** The command starts at line 9, column 33, inside of quotes. */
const command = (text: string, more = ""): string =>
  invoke(`{cli: {command: ${JSON.stringify(text)}${more}, appendUnused: true}}`);

test("a variable can be an argument, but not the program", () => {
  const file = (text: string): string =>
    `mcpFileVersion: 0.1.0\nname: a\nversion: 1.0.0\ntools:\n- {name: t, description: d, invocation: {cli: {command: ${JSON.stringify(text)}}}}`;
  expect(problems(file("${BIN}/tool x"))).toEqual(["5:58 the program itself cannot be a variable"]);
  expect(problems(file("tool ${BIN}"))).toEqual([]);
});

test.each(["0.0.1", "0.1.0"])("reads allowPrivate in version %s", (version) => {
  const own = `tools: [{name: t, description: d, inputSchema: {type: object}, invocation: {http: {method: GET, url: "http://a.example", allowPrivate: true}}}]`;
  const text =
    version === "0.0.1"
      ? `mcpFileVersion: 0.0.1\nservers: [{name: a, version: 1.0.0, ${own}}]`
      : `mcpFileVersion: ${version}\nname: a\nversion: 1.0.0\n${own}`;
  const { servers, diagnostics } = parseMcpfile(text, "m.yaml");
  expect(diagnostics).toEqual([]);
  expect(servers[0]?.tools[0]?.invocation).toMatchObject({ allowPrivate: true });
});

describe("an mcpfile as a whole", () => {
  test.each<[string, string, string[]]>([
    ["nothing", "", ["1:1 the file is empty"]],
    ["a list", "- a", ["1:1 an mcpfile is an object with keys"]],
    [
      "broken syntax",
      "a: [",
      [
        "1:5 not valid YAML: flow sequence in block collection must be sufficiently indented and end with a ]",
      ],
    ],
    [
      "no version",
      "servers: []",
      ["1:1 the version is missing: the file has neither kind and schemaVersion nor mcpFileVersion"],
    ],
    [
      "an unknown version",
      "servers: []\nmcpFileVersion: 0.0.2",
      ['2:17 mcpFileVersion "0.0.2" is not supported'],
    ],
    ["a version as number", "mcpFileVersion: 0.1", ['1:17 mcpFileVersion "0.1" is not supported']],
    [
      "a new version by the old key",
      "mcpFileVersion: 0.2.0",
      ['1:17 mcpFileVersion "0.2.0" is not supported'],
    ],
    ["an unknown kind", "kind: MCPTools\nschemaVersion: 0.2.0", ['1:7 kind "MCPTools" is not known']],
    ["no kind", "schemaVersion: 0.2.0", ["1:1 kind is missing"]],
    ["no schemaVersion", "kind: MCPToolDefinitions", ["1:1 schemaVersion is missing"]],
    [
      "an unknown schemaVersion",
      "kind: MCPServerConfig\nschemaVersion: 0.3.0",
      ['2:16 schemaVersion "0.3.0" is not supported'],
    ],
    ["an unknown key", "mcpFileVersion: 0.0.1\nserver: []", ['2:1 unknown key "server"']],
    [
      "servers that are no list",
      "mcpFileVersion: 0.0.1\nservers: {}",
      ["2:10 servers must be a list, not an object"],
    ],
    [
      "a server that is no object",
      "mcpFileVersion: 0.0.1\nservers: [a]",
      ["2:11 servers[0] must be an object with keys, not text"],
    ],
    [
      "a server without name and version",
      "mcpFileVersion: 0.0.1\nservers: [{}]",
      ["2:11 name is missing in servers[0]", "2:11 version is missing in servers[0]"],
    ],
    [
      "an empty name",
      "mcpFileVersion: 0.0.1\nservers: [{name: '', version: 1.0.0}]",
      ["2:18 servers[0].name is empty"],
    ],
    [
      "a name twice",
      "mcpFileVersion: 0.0.1\nservers: [{name: a, version: 1.0.0}, {name: a, version: 1.0.0}]",
      ['2:45 server name "a" is declared here and at line 2, column 18'],
    ],
    [
      "a loose version",
      "mcpFileVersion: 0.0.1\nservers: [{name: a, version: v1}]",
      ['warning 2:30 version "v1" is not a semantic version'],
    ],
    [
      "what a later version has",
      "mcpFileVersion: 0.0.1\nservers: [{name: a, version: 1.0.0, prompts: []}]",
      ['2:37 unknown key "prompts" in servers[0]'],
    ],
    [
      "a runtime",
      "mcpFileVersion: 0.0.1\nservers: [{name: a, version: 1.0.0, runtime: {transportProtocol: http}}]",
      ['2:66 servers[0].runtime.transportProtocol cannot be "http"'],
    ],
    [
      "a port",
      "kind: MCPServerConfig\nschemaVersion: 0.2.0\nruntime: {transportProtocol: stdio, streamableHttpConfig: {port: 70000}, clientTlsConfig: {insecureSkipVerify: true}}",
      [
        "3:66 port 70000 is not a port",
        "warning 3:112 certificates are not checked: anyone on the network can read and change requests",
      ],
    ],
    [
      "runtime in 0.2",
      "kind: MCPToolDefinitions\nschemaVersion: 0.2.0\nname: a\nversion: 1.0.0\nruntime: {transportProtocol: stdio}",
      ['5:1 unknown key "runtime"'],
    ],
  ])("reports errors: %s", (_, text, expected) => {
    expect(problems(text)).toEqual(expected);
  });

  test("the hint about an unknown version lists the supported versions", () => {
    const [problem] = problems("mcpFileVersion: 9", true);
    expect(problem).toBe(
      '1:17 mcpFileVersion "9" is not supported | Portolan supports mcpFileVersion 0.0.1, 0.1.0, 0.1.1, and schemaVersion 0.2.0, 0.2.1, 0.2.2, 0.2.3 with kind MCPToolDefinitions or MCPServerConfig.',
    );
  });
});

describe("tools of an mcpfile", () => {
  test.each<[string, string, string[]]>([
    [
      "nothing of what is required",
      tool("title: T"),
      [
        "6:5 name is missing in servers[0].tools[0]",
        "6:5 description is missing in servers[0].tools[0]",
        "6:5 inputSchema is missing in servers[0].tools[0]",
        "6:5 invocation is missing in servers[0].tools[0]",
      ],
    ],
    ["a tool that is no object", tool("x"), ["6:5 servers[0].tools[0] must be an object with keys"]],
    [
      "an illegal name",
      tool("name: a b", "description: d", "inputSchema: {type: object}", "invocation: {cli: {command: x}}"),
      ['6:11 "a b" cannot be the name of a tool'],
    ],
    [
      "a name that providers refuse",
      tool("name: a.b", "description: d", "inputSchema: {type: object}", "invocation: {cli: {command: x}}"),
      ['warning 6:11 some model providers refuse a tool named "a.b"'],
    ],
    [
      "no invocation key",
      invoke("{}"),
      ["9:17 servers[0].tools[0].invocation must have exactly one key: http or cli"],
    ],
    [
      "two invocation keys",
      invoke("{cli: {command: x}, http: {}}"),
      ["9:37 servers[0].tools[0].invocation must have exactly one key: http or cli"],
    ],
    [
      "an unknown invocation key",
      invoke("{grpc: {}}"),
      ['9:18 unknown key "grpc" in servers[0].tools[0].invocation'],
    ],
    [
      "extends in 0.0.1",
      invoke("{extends: {from: a}}"),
      ['9:18 unknown key "extends" in servers[0].tools[0].invocation'],
    ],
    [
      "an invocation that is text",
      invoke("cli"),
      ["9:17 servers[0].tools[0].invocation must be an object with keys, not text"],
    ],
    [
      "a cli that is text",
      invoke("{cli: ls}"),
      ["9:23 servers[0].tools[0].invocation.cli must be an object with keys, not text"],
    ],
    [
      "a misspelt key",
      invoke("{cli: {comand: ls}}"),
      [
        "9:23 command is missing in servers[0].tools[0].invocation.cli",
        '9:24 unknown key "comand" in servers[0].tools[0].invocation.cli',
      ],
    ],
  ])("report errors: %s", (_, text, expected) => {
    expect(problems(text)).toEqual(expected);
  });
});

test("all problems of one tool are reported at once", () => {
  const text = tool(
    "name: a b",
    "description: d",
    "inputSchema: {type: object, properties: {a: {type: strin}}}",
    'invocation: {cli: {command: "x {", cwd: "}", env: {1: "{"}, timeout: soon, templateVariables: {q: {format: "{"}}}, y: 1}',
  );
  expect(problems(text).map((line) => line.replace(/^\d+:\d+ /, ""))).toEqual([
    '"a b" cannot be the name of a tool',
    'servers[0].tools[0].inputSchema.properties.a.type is not a type: "strin"',
    "a single { is not part of a placeholder",
    "a single } is not part of a placeholder",
    '"1" is not the name of a variable',
    "a single { is not part of a placeholder",
    'servers[0].tools[0].invocation.cli.timeout must be a length of time such as 30, "500ms" or "2m", not "soon"',
    "a single { is not part of a placeholder",
    'unknown key "y" in servers[0].tools[0].invocation',
  ]);
});

test("an error in a tool leaves out this tool; an error outside of tools is not listed in leftOut", () => {
  const good = "{name: t, description: d, inputSchema: {type: object}, invocation: {cli: {command: x}}}";
  const bad = good.replace("command: x", "command: 'x |'").replace("name: t", "name: u");
  const file = (more: string): string =>
    `mcpFileVersion: 0.0.1\nservers: [{name: a, version: 1.0.0, tools: [${good}, ${bad}]${more}}]`;
  const { servers, leftOut, diagnostics } = parseMcpfile(file(""), "m.yaml");
  expect(servers[0]?.tools.map(({ definition }) => definition.name)).toEqual(["t"]);
  expect(leftOut).toEqual(diagnostics);
  expect(leftOut).toMatchObject([{ tool: "u", server: "a" }]);
  const around = parseMcpfile(file(", sandbox: {network: 5}"), "m.yaml");
  expect(around.diagnostics.filter((one) => !around.leftOut.includes(one))).toMatchObject([
    { path: "/servers/0/sandbox/network" },
  ]);
});

describe("warnings about unused arguments", () => {
  const all = "ignoredArguments: [name, on, count]";
  test.each<[string, string[]]>([
    [
      "{cli: {command: 'x {name}'}}",
      ['8:68 the command never uses the argument "on"', '8:89 the command never uses the argument "count"'],
    ],
    ["{cli: {command: 'x {name}', cwd: '{on}', env: {A: '{count}'}}}", []],
    [
      "{cli: {command: 'x {n} {on}', templateVariables: {n: {property: count}}, ignoredArguments: [name]}}",
      [],
    ],
    ["{cli: {command: 'echo {name} $((1 + {count}))', shell: true, ignoredArguments: [on]}}", []],
    ["{cli: {command: x, appendUnused: true}}", []],
    [`{cli: {command: x, ${all}}}`, []],
    [`{cli: {command: 'x {name}', ${all}}}`, ['9:17 "name" is in ignoredArguments, but the command uses it']],
    [
      "{cli: {command: 'x {name} {on} {count}', ignoredArguments: [nam]}}",
      ['9:77 "nam" is not a property of the inputSchema'],
    ],
    ["{http: {method: GET, url: 'http://a.example'}}", []],
    ["{http: {method: POST, url: 'http://a.example/{name}', body: form}}", []],
  ])("for the invocation %s", (invocation, expected) => {
    expect(problems(invoke(invocation))).toEqual(expected);
  });

  test("name each unused property of an object, and the properties outside of bodyRoot", () => {
    const text = (schema: string, invocation: string): string =>
      `kind: MCPToolDefinitions\nschemaVersion: 0.2.0\nname: a\nversion: 1.0.0\ntools:\n- {name: t, description: d, inputSchema: ${schema}, invocation: ${invocation}}`;
    const nested = "{properties: {o: {properties: {a: {}, b: {}}}}}";
    expect(problems(text(nested, "{cli: {command: 'x {o.a}'}}"))).toEqual([
      '6:80 the command never uses the argument "o.b"',
    ]);
    expect(problems(text(nested, "{cli: {command: 'x {o}'}}"))).toEqual([]);
    expect(problems(text(nested, "{cli: {command: 'x {o.a}', ignoredArguments: [o.b]}}"))).toEqual([]);
    const referred = "{allOf: [{$ref: '#/$defs/x'}], $defs: {x: {properties: {a: {}, b: {}}}}}";
    expect(problems(text(referred, "{cli: {command: 'x {a}'}}"))).toEqual([
      '6:29 the command never uses the argument "b"',
    ]);
    const request = (more: string): string =>
      text(
        "{properties: {data: {}, dryRun: {}}}",
        `{http: {method: POST, url: "http://a.example", bodyRoot: data${more}}}`,
      );
    expect(problems(request(""), true)).toEqual([
      '6:66 the request never uses the argument "dryRun" | Put {dryRun} into the url or into a header, list it in query, or leave the argument out. If it deliberately has no effect, write ignoredArguments: [dryRun].',
    ]);
    expect(problems(request(", query: [dryRun]"))).toEqual([]);
    expect(problems(request(", headers: {X-Dry: '{dryRun}'}"))).toEqual([]);
    expect(problems(request(", ignoredArguments: [dryRun]"))).toEqual([]);
  });

  test("name an unused argument of a prompt at its position in the list", () => {
    const prompt = `mcpFileVersion: 0.1.0
name: a
version: 1.0.0
prompts:
- {name: p, description: d, arguments: [{name: a}, {name: b}], invocation: {cli: {command: "x {a}"}}}`;
    expect(problems(prompt)).toEqual(['5:52 the command never uses the argument "b"']);
  });
});

describe("schemas of tools", () => {
  const schema = (text: string): string =>
    tool(
      "name: t",
      "description: d",
      `inputSchema: ${text}`,
      "invocation: {cli: {command: x, appendUnused: true}}",
    );
  test.each<[string, string[]]>([
    ["{}", ["8:18 servers[0].tools[0].inputSchema has no type"]],
    ["x", ["8:18 servers[0].tools[0].inputSchema must be an object with keys, not text"]],
    ["{type: string}", ["8:25 servers[0].tools[0].inputSchema must have type: object"]],
    [
      "{type: object, properties: {a: {type: strin}}}",
      ['8:56 servers[0].tools[0].inputSchema.properties.a.type is not a type: "strin"'],
    ],
    ["{type: object, propertis: {}}", ['8:33 "propertis" is not a keyword of JSON Schema']],
    [
      "{type: object, properties: {a: {}}, required: [a, b]}",
      ['8:68 "b" is required, but not among the properties'],
    ],
    [
      "{type: object, properties: {a: {type: string, items: {}}}}",
      ["warning 8:64 items has no effect with type: string"],
    ],
    [
      "{type: object, required: a}",
      ["8:43 servers[0].tools[0].inputSchema.required must be a list of names"],
    ],
    [
      "{type: object, properties: {a: {type: array, items: {type: object, additionalProperties: 1}}}}",
      [
        "8:107 servers[0].tools[0].inputSchema.properties.a.items.additionalProperties must be true, false or a schema",
      ],
    ],
    ["{type: object, properties: {a: {type: string, enum: [x], default: x}}}", []],
    ["{type: object, properties: , required: }", []],
    ["{type: object, properties: {a: , title: }, required: [a, title]}", []],
    ["{type: object, description: d, properties: {type: {type: 'null'}}, additionalProperties: false}", []],
  ])("report errors: %s", (text, expected) => {
    expect(problems(schema(text))).toEqual(expected);
  });

  test("from version 0.1 on can use every keyword of JSON Schema", () => {
    const text = (schema: string): string =>
      `mcpFileVersion: 0.1.0\nname: a\nversion: 1.0.0\ntools:\n- {name: t, description: d, inputSchema: ${schema}, invocation: {cli: {command: "x {a.b}"}}}`;
    expect(
      problems(
        text(
          "{type: object, properties: {a: {$ref: '#/$defs/x'}}, $defs: {x: {type: [object, 'null']}}, required: [z]}",
        ),
      ),
    ).toEqual([]);
    expect(problems(text("{properties: {a: {properties: {b: {own: 1}}}}}"))).toEqual([]);
    expect(problems(text("{properties: {a: {properties: {b: {descriptio: x}}}}}"))).toEqual([
      'warning 5:77 "descriptio" is not a keyword of JSON Schema',
    ]);
  });
});

describe("templates and commands", () => {
  test.each<[string, string[]]>([
    ["echo {name} {{literal}} }}", []],
    ["echo {name", ["9:39 a single { is not part of a placeholder"]],
    ["echo name}", ["9:43 a single } is not part of a placeholder"]],
    ["echo {}", ["9:39 a placeholder has no name"]],
    ["echo {nam}", ['9:39 "{nam}" is not a property of the inputSchema']],
    ["echo {name.first}", ['9:39 "{name.first}" is not a property of the inputSchema']],
    ['echo {"a": 1}', ['9:33 "{\\"a\\": 1}" is not a property of the inputSchema']],
    ["ls | wc", ["9:37 an unquoted | needs a shell"]],
    ["ls & ls", ["9:37 an unquoted & needs a shell"]],
    ["ls; ls", ["9:36 an unquoted ; needs a shell"]],
    ["ls > x", ["9:37 an unquoted > needs a shell"]],
    ["ls < x", ["9:37 an unquoted < needs a shell"]],
    ["echo $(ls)", ["9:39 $( runs a command inside of a command, which needs a shell"]],
    ["echo `ls`", ["9:39 ` runs a command inside of a command, which needs a shell"]],
    ["echo '$(ls) | ; & < > `'", []],
    ["echo \\| \\; \\$ \\{{", []],
    ["echo 'a", ["9:39 a ' is not closed"]],
    ["echo a\\", ["9:40 the text ends with a backslash"]],
    ["{name} x", ["9:34 the caller of the tool cannot choose the program itself"]],
    ["a{name} x", ["9:34 the caller of the tool cannot choose the program itself"]],
    ["A=1 ls", ["9:34 a variable before the program needs a shell"]],
    ["ls $HOME", ["warning 9:37 $HOME is passed to the program as literal text"]],
    ["ls *.txt", ["warning 9:37 * is passed to the program as literal text"]],
    ["ls ~/x", ["warning 9:37 ~ is passed to the program as literal text"]],
    [" ", ["9:34 the command is empty"]],
  ])("report errors in %j", (text, expected) => {
    expect(problems(command(text))).toEqual(expected);
  });

  test("report positions in a command of several lines", () => {
    const text = tool(
      "name: t",
      "description: d",
      SCHEMA,
      "invocation:",
      "  cli:",
      "    command: |",
      "      ls",
      "      echo {nam}",
    );
    expect(problems(text)).toEqual([
      "12:13 a command of several lines needs a shell",
      '13:16 "{nam}" is not a property of the inputSchema',
    ]);
    const script = text.replace("    command: |", "    shell: sh\n        command: |");
    expect(problems(script)).toEqual(['14:16 "{nam}" is not a property of the inputSchema']);
  });

  test.each<[string, string[]]>([
    ["{x: {}}", ['9:74 the command has no placeholder "{x}"']],
    ["{name: {property: nam}}", ['9:91 "nam" is not a property of the inputSchema']],
    [
      "{name: {format: '-n {name} {on}'}}",
      [
        "9:100 servers[0].tools[0].invocation.cli.templateVariables.name.format has more than one placeholder: {name} and {on}",
      ],
    ],
    ["{name: {format: '-n {other}'}}", []],
    ["{name: {format: '-n | {name}'}}", ["9:93 an unquoted | needs a shell"]],
    [
      "{name: {formt: a}}",
      ['9:81 unknown key "formt" in servers[0].tools[0].invocation.cli.templateVariables.name'],
    ],
    [
      "{name: {omitIfFalse: yes}}",
      [
        "9:94 servers[0].tools[0].invocation.cli.templateVariables.name.omitIfFalse must be true or false, not text",
      ],
    ],
    ["{on: {format: '--on now'}}", ['9:46 "{on}" becomes 2 words, but it is a part of one word']],
  ])("report errors in templateVariables: %s", (variables, expected) => {
    const found = problems(command("echo {name} {on}x", `, templateVariables: ${variables}`));
    expect(found.map((problem) => problem.replaceAll(/\s+/g, " "))).toEqual(expected);
  });

  test("have hints with the correct name or notation", () => {
    expect(problems(command("echo {nmae}"), true)[0]).toMatch(/\| Did you mean "name"\?$/);
    expect(problems(command('echo {"name"}'), true)[0]).toMatch(/For braces as such write \{\{ and \}\}\.$/);
    expect(problems(command("a | b"), true)[0]).toMatch(/Quote it .* or write shell: true/);
  });
});

describe("shell scripts", () => {
  const calculates = (opener: string): string =>
    `a value inside of ${opener} could run commands, because the shell evaluates it as arithmetic`;
  test.each<[string, string[]]>([
    ["ls | wc -l {name}", []],
    ['x="{name}"; echo \'{name}\' $(ls {name}) "$x" "$(ls {name})" `ls {name}` # {name}', []],
    ["cat <<EOF\n{name}\nEOF", []],
    ["x=${{y}} a=$((1+1)) [[ $x == y ]] && ls a[0-9] {name}", []],
    ["echo $(( {name} ))", [calculates("((")]],
    ["[[ {name} -eq 1 ]]", [calculates("[[")]],
    ["a[{name}]=1", [calculates("a[")]],
    ["echo $[{name}]", [calculates("$[")]],
    ["echo ${{x:{name}}}", [calculates("${")]],
    ["echo $(( {count} )); [[ {count} -eq 1 ]]", []],
    ["echo \\{name}", ["a placeholder cannot follow directly after a backslash"]],
    ["echo \\\\{name}", []],
    ["echo ${name}", ["a placeholder cannot follow directly after $"]],
  ])("report unsafe placeholders in %j", (text, expected) => {
    const found = problems(command(text, ", shell: true"));
    expect(found.map((problem) => problem.replace(/^\S+ /, ""))).toEqual(expected);
  });

  test.each<[string, boolean]>([
    ["server {name} & echo started", true],
    ["server {name} &", true],
    ["server {name} & wait", false],
    ["a && b {name} 2>&1 | c |& d &> e", false],
    ["echo 'a & b' \"c & d\" e\\&f {name} # & g", false],
  ])("warn about background processes in %j", (text, isWarned) => {
    const found = problems(command(text, ", shell: true"));
    expect(found.map((problem) => problem.replace(/^warning \S+ /, ""))).toEqual(
      isWarned ? ["processes that the script leaves in the background are stopped when it returns"] : [],
    );
  });

  test("refuse a placeholder as the program, and an unknown shell", () => {
    expect(problems(command("{name} x", ", shell: sh"))).toEqual([
      "9:34 the caller of the tool cannot choose the program itself",
    ]);
    expect(problems(command("x", ", shell: zsh"))).toEqual([
      '9:45 servers[0].tools[0].invocation.cli.shell cannot be "zsh"',
    ]);
  });
});
