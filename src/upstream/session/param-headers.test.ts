import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { headerValue } from "../transports/http/protocol.ts";
import { headersForCall, paramHeaders } from "./param-headers.ts";

const schema = (properties: object, more: object = {}): Record<string, unknown> => ({
  type: "object",
  properties,
  ...more,
});

describe("paramHeaders", () => {
  it("finds annotations at the root and in nested objects", () => {
    const found = paramHeaders(
      schema({
        region: { type: "string", "x-mcp-header": "Region" },
        options: { type: "object", properties: { dry: { type: "boolean", "x-mcp-header": "Dry-Run" } } },
        plain: { type: "string" },
      }),
    );
    expect(found).toEqual({
      headers: [
        { header: "Mcp-Param-Region", path: ["region"] },
        { header: "Mcp-Param-Dry-Run", path: ["options", "dry"] },
      ],
    });
  });

  it("ignores a parameter that is named x-mcp-header, and default values with this key", () => {
    const properties = {
      "x-mcp-header": { type: "string" },
      a: { type: "object", default: { "x-mcp-header": "No" } },
    };
    expect(paramHeaders(schema(properties))).toEqual({ headers: [] });
  });

  it.each([
    ["an empty name", { a: { type: "string", "x-mcp-header": "" } }],
    ["a line break", { a: { type: "string", "x-mcp-header": "A\r\nB" } }],
    ["a space", { a: { type: "string", "x-mcp-header": "A B" } }],
    ["no string", { a: { type: "string", "x-mcp-header": 1 } }],
    ["a number", { a: { type: "number", "x-mcp-header": "A" } }],
    ["an object", { a: { type: "object", "x-mcp-header": "A" } }],
    ["no type", { a: { "x-mcp-header": "A" } }],
    ["a twin", { a: { type: "string", "x-mcp-header": "A" }, b: { type: "string", "x-mcp-header": "a" } }],
    ["an array item", { a: { type: "array", items: { type: "string", "x-mcp-header": "A" } } }],
    ["an alternative", { a: { anyOf: [{ type: "string", "x-mcp-header": "A" }] } }],
    [
      "a property behind an alternative",
      { a: { oneOf: [{ type: "object", properties: { b: { type: "string", "x-mcp-header": "A" } } }] } },
    ],
  ])("refuses %s", (_name, properties) => {
    expect(paramHeaders(schema(properties))).toHaveProperty("problem");
  });

  it("refuses annotations in definitions and at the root", () => {
    expect(
      paramHeaders(schema({}, { $defs: { a: { type: "string", "x-mcp-header": "A" } } })),
    ).toHaveProperty("problem");
    expect(paramHeaders(schema({}, { "x-mcp-header": "A" }))).toHaveProperty("problem");
  });
});

describe("headersForCall", () => {
  const headers = [
    { header: "Mcp-Param-A", path: ["a"] },
    { header: "Mcp-Param-B", path: ["o", "b"] },
  ];

  it("writes strings, integers and booleans, and leaves out null and absent values", () => {
    expect(headersForCall(headers, { a: 42, o: { b: false } })).toEqual({
      "Mcp-Param-A": "42",
      "Mcp-Param-B": "false",
    });
    expect(headersForCall(headers, { a: null })).toEqual({});
    expect(headersForCall(headers, undefined)).toEqual({});
  });

  it("does not read inherited properties", () => {
    expect(headersForCall([{ header: "Mcp-Param-A", path: ["constructor", "name"] }], {})).toEqual({});
  });
});

describe("headerValue", () => {
  it.each([
    ["us-west1", "us-west1"],
    ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
    ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
  ])("encodes %j", (value, encoded) => {
    expect(headerValue(value)).toBe(encoded);
  });

  it("is always safe in a header and can always be read back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        const encoded = headerValue(value);
        expect(encoded).toMatch(/^[\x20-\x7E\t]*$/);
        const base64 = /^=\?base64\?(.*)\?=$/s.exec(encoded);
        expect(base64 === null ? encoded : Buffer.from(base64[1] as string, "base64").toString()).toBe(
          Buffer.from(value).toString(),
        );
      }),
    );
  });
});
