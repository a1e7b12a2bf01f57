import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../model/index.ts";
import { frameFor, modernText, pageOf } from "./lists.ts";
import { RpcRefusal } from "./messages.ts";

const toList = (names: Iterable<string>): JsonObject => ({
  tools: [...new Set(names)].toSorted((a, b) => (a < b ? -1 : 1)).map((name) => ({ name })),
  ttlMs: 5,
});
const namesOf = (page: JsonObject): string[] => (page.tools as { name: string }[]).map(({ name }) => name);
const name = fc.string({ unit: "binary", minLength: 1, maxLength: 8 });

describe("pages of a list", () => {
  it("are the list itself if it is short", () => {
    const whole = toList(["a", "b"]);
    expect(pageOf("tools/list", whole, undefined, 2)).toBe(whole);
  });

  it("return each item once and in order, and omit no item that existed all the time", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { maxLength: 40 }),
        fc.array(fc.tuple(fc.uniqueArray(name, { maxLength: 5 }), fc.nat(39)), { maxLength: 40 }),
        fc.integer({ min: 1, max: 7 }),
        (before, changes, pageSize) => {
          let now = new Set(before);
          const stayed = new Set(before);
          const seen: string[] = [];
          let cursor: unknown;
          for (let n = 0; n === 0 || cursor !== undefined; n += 1) {
            const page = pageOf("tools/list", toList(now), cursor, pageSize);
            expect(namesOf(page).length).toBeLessThanOrEqual(pageSize);
            expect(page.ttlMs).toBe(5);
            seen.push(...namesOf(page));
            cursor = page.nextCursor;
            // The list changes before the next page is requested.
            const [added, removed] = changes[n] ?? [[], undefined];
            const gone = removed === undefined ? undefined : before[removed];
            now = new Set([...now, ...added].filter((one) => one !== gone));
            if (gone !== undefined) stayed.delete(gone);
          }
          expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => (a < b ? -1 : 1)));
          for (const one of stayed) expect(seen).toContain(one);
        },
      ),
    );
  });

  it("are refused for an invalid cursor", () => {
    const whole = toList(["a", "b", "c"]);
    const { nextCursor } = pageOf("tools/list", whole, undefined, 1);
    const prompts = { prompts: [{ name: "a" }, { name: "b" }] };
    expect(() => pageOf("prompts/list", prompts, nextCursor, 1)).toThrow(RpcRefusal);
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.base64String()), (cursor) => {
        if (cursor === undefined || cursor === nextCursor) return;
        expect(() => pageOf("tools/list", whole, cursor, 1)).toThrow(RpcRefusal);
      }),
    );
  });
});

describe("a modern result", () => {
  const frame = frameFor({ name: "n", version: "1" });
  const written = (method: string, result: JsonObject): unknown =>
    JSON.parse(modernText(method, result, frame));
  const meta = { "io.modelcontextprotocol/serverInfo": { name: "n", version: "1" } };

  it("gets the required fields that are missing, and keeps its own fields", () => {
    expect(written("tools/call", {})).toEqual({ resultType: "complete", _meta: meta });
    expect(written("tools/call", { content: [], "x-y": 1 })).toEqual({
      resultType: "complete",
      _meta: meta,
      content: [],
      "x-y": 1,
    });
    const own = { resultType: "task", _meta: { a: 1 }, taskId: "1" };
    expect(written("tools/call", own)).toEqual(own);
    expect(written("resources/read", { contents: [] })).toMatchObject({ ttlMs: 0, cacheScope: "private" });
    expect(written("resources/read", { contents: [], ttlMs: 7 })).not.toHaveProperty("cacheScope");
    expect(written("resources/read", { resultType: "input_required" })).not.toHaveProperty("ttlMs");
    expect(JSON.parse(modernText("tools/call", {}, frameFor(undefined)))).toEqual({ resultType: "complete" });
  });
});
