import fc from "fast-check";
import { expect, it, test } from "vitest";
import { openDocument, renderDocument } from "./index.ts";

it.each(["{".repeat(1_000_000), "[".repeat(1_000_000)])(
  "reports a very deeply nested text and does not crash",
  (text) => {
    expect(openDocument("yaml", text).problems.length).toBeGreaterThan(0);
  },
);

const key = fc.oneof(fc.stringMatching(/^[a-z]{1,3}$/), fc.string({ minLength: 1, maxLength: 4 }));
const scalar = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.string({ maxLength: 4, unit: "grapheme" }),
  fc.integer(),
  fc.boolean(),
);
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 3 }),
  fc.dictionary(key, scalar, { maxKeys: 3 }),
);

test("sets and removes any value at any place, and changes nothing else", () => {
  fc.assert(
    fc.property(
      fc.array(fc.dictionary(key, value, { maxKeys: 4 }), { minLength: 1, maxLength: 3 }),
      fc.nat(2),
      key,
      fc.option(value, { nil: undefined }),
      (items, index, name, wanted) => {
        const text = `# top\n${renderDocument("yaml", { services: { mcp: items } })}# below\nlast: 1 # end\n`;
        const at = index % items.length;
        // The document gives no result if anything else has changed.
        const path = ["services", "mcp", at, name];
        const edited = openDocument("yaml", text)
          .edit([{ path, value: wanted }])
          ?.render();
        expect(edited?.split("\n").filter((line) => /^# |^last/.test(line))).toEqual([
          "# top",
          "# below",
          "last: 1 # end",
        ]);
      },
    ),
    { numRuns: 500 },
  );
});
