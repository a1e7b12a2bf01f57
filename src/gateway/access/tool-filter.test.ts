import fc from "fast-check";
import { expect, test } from "vitest";
import { toWildcard } from "../../base/text/wildcard.ts";
import type { GatewayToolRules, ToolAnnotations, ToolTrait } from "../../model/index.ts";
import type { ToolFilter, FilteredTool } from "./types.ts";
import { createToolFilter, hasTrait } from "./tool-filter.ts";

const tool = (more: Partial<FilteredTool> = {}): FilteredTool => ({
  name: "mcp_files_read",
  alias: "files",
  own: "read",
  tags: ["disk", "safe"],
  annotations: { readOnlyHint: true },
  ...more,
});
const view = (allow?: GatewayToolRules, deny?: GatewayToolRules): ToolFilter => {
  const made = createToolFilter({ allow, deny });
  if (made === undefined) throw new Error("there are no rules");
  return made;
};

test("createToolFilter returns undefined without rules", () => {
  expect(createToolFilter({})).toBeUndefined();
  expect(createToolFilter({ allow: {}, deny: {} })).toBeUndefined();
});

test.each<[GatewayToolRules | undefined, GatewayToolRules | undefined, boolean]>([
  [{ tools: ["mcp_files_*"] }, undefined, true],
  [{ tools: ["files.read"] }, undefined, true],
  [{ tools: ["files.*"] }, undefined, true],
  [{ tools: ["*.write"] }, undefined, false],
  [{ tools: [] }, undefined, false],
  [{ tools: ["x", "mcp_*_read"] }, undefined, true],
  [{ servers: ["files"] }, undefined, true],
  [{ servers: ["other"] }, undefined, false],
  [{ tags: ["net", "safe"] }, undefined, true],
  [{ tags: ["net"] }, undefined, false],
  [{ annotations: ["destructive", "read-only"] }, undefined, true],
  // An allow rule must match with each of its fields.
  [{ tools: ["files.*"], servers: ["other"] }, undefined, false],
  [{ tools: ["files.*"], annotations: ["not-read-only"] }, undefined, false],
  // A deny rule refuses the tool if one field matches.
  [undefined, { tools: ["files.write"] }, true],
  [undefined, { tools: ["files.write"], tags: ["disk"] }, false],
  [undefined, { servers: ["files"] }, false],
  [undefined, { annotations: ["read-only"] }, false],
  [{ servers: ["files"] }, { tools: ["*read"] }, false],
])("with allow %j and deny %j, the tool is admitted: %s", (allow, deny, admitted) => {
  expect(view(allow, deny).admits(tool())).toBe(admitted);
});

test("a refusal names the rule and its entry, rules about servers first", () => {
  const rules = view(
    { servers: ["files"], annotations: ["read-only"] },
    { tools: ["x", "files.wr*"], tags: ["secret"] },
  );
  expect(rules.refusalOf(tool())).toBeUndefined();
  expect(rules.refusalOf(tool({ own: "write" }))).toBe("deny.tools: files.wr*");
  expect(rules.refusalOf(tool({ annotations: {} }))).toBe("allow.annotations: only read-only");
  expect(rules.refusalOf(tool({ own: "write", alias: "git" }))).toBe("allow.servers: only files");
  expect(rules.refusalOf(tool({ possibleTags: ["secret"] }))).toBe("deny.tags: secret");
  expect(view({ tools: [] }).refusalOf(tool())).toBe("allow.tools: only (nothing)");
});

test("for prompts and resources, only the rules about servers and tags apply", () => {
  const server = { alias: "files", tags: ["disk"] };
  expect(view({ tools: ["x"] }).admitsServer(server)).toBe(true);
  expect(view({ servers: ["other"] }).admitsServer(server)).toBe(false);
  expect(view(undefined, { tags: ["disk"] }).admitsServer(server)).toBe(false);
  expect(view(undefined, { annotations: ["destructive"] }).admitsServer(server)).toBe(true);
});

test("limitsTools is true only for rules about single tools", () => {
  expect(view({ servers: ["a"], tags: ["b"] }).limitsTools).toBe(false);
  expect(view({ tools: ["a"] }).limitsTools).toBe(true);
  expect(view(undefined, { annotations: ["destructive"] }).limitsTools).toBe(true);
});

test("equal filters have equal keys", () => {
  expect(view({ tools: ["a", "b", "a"] }).key).toBe(view({ tools: ["b", "a"] }).key);
  expect(view({ tools: ["a"] }).key).not.toBe(view(undefined, { tools: ["a"] }).key);
  expect(view({ tools: ["a"] }).key).not.toBe(view({ servers: ["a"] }).key);
  expect(view({ tools: [] }).key).not.toBe(view({ servers: [] }).key);
});

test("a tool without annotations counts as destructive, open-world and not idempotent", () => {
  const traits: ToolTrait[] = ["not-read-only", "destructive", "not-idempotent", "open-world"];
  for (const trait of traits) {
    expect(hasTrait(undefined, trait)).toBe(true);
    expect(hasTrait({}, trait)).toBe(true);
  }
});

test("a read-only tool counts as not destructive and idempotent", () => {
  const annotations = { readOnlyHint: true, destructiveHint: true };
  expect(hasTrait(annotations, "not-destructive")).toBe(true);
  expect(hasTrait(annotations, "idempotent")).toBe(true);
});

test('the trait with the prefix "not-" is the opposite for any annotations', () => {
  const hint = fc.constantFrom(true, false, undefined, null, "true", 1);
  const annotations = fc.record({
    readOnlyHint: hint,
    destructiveHint: hint,
    idempotentHint: hint,
    openWorldHint: hint,
  });
  fc.assert(
    fc.property(annotations, (annotations) => {
      for (const trait of ["read-only", "destructive", "idempotent", "open-world"] as const)
        expect(hasTrait(annotations as ToolAnnotations, `not-${trait}`)).toBe(
          !hasTrait(annotations as ToolAnnotations, trait),
        );
    }),
  );
});

test("a pattern with * matches like a regular expression with .*", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "*", "_", "."), maxLength: 8 });
  const name = fc.string({ unit: fc.constantFrom("a", "b", "_", "."), maxLength: 12 });
  fc.assert(
    fc.property(text, name, (pattern, name) => {
      const escaped = pattern.split("*").map((part) => part.replaceAll(".", "\\."));
      expect(toWildcard(pattern)(name)).toBe(new RegExp(`^${escaped.join(".*")}$`).test(name));
    }),
    { numRuns: 2_000 },
  );
});
