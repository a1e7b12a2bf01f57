import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseMcpfile } from "../formats/mcpfile/index.ts";
import { convertOpenApi } from "./convert.ts";
import { MAX_DESCRIPTION } from "./limits.ts";
import type { ConvertedApi, ConvertOptions } from "./types.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- read back from text, and looked into everywhere
type Loose = any;

const spec = (more: object): object => ({
  openapi: "3.0.3",
  info: { title: "Test", version: "1.0.0" },
  servers: [{ url: "https://a.example" }],
  ...more,
});
const convert = (more: object, options: Partial<ConvertOptions> = {}): ConvertedApi & { file: Loose } => {
  const result = convertOpenApi(JSON.stringify(spec(more)), { file: "api.json", ...options });
  expect(parseMcpfile(result.mcpfile || "kind: x", "m.yaml").servers[0]?.tools.length ?? 0).toBe(
    result.tools,
  );
  return { ...result, file: result.mcpfile === "" ? undefined : parse(result.mcpfile) };
};
const one = (operation: object, more: object = {}): Loose =>
  convert({ paths: { "/x": { post: operation } }, ...more }).file?.tools[0];
const messages = ({ diagnostics }: ConvertedApi): string[] => diagnostics.map(({ message }) => message);
const GET = { get: { responses: {} } };

describe("the base URL", () => {
  const urlFor = (more: object, baseUrl?: string): unknown => {
    const result = convert({ paths: { "/x": GET }, ...more }, { baseUrl });
    return result.file?.invocationBases.api.http.url ?? messages(result);
  };

  it.each([
    [[{ url: "https://a.example/v1/" }], undefined, "https://a.example/v1"],
    [[{ url: "https://a.example/v1" }], "http://localhost:8080/", "http://localhost:8080"],
    [[{ url: "/v1" }], "https://b.example", "https://b.example/v1"],
    [[{ url: "/" }], "https://b.example/api", "https://b.example/api"],
    [[{ url: "ws://a.example" }, { url: "https://b.example" }], undefined, "https://b.example"],
    [
      [{ url: "https://a.example/{b}", variables: { b: { default: "{x}" } } }],
      undefined,
      "https://a.example/%7Bx%7D",
    ],
    [undefined, "https://b.example/api/", "https://b.example/api"],
    [
      [{ url: "/v1" }],
      undefined,
      [`the server's URL "/v1" is relative; give a base URL (--base-url https://host/path)`],
    ],
    [
      undefined,
      undefined,
      [`the server's URL "/" is relative; give a base URL (--base-url https://host/path)`],
    ],
    [
      [{ url: "https://{a}.example" }],
      undefined,
      [`the variable "a" of a server's URL has no default; give a base URL (--base-url https://host/path)`],
    ],
    [
      [{ url: "https://me:secret@a.example" }],
      undefined,
      [
        "a server's URL contains a user name or a password; give a base URL (--base-url https://host/path) without it",
      ],
    ],
    [[{ url: "//other.example/v1" }], "https://b.example/api", "https://b.example/api"],
    [[{ url: "/\\other.example/v1" }], "https://b.example/api", "https://b.example/api"],
    [[], "ftp://b.example", ['the base URL "ftp://b.example" is not an http or https URL']],
    [
      [],
      "https://b.example?a=1",
      [
        'the base URL "https://b.example?a=1" has a query or a fragment; it must end with a path, because the paths of operations are appended',
      ],
    ],
    [
      [],
      "https://me:secret@b.example",
      ["the base URL contains a user name or a password, which a file must not contain"],
    ],
  ])("is chosen from the servers %j and the option %j", (servers, baseUrl, expected) => {
    expect(urlFor({ servers }, baseUrl)).toEqual(expected);
  });

  it("in the option replaces the servers of a path and of an operation, with a warning", () => {
    const own = [{ url: "https://public.example/v2" }];
    const paths = {
      "/a": { get: { operationId: "a", servers: own, responses: {} } },
      "/b": { servers: own, get: { operationId: "b", responses: {} } },
      "/c": { servers: [{ url: "/v3" }], get: { operationId: "c", responses: {} } },
    };
    const description = { servers: [{ url: "https://api.example/v1" }], paths };
    const given = convert(description, { baseUrl: "http://localhost:8080/test" });
    expect(given.mcpfile).not.toMatch(/public\.example|api\.example/);
    expect(Object.values(given.file?.invocationBases).map((base: Loose) => base.http.url)).toEqual([
      "http://localhost:8080/test",
      "http://localhost:8080/v3",
    ]);
    expect(given.diagnostics).toMatchObject([
      {
        severity: "warning",
        message: 'GET /a declares its own server "https://public.example/v2"; the given base URL replaces it',
        path: "/paths/~1a/get/servers/0",
      },
    ]);
    expect(convert(description).mcpfile).toContain("https://public.example/v2");
  });

  it("of a fetched description is resolved against its URL, for each operation", () => {
    const paths = {
      "/a": { get: { operationId: "a", servers: [{ url: "https://other.example" }], responses: {} } },
      "/b": { get: { operationId: "b", responses: {} } },
    };
    const documentUrl = "https://doc.example/docs/openapi.json";
    const urls = (more: object): unknown[] =>
      Object.values(convert({ paths, ...more }, { documentUrl }).file?.invocationBases).map(
        (base: Loose) => base.http.url,
      );
    expect(urls({ servers: [{ url: "../v1" }] })).toEqual([
      "https://other.example",
      "https://doc.example/v1",
    ]);
    expect(urls({ servers: undefined })).toEqual(["https://other.example", "https://doc.example"]);
  });

  it("gives one error if it is relative, and all operations are skipped", () => {
    const result = convert({ servers: [{ url: "v1" }], paths: { "/x": GET, "/y": GET } });
    expect(result).toMatchObject({ mcpfile: "", tools: 0 });
    expect(result.diagnostics).toMatchObject([{ severity: "error", line: 1, path: "/servers/0" }]);
    expect(result.skipped).toHaveLength(2);
  });

  it.each([
    [{ host: "h.example", schemes: ["http"] }, "http://h.example"],
    [{ host: "h.example:8443", basePath: "v2" }, "https://h.example:8443/v2"],
    [{ host: "h.example/evil" }, undefined],
    [{ basePath: "/v2" }, undefined],
  ])("of Swagger 2 comes from host, basePath and schemes: %j", (more, expected) => {
    const text = JSON.stringify({ swagger: "2.0", info: {}, paths: { "/x": GET }, ...more });
    const { mcpfile } = convertOpenApi(text, { file: "a.json" });
    expect(parse(mcpfile)?.invocationBases.api.http.url).toBe(expected);
  });
});

describe("names", () => {
  it("are legal, unique and short", () => {
    const long = "a".repeat(100);
    const ids = ["get pets!", "get/pets", "", "__proto__", long, `${long}b`, "été"];
    const paths = Object.fromEntries(
      ids.map((operationId, index) => [`/${index}`, { get: { operationId } }]),
    );
    const names: string[] = convert({ paths }).file.tools.map((tool: Loose) => tool.name);
    expect(names.slice(0, 4)).toEqual(["get_pets", "get_pets_2", "get_2", "proto"]);
    expect(names[6]).toBe("ete");
    expect(new Set(names).size).toBe(7);
    for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it("do not depend on the option only", () => {
    const paths = { "/a": { get: { operationId: "x" } }, "/b": { get: { operationId: "x" } } };
    expect(convert({ paths }, { only: ["/b"] }).file.tools[0].name).toBe("x_2");
  });

  it("of the server come from the title of the API, or from the option name", () => {
    const paths = { "/x": GET };
    expect(convert({ paths, info: { title: "My Ünïque API (v2)" } }).file).toMatchObject({
      name: "my-unique-api-v2",
      version: "1.0.0",
    });
    expect(convert({ paths }, { name: "Other" }).file.name).toBe("other");
  });
});

describe("the option only", () => {
  const paths = {
    "/pets": { get: { operationId: "listPets", tags: ["pets"] }, post: { operationId: "addPet" } },
    "/users/{id}": { get: { operationId: "getUser", parameters: [{ name: "id", in: "path" }] } },
  };

  it.each([
    ["*pet*", ["listPets", "addPet"]],
    ["get *", ["listPets", "getUser"]],
    ["/users/*", ["getUser"]],
    ["tag:pets", ["listPets"]],
    ["POST /pets", ["addPet"]],
  ])("selects operations by %s", (pattern, expected) => {
    expect(convert({ paths }, { only: [pattern] }).file.tools.map((tool: Loose) => tool.name)).toEqual(
      expected,
    );
  });

  it("reports a pattern that matches nothing", () => {
    const result = convert({ paths }, { only: ["nothing*"] });
    expect(result).toMatchObject({ mcpfile: "", skipped: [] });
    expect(messages(result)).toEqual([
      "there is no operation that can become a tool",
      'no operation matches "nothing*"',
    ]);
  });
});

describe("parameters", () => {
  const tool = (parameters: object[], path = "/x"): Loose =>
    convert({ paths: { [path]: { get: { parameters } } } });

  it("that cannot be sent are left out; if they are required, the operation is skipped", () => {
    const object = { name: "o", in: "header", schema: { type: "object" } };
    expect(tool([object]).file.tools[0].inputSchema.properties).toEqual({});
    expect(tool([{ ...object, required: true }]).skipped[0].reason).toBe(
      'its parameter "o" is an object in the style "simple", which a tool cannot send',
    );
    expect(tool([{ name: "a b", in: "header", required: true }]).skipped[0].reason).toContain(
      "no header can have",
    );
    expect(tool([{ in: "query" }]).skipped[0].reason).toBe('one of its parameters has no "name" or no "in"');
  });

  it("for headers that HTTP sets itself are ignored", () => {
    const result = tool(
      ["Accept", "authorization", "Host", "Content-Length"].map((name) => ({ name, in: "header" })),
    );
    expect(result.file.tools[0].invocation.extends.extend).toEqual({ url: "/x" });
  });

  it("with reserved names, such as env and __proto__, get other names", () => {
    const names = ["headers", "env", "constructor", "__proto__"];
    const { properties } = tool(names.map((name) => ({ name, in: "query" }))).file.tools[0].inputSchema;
    expect(Object.keys(properties)).toEqual(["headers_query", "env_query", "constructor_", "proto"]);
    expect(
      tool([{ name: "id", in: "path" }], "/${id}/a b/%zz/ä#x").file.tools[0].invocation.extends.extend.url,
    ).toBe("/%24{id}/a%20b/%25zz/%C3%A4");
  });

  it("in the path can have the styles label and matrix", () => {
    const parameters = [
      { name: "a", in: "path", style: "label", schema: { type: "string" } },
      { name: "b", in: "path", style: "matrix", schema: { type: "string" } },
      { name: "c", in: "path", schema: { type: "array", items: {} } },
    ];
    const [{ inputSchema, invocation }] = tool(parameters, "/{a}/{b}/{c}").file.tools;
    expect(invocation.extends.extend.url).toBe("/.{a}/;b={b}/{c}");
    expect(inputSchema.properties.c.type).toBe("string");
  });

  it("in several cookies are left out if they are optional", () => {
    const cookie = (name: string, required: boolean): object => ({ name, in: "cookie", required });
    const result = tool([cookie("a", true), cookie("b", false), cookie("c", true)]);
    expect(result.file.tools[0].invocation.extends.extend.headers).toEqual({ Cookie: "a={a}; c={c}" });
    expect(Object.keys(result.file.tools[0].inputSchema.properties)).toEqual(["a", "c"]);
  });
});

describe("security", () => {
  const securitySchemes = {
    a: { type: "http", scheme: "Bearer" },
    b: { type: "openIdConnect" },
    c: { type: "apiKey", in: "header", name: "X-Key" },
    d: { type: "http", scheme: "digest" },
  };
  const headers = (security: object[]): Loose =>
    convert({ components: { securitySchemes }, security, paths: { "/x": GET } }).file.invocationBases.api.http
      .headers;

  it.each([
    [[{ a: [] }], { Authorization: "Bearer ${TEST_A}" }],
    [[{ d: [] }, { a: [], b: [] }, { c: [] }], { "X-Key": "${TEST_API_KEY}" }],
    [[{ c: [], b: [] }], { "X-Key": "${TEST_API_KEY}", Authorization: "Bearer ${TEST_B}" }],
    [[{ d: [] }], undefined],
    [[{ nothing: [] }], undefined],
    [[{}], undefined],
  ])("gives headers for the requirements %j", (security, expected) => {
    expect(headers(security)).toEqual(expected);
  });
});

describe("schemas", () => {
  const body = (schema: unknown): object => ({
    requestBody: { content: { "application/json": { schema } } },
  });
  const property = (schema: unknown): Loose =>
    one(body({ type: "object", properties: { p: schema } })).inputSchema.properties.p;

  it.each([
    [{ type: "any", minLength: "x", required: true, enum: [], items: 5, "x-y": 1, xml: {} }, {}],
    [{ type: "string", pattern: "(" }, { type: "string" }],
    [{ maximum: 5, exclusiveMaximum: true }, { exclusiveMaximum: 5 }],
    [
      { type: "array", items: [{ type: "string" }] },
      { type: "array", prefixItems: [{ type: "string" }] },
    ],
    [{ type: "string", nullable: true }, { type: ["string", "null"] }],
    [{ nullable: true }, {}],
    [5, {}],
  ])("of the form %j are normalized", (schema, expected) => {
    expect(property(schema)).toEqual(expected);
  });

  it("a part of allOf does not require a read-only property of another part", () => {
    const components = {
      schemas: {
        Id: { type: "object", properties: { id: { type: "string", readOnly: true } } },
        Full: { type: "object", required: ["id", "name"], properties: { name: { type: "string" } } },
      },
    };
    const both = { allOf: [{ $ref: "#/components/schemas/Id" }, { $ref: "#/components/schemas/Full" }] };
    const tool = one(body({ type: "object", properties: { p: both } }), { components });
    expect(tool.inputSchema.properties.p.allOf[1]).toEqual({
      type: "object",
      required: ["name"],
      properties: { name: { type: "string" } },
    });
  });

  it.each([
    ["#/nowhere", 'the reference "#/nowhere" points to nothing'],
    ["#/info/title", 'the reference "#/info/title" does not point to a schema'],
    ["#/components/schemas/A", 'the reference "#/components/schemas/A" is circular'],
    ["#anchor", 'the reference "#anchor" has a form that is not supported'],
    ["http://x/y.json", 'it refers to another file, "http://x/y.json", which Portolan does not read'],
  ])("an operation with the $ref %s is skipped", ($ref, reason) => {
    const components = {
      schemas: { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } },
    };
    const paths = { "/x": { post: body({ type: "object", properties: { p: { $ref } } }) }, "/y": GET };
    const result = convert({ components, paths });
    expect(result.skipped).toMatchObject([{ operation: "POST /x", reason }]);
    expect(result.tools).toBe(1);
  });

  it("long descriptions are cut", () => {
    expect(one({ description: "x".repeat(20_000) }).description).toHaveLength(MAX_DESCRIPTION);
  });

  it("a tool has an outputSchema only if all success responses have the same object or list", () => {
    const json = (schema: object): object => ({ content: { "application/json": { schema } } });
    const object = { type: "object", properties: { a: {} } };
    expect(one({ responses: { 200: json(object), 400: json({}) } }).outputSchema).toEqual(object);
    expect(one({ responses: { 200: json(object), 204: {} } }).outputSchema).toBeUndefined();
    const list = { type: "array", items: object };
    expect(one({ responses: { 200: json(list) } }).outputSchema).toEqual(list);
    expect(one({ responses: { 200: json({ type: "string" }) } }).outputSchema).toBeUndefined();
    expect(
      one({ responses: { 200: json(object), 201: json({ type: "object" }) } }).outputSchema,
    ).toBeUndefined();
    expect(one({ responses: { 200: json({ ...object, nullable: true }) } }).outputSchema).toBeUndefined();
    expect(one({ responses: { 200: json({ $ref: "other.json" }) } }).outputSchema).toBeUndefined();
  });
});
