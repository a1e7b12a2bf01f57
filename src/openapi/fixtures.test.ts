import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { parseMcpfile } from "../formats/mcpfile/index.ts";
import { convertOpenApi } from "./convert.ts";
import type { ConvertedApi } from "./types.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- read back from text, and looked into everywhere
type Loose = any;

const folder = join(import.meta.dirname, "../../test/fixtures/openapi");
const load = (file: string): ConvertedApi & { file: Loose; tools: number; tool: (name: string) => Loose } => {
  const result = convertOpenApi(readFileSync(join(folder, file), "utf8"), { file });
  const written: Loose = parse(result.mcpfile);
  return {
    ...result,
    file: written,
    tool: (name) => written.tools.find((tool: Loose) => tool.name === name),
  };
};
const urlOf = (tool: Loose): string => tool.invocation.extends.extend.url;
const headersOf = (tool: Loose): Loose => tool.invocation.extends.extend.headers;
const overrideOf = (tool: Loose): Loose => tool.invocation.extends.override;
const found = ({ diagnostics }: ConvertedApi): string[] =>
  diagnostics.map(({ severity, line, column, message }) => `${severity} ${line}:${column} ${message}`);

describe.each(["petstore-3.0.json", "shop-3.1.yaml", "petstore-2.0.yaml"])("%s", (file) => {
  it("gives an mcpfile without diagnostics, and the same text each time", () => {
    const text = readFileSync(join(folder, file), "utf8");
    const { mcpfile, tools } = convertOpenApi(text, { file });
    const read = parseMcpfile(mcpfile, "mcpfile.yaml");
    expect(read.diagnostics).toEqual([]);
    expect(read.servers[0]?.tools).toHaveLength(tools);
    expect(convertOpenApi(text, { file }).mcpfile).toBe(mcpfile);
    expect(mcpfile).toContain(`# Made by portolan from ${file}: `);
    // Block style throughout: flow collections are only the empty ones.
    expect(mcpfile).not.toMatch(/^\s*(?:- )?[\w-]+: [[{](?![\]}])/m);
  });
});

describe("OpenAPI 3.0 in JSON", () => {
  const api = load("petstore-3.0.json");

  it("the mcpfile has the name, version, instructions and base URLs of the API", () => {
    expect(api.file).toMatchObject({
      kind: "MCPToolDefinitions",
      schemaVersion: "0.2.0",
      name: "petstore",
      version: "1.0.17",
      instructions: "A shop for pets.",
      invocationBases: {
        api: {
          http: {
            method: "GET",
            url: "https://eu.petstore.example/v3",
            headers: { Authorization: "Bearer ${PETSTORE_TOKEN}" },
          },
        },
        "api-2": { http: { method: "GET", url: "https://eu.petstore.example/v3" } },
      },
    });
    expect(api.needs).toEqual(["PETSTORE_TOKEN", "PETSTORE_KEY", "PETSTORE_SESSION"]);
    expect(api.file.tools.map((tool: Loose) => tool.name)).toEqual([
      "listPets",
      "createPet",
      "get_pet_by_id",
      "replacePet",
      "delete_pets_petId",
      "setTags",
    ]);
  });

  it("listPets: parameters in query and header", () => {
    const tool = api.tool("listPets");
    expect(tool).toMatchObject({
      title: "List pets",
      description: "Lists the pets of the shop,\nnewest first.",
      annotations: { readOnlyHint: true, openWorldHint: true },
    });
    expect(tool.outputSchema).toMatchObject({ type: "array", items: { $ref: "#/$defs/Pet" } });
    expect(tool.inputSchema).toEqual({
      type: "object",
      properties: {
        "X-Trace-Id": { type: "string", format: "uuid" },
        limit: { type: "integer", exclusiveMinimum: 0, maximum: 100, default: 20 },
        status: { type: "array", items: { $ref: "#/$defs/Status" }, description: "Only these" },
        ids: {
          type: "string",
          description: "Only these pets. One value, or several with commas between them.",
        },
        filter: {
          type: "object",
          properties: { name: { type: "string" }, age: { type: "integer" } },
          additionalProperties: false,
        },
        page_size: { type: "integer" },
      },
      additionalProperties: false,
      $defs: { Status: { type: "string", enum: ["available", "sold"] } },
    });
    expect(tool.invocation).toEqual({
      extends: {
        from: "api",
        extend: {
          url: "/pets?limit={limit}&status={status}&ids={ids}&filter%5Bname%5D={filter.name}&filter%5Bage%5D={filter.age}&page%5Bsize%5D={page_size}",
          headers: { "X-Trace-Id": "{X-Trace-Id}" },
        },
        override: { method: "GET" },
      },
    });
  });

  it("createPet: properties of the body become arguments, without read-only properties", () => {
    const { inputSchema, outputSchema, ...tool } = api.tool("createPet");
    expect(Object.keys(inputSchema.properties)).toEqual([
      "X-Trace-Id",
      "name",
      "nick",
      "pin",
      "status",
      "parent",
      "kind",
    ]);
    expect(inputSchema).toMatchObject({
      required: ["name"],
      properties: {
        name: { type: "string", minLength: 1, examples: ["Rex"] },
        nick: { type: ["string", "null"], enum: ["a", "b", null] },
        parent: { anyOf: [{ allOf: [{ $ref: "#/$defs/Pet" }] }, { type: "null" }] },
        kind: { oneOf: [{ type: "string" }, { type: "integer" }] },
      },
      $defs: { Pet: { required: ["name"] } },
    });
    expect(inputSchema.properties.kind).toEqual({ oneOf: [{ type: "string" }, { type: "integer" }] });
    expect(outputSchema).toMatchObject({ type: "object", required: ["id", "name"] });
    expect(outputSchema.properties).toHaveProperty("id");
    expect(outputSchema.properties).not.toHaveProperty("pin");
    expect(tool.description).toBe("Add a pet");
    expect(tool.annotations).toEqual({ openWorldHint: true });
    expect(headersOf(tool)).toEqual({ Accept: "application/json", "X-Trace-Id": "{X-Trace-Id}" });
    expect(overrideOf(tool)).toEqual({ method: "POST" });
  });

  it("get_pet_by_id: the first supported security requirement, in the query and a cookie", () => {
    const tool = api.tool("get_pet_by_id");
    expect(tool.invocation.extends.from).toBe("api-2");
    expect(urlOf(tool)).toBe("/pets/{petId}?api_key=${PETSTORE_KEY}");
    expect(headersOf(tool)).toEqual({ Cookie: "SID=${PETSTORE_SESSION}" });
    expect(tool.inputSchema.required).toEqual(["petId"]);
    expect(tool.outputSchema).toMatchObject({
      type: "object",
      allOf: [{ $ref: "#/$defs/Pet" }, { type: "object", properties: {} }],
    });
  });

  it("replacePet and setTags: the body as one argument", () => {
    const replace = api.tool("replacePet");
    expect(replace.invocation.extends).toEqual({
      from: "api-2",
      extend: { url: "/pets/{petId}" },
      override: { method: "PUT", bodyRoot: "body" },
    });
    expect(replace.inputSchema.properties.body.properties).toHaveProperty("petId");
    expect(replace.inputSchema.required).toEqual(["petId", "body"]);
    expect(replace.annotations).toEqual({ idempotentHint: true, openWorldHint: true });
    expect(replace.description).toBe("Sends a PUT request to /pets/{petId}.");
    const tags = api.tool("setTags");
    expect(tags.inputSchema.properties.body).toEqual({
      type: "array",
      items: { type: "string" },
      description: "All its tags",
    });
    expect(overrideOf(tags)).toEqual({ method: "PUT", bodyRoot: "body" });
  });

  it("delete_pets_petId: a generated name and description", () => {
    expect(api.tool("delete_pets_petId")).toMatchObject({
      description: "Deprecated. Sends a DELETE request to /pets/{petId}.",
      annotations: { destructiveHint: true, openWorldHint: true },
    });
  });

  it("operations that cannot become tools are skipped, with position and reason", () => {
    expect(api.skipped.map(({ operation, reason }) => `${operation}: ${reason}`)).toEqual([
      "OPTIONS /pets/{petId}/photo: a tool cannot send OPTIONS",
      'POST /pets/{petId}/photo: its body is "multipart/form-data"; a tool can send JSON and forms',
      'GET /elsewhere: it refers to another file, "other.json#/components/parameters/X", which Portolan does not read',
    ]);
    const lines = readFileSync(join(folder, "petstore-3.0.json"), "utf8").split("\n");
    for (const { line, column } of api.skipped) expect(lines[line - 1]?.slice(column - 1)).toMatch(/^["{]/);
    expect(found(api).filter((text) => text.startsWith("info"))).toEqual([
      expect.stringContaining('the tool takes the list "ids" as one text, with commas'),
    ]);
  });
});

describe("OpenAPI 3.1 in YAML", () => {
  const api = load("shop-3.1.yaml");

  it("orders_count: names that clash, JSON in a query, a cookie", () => {
    const tool = api.tool("orders_count");
    expect(urlOf(tool)).toBe(
      "/orders/{orderId}/$count?$filter={filter}&orderId={orderId_query}&where={where}",
    );
    expect(headersOf(tool)).toEqual({ Cookie: "tracking={tracking}" });
    expect(tool.inputSchema.properties.where).toEqual({
      type: "string",
      contentMediaType: "application/json",
      description: "A JSON text.",
    });
    expect(tool.inputSchema.properties.orderId).toEqual({ type: ["string", "null"] });
    expect(tool.outputSchema.properties).toEqual({
      count: { type: "integer", exclusiveMinimum: -1 },
      more: true,
    });
    expect(api.file.invocationBases.api.http).toEqual({ method: "GET", url: "https://shop.example/api" });
    expect(api.file).toMatchObject({ version: "2.4.0", instructions: "Orders and baskets." });
  });

  it("post_orders: allOf becomes one object, oauth2 a bearer token, equal responses one schema", () => {
    const tool = api.tool("post_orders");
    expect(Object.keys(tool.inputSchema.properties)).toEqual(["note", "items"]);
    expect(tool.inputSchema.required).toEqual(["items"]);
    expect(tool.outputSchema.properties).toHaveProperty("id");
    expect(api.file.invocationBases[tool.invocation.extends.from].http.headers).toEqual({
      Authorization: "Bearer ${SHOP_API_TOKEN}",
    });
    expect(api.needs).toEqual(["SHOP_API_TOKEN"]);
  });

  it("patchOrder: a server of the operation, merge-patch JSON, a body with oneOf", () => {
    const tool = api.tool("patchOrder");
    expect(api.file.invocationBases[tool.invocation.extends.from].http.url).toBe("https://orders.example");
    expect(headersOf(tool)).toEqual({ "Content-Type": "application/merge-patch+json" });
    expect(tool.inputSchema.required).toEqual(["orderId"]);
    expect(tool.inputSchema.properties.body.oneOf).toHaveLength(2);
    expect(tool.outputSchema).toBeUndefined();
  });

  it("cancelOrder: DELETE with query and body", () => {
    const tool = api.tool("cancelOrder");
    expect(urlOf(tool)).toBe("/orders/{orderId}?dryRun={dryRun}");
    expect(overrideOf(tool)).toEqual({ method: "DELETE", body: "json" });
    expect(tool.outputSchema).toEqual({ type: "object" });
  });

  it("login: form fields keep their names, and a parameter with the same name gets another", () => {
    const tool = api.tool("login");
    expect(urlOf(tool)).toBe("/login?user={user_query}");
    expect(overrideOf(tool)).toEqual({ method: "POST", body: "form" });
    expect(tool.inputSchema).toMatchObject({ required: ["user", "password"], additionalProperties: false });
  });

  it("odd: braces in the path that are not parameters are escaped", () => {
    expect(urlOf(api.tool("odd"))).toBe("/odd/{{missing}}/{{{{literal}}}}");
    expect(found(api)).toContainEqual(
      expect.stringContaining('"{missing}" in its path is not a declared parameter'),
    );
  });

  it("growTree and loop: recursion is kept; a schema that refers only to itself is skipped", () => {
    const node = { $ref: "#/$defs/Node", description: "a child" };
    expect(api.tool("growTree").inputSchema).toMatchObject({
      properties: { children: { items: node } },
      $defs: { Node: { properties: { children: { items: node } } } },
    });
    expect(api.skipped).toEqual([
      {
        operation: "POST /loop",
        reason: "a schema refers only to itself",
        line: expect.any(Number),
        column: 5,
      },
    ]);
  });
});

describe("Swagger 2", () => {
  const api = load("petstore-2.0.yaml");

  it("findPets: lists with commas become text, others repeat, security replaces a parameter", () => {
    const tool = api.tool("findPets");
    expect(urlOf(tool)).toBe("/pets?tags={tags}&colors={colors}&age={age}");
    expect(tool.inputSchema.properties).toEqual({
      tags: {
        type: "string",
        description: "One value, or several with commas between them. Values: a, b.",
        default: "a",
      },
      colors: { type: "array", items: { type: "string" } },
      age: { type: "integer", exclusiveMinimum: 0 },
      "Accept-Language": { type: "string" },
    });
    expect(headersOf(tool)).toEqual({
      Accept: "application/json",
      "Accept-Language": "{Accept-Language}",
    });
    expect(api.file.invocationBases.api.http).toEqual({
      method: "GET",
      url: "https://old.example/v2",
      headers: { "X-Key": "${OLD_PETSTORE_API_KEY}" },
    });
  });

  it("addPet: a body parameter, basic authentication, and recursive definitions", () => {
    const tool = api.tool("addPet");
    expect(tool.inputSchema).toMatchObject({
      properties: { name: { type: "string" }, owner: { $ref: "#/$defs/Owner" } },
      required: ["name"],
      $defs: { Owner: { type: ["object", "null"] }, Pet: { required: ["name"] } },
    });
    expect(api.file.invocationBases[tool.invocation.extends.from].http.headers).toEqual({
      Authorization: "Basic ${OLD_PETSTORE_BASIC}",
    });
    expect(tool.outputSchema.required).toEqual(["id", "name"]);
  });

  it("renamePet: form fields become arguments", () => {
    const tool = api.tool("renamePet");
    expect(urlOf(tool)).toBe("/pets/{id_path}");
    expect(overrideOf(tool)).toEqual({ method: "POST", body: "form" });
    expect(tool.inputSchema).toMatchObject({
      properties: { id: { type: "string", description: "the new id" }, name: { type: "string" } },
      required: ["id_path", "id"],
      additionalProperties: false,
    });
  });

  it("head_feed becomes a tool; operations with files or XML are skipped", () => {
    expect(api.tool("head_feed").annotations.readOnlyHint).toBe(true);
    expect(api.skipped.map(({ operation, reason }) => `${operation}: ${reason}`)).toEqual([
      "POST /pets/{id}/photo: it takes a file, which a tool cannot send",
      'POST /feed: its body is "application/xml"; a tool can send JSON and forms',
    ]);
  });
});
