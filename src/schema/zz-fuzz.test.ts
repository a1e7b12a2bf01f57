import { test, expect } from "vitest";
import fc from "fast-check";
import * as z from "zod";
import { Validator } from "@cfworker/json-schema";
import { RE2JS } from "re2js";
import { createValidator, toZodView, isSafePattern, withinBudget } from "./index.ts";
import { createMatcher } from "./pattern.ts";
const prim = fc.oneof(fc.constantFrom("", "a", "ab", "😀", "b"), fc.integer({ min: -3, max: 9 }), fc.constantFrom(0.5), fc.boolean(), fc.constant(null));
const name = fc.constantFrom("a", "b", "c", "toString", "__proto__", "a/b~%");
const rec = (v: any, m = 3): any => fc.array(fc.tuple(name, v), { maxLength: m }).map((e: any) => Object.fromEntries(e));
const type = fc.constantFrom("string", "number", "integer", "boolean", "null", "array", "object");
const small = fc.integer({ min: 0, max: 3 });
const ref = fc.constantFrom("#/$defs/x", "#/$defs/y", "#");
function sch(l: number): fc.Arbitrary<any> {
  const b: any = l === 0 ? fc.constantFrom({}, true, false) : fc.oneof({weight:3,arbitrary:sch(l - 1)}, {weight:3,arbitrary:fc.record({ type })}, {weight:1,arbitrary:fc.constantFrom(true,false)});
  const k: any = { type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })), enum: fc.array(fc.oneof(prim, fc.constant([1]), fc.constant({a:1})), { minLength: 1, maxLength: 5 }), const: fc.oneof(prim, fc.constant({a:"a"})), minimum: small, maximum: small, exclusiveMinimum: small, multipleOf: fc.constantFrom(1,2,0.5), minLength: small, maxLength: small, pattern: fc.constantFrom("^a", "b$", "^(a+)+$", "^[a-z]*$", "^(?=a)"), minItems: small, maxItems: small, uniqueItems: fc.boolean(), items: b, prefixItems: fc.array(b,{maxLength:2}), contains: b, minContains: small, anyOf: fc.array(b, { minLength: 1, maxLength: 3 }), oneOf: fc.array(b, { minLength: 1, maxLength: 3 }), allOf: fc.array(b, { minLength: 1, maxLength: 3 }), not: b, if: b, then: b, else: b, properties: rec(b), patternProperties: fc.constantFrom("^a","b").chain((p)=>b.map((s: any)=>({[p]:s}))), required: fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 2 }), additionalProperties: b, propertyNames: b, dependentRequired: fc.constant({a:["b"]}), minProperties: small, maxProperties: small, $ref: ref, default: prim, format: fc.constantFrom("uuid","uri"), description: fc.constant("d"), readOnly: fc.constant(true) };
  return fc.subarray(Object.keys(k), { maxLength: 4 }).chain((n) => fc.record(Object.fromEntries(n.map((q) => [q, k[q]]))) as any);
}
const { value } = fc.letrec((tie) => ({ value: fc.oneof({ maxDepth: 3 }, prim, fc.array(tie("value"), { maxLength: 4 }), rec(tie("value"))) }));
const root = fc.tuple(sch(2), sch(1), sch(1)).map(([s, x, y]) => ({ ...s, $defs: { x, y } }));
const strip = (s: any): any => JSON.parse(JSON.stringify(s), (k, v) => (k === "format" && (v === "uuid"||v==="uri") ? undefined : v));
test("vs cfworker", async () => {
  const n = { true: 0, false: 0, unknown: 0 } as any; let zodTight = 0, zchecked = 0; const reasons: any = {}; let slow = 0;
  await fc.assert(fc.asyncProperty(root, value, async (s, v) => {
    const c = await createValidator(s, { budgetMs: 2000 }); const t = performance.now(); const r: any = c.check(v); {const d=performance.now()-t; if(d>slow){slow=d; console.log(d.toFixed(1), JSON.stringify([s,v]).slice(0,400), r.reason)}} n[String(r.valid)]++;
    if (r.valid === "unknown") { const q=r.reason.replace(/\/.*/, ""); reasons[q] = (reasons[q] ?? 0) + 1; }
    let e: any; try { e = new Validator(strip(s), "2020-12", false).validate(v); } catch (x) { e = undefined; }
    if (e && r.valid !== "unknown") expect(r.valid, JSON.stringify([s, v])).toBe(e.valid);
    if (r.valid === false) { expect(r.problems.length).toBeGreaterThan(0); for (const p of r.problems) expect(p.message).not.toMatch(/undefined|\[object/); }
    const view = toZodView(s, z as any, () => {});
    if (r.valid === true && typeof v === "object" && v !== null && !Array.isArray(v)) { zchecked++; const p = view.safeParse(v); if (!p.success) { zodTight++; throw new Error("zod tighter " + JSON.stringify([s, v, p.error.issues])); } }
  }), { numRuns: 30000 });
  console.log(n, reasons, { zchecked, zodTight, slow });
}, 300000);
