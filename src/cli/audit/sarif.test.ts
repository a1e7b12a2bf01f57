import { expect, test } from "vitest";
import { isObject } from "../../model/index.ts";
import { createValidator } from "../../schema/index.ts";
import { AUDIT_RULES, type Finding } from "./findings.ts";
import { toSarif } from "./sarif.ts";

const FINDINGS: readonly Finding[] = [
  {
    ...{ rule: "advisory", severity: "error", server: "github", message: "It leaks.", hint: "Update it." },
    ...{ file: "/home/me/my folder/portolan.yaml", line: 7 },
  },
  {
    rule: "lock-orphan",
    severity: "note",
    server: "old",
    message: "Left over.",
    file: "/home/me/my folder/portolan.lock",
  },
];

/** The properties that SARIF 2.1.0 requires, and the values that it allows, for the parts that are used here. */
const text = { type: "object", required: ["text"], properties: { text: { type: "string", minLength: 1 } } };
const location = {
  type: "object",
  required: ["physicalLocation"],
  properties: {
    physicalLocation: {
      type: "object",
      required: ["artifactLocation"],
      properties: {
        artifactLocation: { type: "object", properties: { uri: { type: "string", pattern: "^[^ \\\\]+$" } } },
        region: { type: "object", properties: { startLine: { type: "integer", minimum: 1 } } },
      },
    },
    logicalLocations: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
  },
};
const REQUIRED = {
  type: "object",
  required: ["version", "runs"],
  properties: {
    version: { const: "2.1.0" },
    $schema: { type: "string" },
    runs: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["tool", "results"],
        properties: {
          tool: {
            type: "object",
            required: ["driver"],
            properties: {
              driver: {
                type: "object",
                required: ["name"],
                properties: {
                  rules: {
                    type: "array",
                    uniqueItems: true,
                    items: { type: "object", required: ["id"], properties: { shortDescription: text } },
                  },
                },
              },
            },
          },
          columnKind: { enum: ["utf16CodeUnits", "unicodeCodePoints"] },
          results: {
            type: "array",
            items: {
              type: "object",
              required: ["message"],
              properties: {
                level: { enum: ["none", "note", "warning", "error"] },
                message: text,
                ruleIndex: { type: "integer", minimum: 0 },
                locations: { type: "array", items: location },
                partialFingerprints: { type: "object", additionalProperties: { type: "string" } },
              },
            },
          },
        },
      },
    },
  },
};

test("findings have the structure of SARIF 2.1.0", async () => {
  const sarif = toSarif(FINDINGS, { folder: "/home/me/my folder", version: "1.2.3" });
  const validator = await createValidator(REQUIRED, { budgetMs: 10_000 });
  expect(validator.check(sarif)).toEqual({ valid: true });
  const [run] = isObject(sarif) && Array.isArray(sarif.runs) ? sarif.runs : [];
  const { results, tool } = run as {
    results: { ruleId: string; ruleIndex: number }[];
    tool: { driver: { rules: { id: string }[] } };
  };
  expect(tool.driver.rules.map(({ id }) => id)).toEqual(Object.keys(AUDIT_RULES));
  for (const { ruleId, ruleIndex } of results) expect(tool.driver.rules[ruleIndex]?.id).toBe(ruleId);
  expect(JSON.stringify(sarif)).toContain('"uri":"portolan.yaml"},"region":{"startLine":7}');
  expect(JSON.stringify(toSarif([], { folder: "/", version: "1" }))).toContain('"results":[]');
});
