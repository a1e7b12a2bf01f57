import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ContentBlock, JsonObject } from "../../model/index.ts";
import { LargeResults, type LargeResultsOptions } from "./large-results.ts";
import type { RequestContext } from "./types.ts";

interface Tool {
  readonly maxResultBytes?: number;
  readonly outputSchema?: object;
}

/** The fields of a request context that LargeResults reads. */
function contextFor(name = "alice", key = "*", tool: Tool = {}): RequestContext {
  const route = { member: { config: { maxResultBytes: tool.maxResultBytes } } };
  const table = {
    toolRoutes: new Map([["t", route]]),
    tools: [{ name: "t", outputSchema: tool.outputSchema }],
  };
  return { caller: { name }, view: { key, hubView: { table } } } as unknown as RequestContext;
}

/** Half of a character that takes two units. */
const HALF = /\p{Surrogate}/u;
const CALL = { name: "t" };
const LONG = "0123456789".repeat(2_000);

function setUp(options: Partial<LargeResultsOptions> = {}) {
  const results = new LargeResults({ maxBytes: 10_000, ...options });
  const fit = (result: JsonObject, context = contextFor()): { content: ContentBlock[] } & JsonObject =>
    results.limit(context, "tools/call", CALL, result) as never;
  const read = (uri: unknown, context = contextFor()): JsonObject | undefined =>
    (results.read(context, "resources/read", { uri }) as { contents: JsonObject[] } | undefined)?.contents[0];
  const linkOf = (result: { content: ContentBlock[] }): string =>
    String(result.content.find(({ type }) => type === "resource_link")?.uri);
  return { results, fit, read, linkOf };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("results that are returned unchanged", () => {
  it.each<[string, JsonObject, RequestContext?]>([
    ["a small result", { content: [{ type: "text", text: "a" }] }],
    ["a result without content", { resultType: "task", padding: LONG }],
    [
      "structured content with an output schema",
      { content: [{ type: "text", text: LONG }], structuredContent: { a: LONG } },
      contextFor("a", "*", { outputSchema: {} }),
    ],
    [
      "a result of a server without a limit",
      { content: [{ type: "text", text: LONG }] },
      contextFor("a", "*", { maxResultBytes: 0 }),
    ],
  ])("%s", (_what, result, context) => {
    expect(setUp().fit(result, context)).toBe(result);
  });

  it("results of other methods, and all results if the limit is 0", () => {
    const result = { content: [{ type: "text", text: LONG }] };
    expect(setUp().results.limit(contextFor(), "prompts/get", CALL, result)).toBe(result);
    expect(setUp({ maxBytes: 0 }).fit(result)).toBe(result);
  });

  it("read() returns undefined for URIs that are not stored results", () => {
    const { results, read } = setUp();
    expect(read("test://x")).toBeUndefined();
    expect(read(5)).toBeUndefined();
    expect(results.read(contextFor(), "tools/call", { uri: "portolan://results/x" })).toBeUndefined();
  });
});

describe("results that are shortened", () => {
  it("a long text becomes its beginning and a resource link, with the other fields of the block", () => {
    const { fit, read, linkOf } = setUp();
    const small = { type: "text", text: "small" };
    const result = fit({
      content: [small, { type: "text", text: LONG, annotations: { priority: 1 } }],
      isError: true,
      _meta: { a: 1 },
    });
    expect(result).toMatchObject({ isError: true, _meta: { a: 1 } });
    const [first, head, link] = result.content;
    expect(first).toEqual(small);
    expect(head).toMatchObject({ type: "text", annotations: { priority: 1 } });
    expect(head?.text).toMatch(/^0123456789/);
    expect(link).toMatchObject({ type: "resource_link", mimeType: "text/plain", size: LONG.length });
    expect(read(linkOf(result))).toMatchObject({ text: LONG, _meta: { offset: 0, total: LONG.length } });
  });

  it("images and embedded resources become resource links", () => {
    const { fit, read, linkOf } = setUp();
    const picture = fit({ content: [{ type: "image", data: LONG, mimeType: "image/png" }] });
    expect(picture.content).toHaveLength(1);
    expect(picture.content[0]).toMatchObject({ type: "resource_link", mimeType: "image/png", size: 15_000 });
    expect(read(`${linkOf(picture)}?offset=5&length=10`)).toMatchObject({
      blob: LONG.slice(4, 12),
      _meta: { offset: 4, length: 8 },
    });
    const resource = fit({
      content: [{ type: "resource", resource: { uri: "a:b", text: LONG, mimeType: "text/x" } }],
    });
    expect(resource.content.map(({ type }) => type)).toEqual(["text", "resource_link"]);
    expect(resource.content[1]).toMatchObject({ mimeType: "text/x" });
  });

  it("structured content without an output schema becomes a resource link", () => {
    const { fit, read, linkOf } = setUp();
    const structuredContent = { a: LONG };
    const result = fit({ content: [], structuredContent });
    expect(result).not.toHaveProperty("structuredContent");
    expect(JSON.parse(String(read(linkOf(result))?.text))).toEqual(structuredContent);
  });

  it("the limit of the server's config applies", () => {
    const text = "x".repeat(500);
    const result = setUp().fit(
      { content: [{ type: "text", text }] },
      contextFor("a", "*", { maxResultBytes: 100 }),
    );
    expect(result.content.some(({ type }) => type === "resource_link")).toBe(true);
  });
});

describe("a stored result", () => {
  it("is read in slices that together are the whole text, without split characters", () => {
    const { fit, read, linkOf } = setUp({ maxBytes: 10 });
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", minLength: 20, maxLength: 300 }),
        fc.integer({ min: 1, max: 50 }),
        (text, length) => {
          const link = linkOf(fit({ content: [{ type: "text", text }] }));
          let whole = "";
          for (let uri: unknown = `${link}?length=${length}`; uri !== undefined;) {
            const slice = read(uri) as { text: string; _meta: JsonObject };
            expect(slice.text).not.toBe("");
            expect(HALF.test(slice.text)).toBe(false);
            whole += slice.text;
            uri = slice._meta.next;
          }
          expect(whole).toBe(text);
        },
      ),
    );
  });

  it("can be searched by line", () => {
    const { fit, read, linkOf } = setUp();
    const text = Array.from({ length: 2_000 }, (_, n) => `line ${n}`).join("\n");
    const link = linkOf(fit({ content: [{ type: "text", text }] }));
    expect(read(`${link}?find=${encodeURIComponent("line 1999")}`)?.text).toBe(
      `${text.indexOf("line 1999")}: line 1999`,
    );
    expect(String(read(`${link}?find=line`)?.text).split("\n")).toHaveLength(201);
    expect(read(`${link}?find=nowhere`)?.text).toBe('(no line contains "nowhere")');
  });

  it.each([
    "?offset=-1",
    "?offset=1e99&length=x",
    "?length=99999999999",
    "?offset=999999",
    "?%ff",
    "#x",
    "?find=%ff",
  ])("returns a text for the odd query %s", (query) => {
    const { fit, read, linkOf } = setUp();
    expect(typeof read(`${linkOf(fit({ content: [{ type: "text", text: LONG }] }))}${query}`)?.text).toBe(
      "string",
    );
  });

  it("of one caller does not displace results of another caller", () => {
    const { fit, read, linkOf } = setUp({ maxStoredBytes: 70_000 });
    const keep = (name: string): string =>
      linkOf(fit({ content: [{ type: "text", text: LONG }] }, contextFor(name)));
    const bobs = keep("bob");
    const alices = Array.from({ length: 10 }, () => keep("alice"));
    expect(read(bobs, contextFor("bob"))).toBeDefined();
    expect(read(alices.at(-1), contextFor("alice"))).toBeDefined();
    expect(() => read(alices[0], contextFor("alice"))).toThrow();
  });

  it("can be read only by its caller with the same view, for a limited time and up to a size limit", () => {
    const { fit, read, linkOf } = setUp({ keepMs: 1_000, maxStoredBytes: 50_000 });
    const keep = (): string => linkOf(fit({ content: [{ type: "text", text: LONG }] }));
    const expectNotFound = (uri: string, context?: RequestContext): void =>
      expect(() => read(uri, context)).toThrow(
        expect.objectContaining({ code: "RESOURCE_NOT_FOUND" }) as Error,
      );
    const first = keep();
    expectNotFound(first, contextFor("bob"));
    expectNotFound(first, contextFor("alice", "server one"));
    expectNotFound("portolan://results/unknown");
    expectNotFound("portolan://results/");
    expectNotFound("portolan://results/__proto__");
    const [second, third] = [keep(), keep()];
    expectNotFound(first);
    expect([read(second), read(third)]).not.toContain(undefined);
    vi.advanceTimersByTime(1_001);
    expectNotFound(third);
  });
});
