// Null values in optional fields, as real servers write them.

import { describe, expect, it } from "vitest";
import { messageWithoutNulls, resultWithoutNulls } from "./null-fields.ts";

describe("a result with null fields", () => {
  it("is the same object if no optional field is null", () => {
    const result = {
      content: [{ type: "text", text: "x", vendor: null }],
      structuredContent: { a: null },
      _meta: { "com.example/x": null },
    };
    expect(resultWithoutNulls("tools/call", result)).toBe(result);
  });

  it("loses optional fields that are null, and the original object does not change", () => {
    const text = { type: "text", text: "x", annotations: null, _meta: null };
    const image = { type: "image", data: "", mimeType: "image/png", annotations: { priority: null } };
    const result = { isError: null, _meta: null, content: [text, image], vendor: null };
    expect(resultWithoutNulls("tools/call", result)).toEqual({
      content: [
        { type: "text", text: "x" },
        { type: "image", data: "", mimeType: "image/png", annotations: {} },
      ],
      vendor: null,
    });
    expect(text).toHaveProperty("_meta", null);
  });

  it("keeps null where null is a value: in schemas, tasks and the entries of _meta", () => {
    const inputSchema = { type: "object", properties: { a: { default: null, const: null } } };
    const tool = { name: "t", inputSchema, outputSchema: { type: "object", required: null } };
    expect(resultWithoutNulls("tools/list", { tools: [tool] })).toEqual({
      tools: [{ name: "t", inputSchema, outputSchema: { type: "object" } }],
    });
    const task = { taskId: "1", status: "working", ttl: null, pollInterval: null };
    expect(resultWithoutNulls("tasks/get", task)).toEqual({ taskId: "1", status: "working", ttl: null });
  });

  it.each([
    ["tools/list", "tools"],
    ["prompts/list", "prompts"],
    ["resources/list", "resources"],
    ["resources/templates/list", "resourceTemplates"],
    ["tools/call", "content"],
  ])("of %s gets an empty list in place of null", (method, field) => {
    expect(resultWithoutNulls(method, { [field]: null })).toEqual({ [field]: [] });
  });

  it("can contain __proto__ and constructor as keys", () => {
    const given = JSON.parse(
      '{"capabilities":{"__proto__":{"x":null},"constructor":{"y":null},"tools":null}}',
    );
    const capabilities = resultWithoutNulls("initialize", given).capabilities as object;
    expect(Object.keys(capabilities)).toEqual(["__proto__", "constructor"]);
    expect(Object.getPrototypeOf(capabilities)).toBe(Object.prototype);
  });
});

describe("a message of the server with null fields", () => {
  const message = (method: string, params: unknown) => ({ jsonrpc: "2.0", method, params }) as never;

  it("has no params if they are null", () => {
    expect(messageWithoutNulls(message("roots/list", null))).not.toHaveProperty("params");
  });

  it("loses null fields in its requests", () => {
    const params = {
      message: "?",
      mode: null,
      requestedSchema: { type: "object", required: null, properties: { a: { type: "string", title: null } } },
    };
    expect(messageWithoutNulls(message("elicitation/create", params))).toMatchObject({
      params: { message: "?", requestedSchema: { type: "object", properties: { a: { type: "string" } } } },
    });
    const round = {
      resultType: "input_required",
      inputRequests: { q: { method: "elicitation/create", params } },
    };
    expect(JSON.stringify(resultWithoutNulls("tools/call", round))).not.toContain("null");
  });
});
