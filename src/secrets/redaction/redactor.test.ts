import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { withRedactedError } from "./redact-error.ts";
import { createRedactor, type Redactor } from "./redactor.ts";
import { Secret } from "../secret.ts";
import { createWordFinder } from "./word-finder.ts";

function redactorOf(...values: string[]): Redactor {
  const redactor = createRedactor();
  for (const value of values) redactor.add(new Secret(value));
  return redactor;
}

test("a replaced token stays redacted for some minutes, and other secrets forever", () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const redactor = redactorOf("configured-canary");
  const [first, second] = ["token-one-canary", "token-two-canary"];
  redactor.replace("login", [first, "configured-canary", "123456"]);
  redactor.replace("login", [second]);
  const text = `${first} ${second} configured-canary 123456`;
  expect(redactor.redactText(text)).toBe("[redacted] [redacted] [redacted] [redacted]");
  expect(redactor.redactText(Buffer.from(first).toString("base64"))).not.toContain("dG9rZW");
  vi.setSystemTime(Date.now() + 31 * 60_000);
  redactor.replace("other", []);
  expect(redactor.redactText(text)).toBe(`${first} [redacted] [redacted] 123456`);
});

test("the redactor keeps a limited number of replaced tokens, and always the current one", () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const redactor = createRedactor();
  const tokens = Array.from({ length: 6_000 }, (_, index) => `token-${index}-canary-0123456789`);
  for (const token of tokens) {
    redactor.replace("login", [token]);
    vi.setSystemTime(Date.now() + 60_000);
  }
  const found = tokens.filter((token) => redactor.redactText(token) !== token);
  expect(found.length).toBeLessThan(40);
  expect(found.at(-1)).toBe(tokens.at(-1));
});

test("a Secret prints as [redacted] and reveals its value on request", () => {
  const secret = new Secret("hunter2-canary");
  const printed = [
    ["<", secret, ">"].join(""),
    String(secret),
    JSON.stringify({ secret }),
    inspect({ deep: [secret] }, { depth: 9, showHidden: true }),
    Object.entries(secret).join(),
  ].join("\n");
  expect(printed).not.toContain("hunter2");
  expect(printed).toContain("[redacted]");
  expect(secret.reveal()).toBe("hunter2-canary");
});

describe("redactText()", () => {
  const value = `p"w/+ =?'&\\%ü-canary`;

  test.each([
    ["plain text", value],
    ["base64", Buffer.from(value).toString("base64")],
    ["base64url", Buffer.from(value).toString("base64url")],
    ["JSON", JSON.stringify({ value })],
    ["a query", new URLSearchParams({ value }).toString()],
    ["a URL component", encodeURIComponent(value)],
    ["a host name", "sekret-mixed-canary.evil.example"],
    [
      "a URL component in small letters",
      encodeURIComponent(value).replace(/%../g, (hex) => hex.toLowerCase()),
    ],
    ["a URL", new URL(`https://example.test/?a=${encodeURIComponent(value)}`).href],
    ["a URL that nobody encoded", new URL("https://example.test/?a=it's a canary!").href],
  ])("removes a secret in this form: %s", (_, text) => {
    const redacted = redactorOf(value, "it's a canary!", "SekRet-Mixed-canary").redactText(
      `before ${text} after`,
    );
    expect(redacted).toMatch(/^before .*\[redacted\].* after$/);
    expect(redacted).not.toMatch(/canary|Y2FuYXJ5/);
  });

  test("removes each line of a key that has several lines", () => {
    const key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\n-----END KEY-----\n";
    const redactor = redactorOf(key);
    for (const line of key.trim().split("\n")) expect(redactor.redactText(`> ${line}`)).toBe("> [redacted]");
    expect(redactor.redactText(key)).not.toContain("MIIE");
    expect(redactor.redactText(JSON.stringify(key))).not.toContain("MIIE");
  });

  test("keeps the word Bearer before a token", () => {
    expect(redactorOf("tok-12345").redactText("Authorization: Bearer tok-12345")).toBe(
      "Authorization: Bearer [redacted]",
    );
  });

  test("replaces the longest value, and overlapping or adjacent values, by one marker", () => {
    expect(redactorOf("token123", "token123456").redactText("=token123456=")).toBe("=[redacted]=");
    expect(redactorOf("abcdefgh", "defghijk").redactText("-abcdefghijk-")).toBe("-[redacted]-");
    expect(redactorOf("abcdefgh").redactText("abcdefghabcdefgh-abcdefgh")).toBe("[redacted]-[redacted]");
  });

  test.each([
    [
      "the password of Basic credentials",
      (secret: string) => Buffer.from(`ann:${secret}`).toString("base64"),
    ],
    ["base64 shifted by one byte", (secret: string) => Buffer.from(`a${secret}!`).toString("base64")],
    ["base64 shifted by two bytes", (secret: string) => Buffer.from(`ab${secret}more`).toString("base64")],
    [
      "base64url amid other bytes",
      (secret: string) => Buffer.from(`{"k":"${secret}"}`).toString("base64url"),
    ],
    ["hex", (secret: string) => Buffer.from(secret).toString("hex")],
    ["hex in capitals", (secret: string) => Buffer.from(secret).toString("hex").toUpperCase()],
    [
      "every byte percent-encoded",
      (secret: string) => Buffer.from(secret).toString("hex").replace(/../g, "%$&"),
    ],
    ["JSON in JSON", (secret: string) => JSON.stringify(JSON.stringify({ secret }))],
    ["JSON with escaped slashes", (secret: string) => JSON.stringify(secret).replaceAll("/", "\\/")],
    [
      "JSON in ASCII",
      (secret: string) =>
        JSON.stringify(secret).replace(
          /[\u0080-\uFFFF]/g,
          (char) => `\\u00${char.charCodeAt(0).toString(16)}`,
        ),
    ],
    ["a form", (secret: string) => `a=1&b=${encodeURIComponent(secret).replaceAll("%20", "+")}`],
  ])("removes a secret in this form: %s", (_, encode) => {
    for (const secret of ["p~w?/+ =ü-canary>", "k9/X~", "aß c"]) {
      const text = `before ${encode(secret)} after`;
      const redacted = redactorOf(secret).redactText(text);
      expect(redacted).toMatch(/^before .*\[redacted\].* after$/);
      // At most a neighbour's bits are left of it.
      expect(redacted.length).toBeLessThan(text.length + 12);
      expect(redacted).not.toContain("canary");
    }
  });

  test("removes short values only where they stand alone", () => {
    const redactor = redactorOf("ab1", "7", "x&");
    expect(redactor.redactText('the PIN is ab1, "ab1" (ab1) pin=ab1; cab1 ab12 ab_ab1')).toBe(
      'the PIN is [redacted], "[redacted]" ([redacted]) pin=[redacted]; cab1 ab12 ab_ab1',
    );
    expect(redactor.redactText("Basic YWIx?q=x%26 616231")).toBe("Basic [redacted]?q=[redacted] [redacted]");
    expect(redactor.redactText("7 of 77")).toBe("7 of 77");
    expect(redactor.redactValue({ a: "7", b: " ab1\n", c: "none" })).toEqual({
      ...{ a: "[redacted]", b: "[redacted]", c: "none" },
    });
    expect(redactorOf("").redactText("a  b")).toBe("a  b");
  });

  test.each(["test", "s3cr3", "hunter2"])(
    "removes %s as a word, and keeps longer words that contain it",
    (value) => {
      const redactor = redactorOf(value);
      const words = `la${value} ${value}s ${value}_id x${value}`;
      expect(redactor.redactText(words)).toBe(words);
      expect(redactor.redactText(`ann:${value}@db, "${value}"; p=${value}&q /${value}/ -${value}-`)).toBe(
        'ann:[redacted]@db, "[redacted]"; p=[redacted]&q /[redacted]/ -[redacted]-',
      );
      expect(redactor.redactValue({ [`la${value}`]: value })).toEqual({ [`la${value}`]: "[redacted]" });
    },
  );

  test("removes base64 text that contains a short value, and keeps other base64 text", () => {
    const redactor = redactorOf("test");
    const basic = Buffer.from("ann:test").toString("base64");
    expect(redactor.redactText(`Authorization: Basic ${basic}`)).toBe("Authorization: Basic [redacted]=");
    expect(redactor.redactText(`${basic} ${basic}`)).toBe("[redacted]= [redacted]=");
    // Bytes that are no text, such as those of an image, contain every short form sooner or later.
    const image = Buffer.from([255, 0, 250, ...Buffer.from("test"), 250, 0, 255]).toString("base64");
    expect(redactor.redactText(image)).toBe(image);
    expect(redactor.redactText(`${image} and ${basic}.`)).toBe(`${image} and [redacted]=.`);
  });

  test("decodes a long base64 text with repeated matches only once", () => {
    const redactor = redactorOf("test");
    const image = `/w${Buffer.from("a\0test").toString("base64").repeat(200_000)}`;
    expect(redactor.redactText(image)).toBe(image);
  });

  test("ignores secrets that are a part of the marker itself", () => {
    expect(redactorOf("", "dact", "redacted").redactText("abc redacted")).toBe("abc redacted");
  });
});

describe("redactValue()", () => {
  const redactor = redactorOf("s3cret-canary");

  test("redacts keys and strings at any depth, and does not change the original", () => {
    const value = { a: [1, { "x-s3cret-canary": null }], b: "s3cret-canary", c: { d: "fine" } };
    const before = structuredClone(value);
    const redacted = redactor.redactValue(value);
    expect(redacted).toEqual({ a: [1, { "x-[redacted]": null }], b: "[redacted]", c: { d: "fine" } });
    expect(value).toEqual(before);
    expect(redacted.c).toBe(value.c);
  });

  test("returns the same object if there is nothing to redact", () => {
    const value = { a: [1, Number.NaN, "x", { b: null }], c: true, date: new Date(0), held: new Secret("x") };
    expect(redactor.redactValue(value)).toBe(value);
    expect(createRedactor().redactValue(value)).toBe(value);
  });

  test("keeps a key that is named __proto__", () => {
    const value = JSON.parse('{"__proto__":{"x":"s3cret-canary"},"y":"s3cret-canary"}') as object;
    expect(JSON.stringify(redactor.redactValue(value))).toBe(
      '{"__proto__":{"x":"[redacted]"},"y":"[redacted]"}',
    );
  });

  test("replaces circular references and values that are nested too deeply", () => {
    const round: Record<string, unknown> = { secret: "s3cret-canary" };
    round["again"] = [round, round];
    expect(redactor.redactValue(round)).toEqual({
      secret: "[redacted]",
      again: ["[redacted]", "[redacted]"],
    });
    let deep: unknown = "s3cret-canary";
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(JSON.stringify(redactor.redactValue(deep))).not.toContain("canary");
  });
});

describe("withRedactedError()", () => {
  const redactor = redactorOf("s3cret-canary");

  test("redacts every field and every cause of an error, and keeps its code", () => {
    const root = Object.assign(new TypeError("root s3cret-canary"), {
      input: "s3cret-canary",
      code: "E_ROOT",
    });
    const middle = new PortolanError("TIMEOUT", "middle", { stderr: "s3cret-canary", cause: root });
    const error = new PortolanError("HTTP_ERROR", "sent s3cret-canary", {
      server: "https://s3cret-canary.test",
      hint: "not s3cret-canary",
      stderr: "s3cret-canary",
      data: { body: ["s3cret-canary"], status: 500 },
      cause: middle,
    });
    const clean = withRedactedError(error, redactor);
    const printed = inspect(clean, { depth: 20, showHidden: true }) + JSON.stringify(clean) + clean.stack;
    expect(printed).not.toContain("canary");
    expect(clean).toBeInstanceOf(PortolanError);
    expect(clean).toMatchObject({
      code: "HTTP_ERROR",
      message: "sent [redacted]",
      hint: "not [redacted]",
      data: { status: 500 },
      cause: { code: "TIMEOUT", cause: { name: "TypeError", code: "E_ROOT" } },
    });
    expect(error.message).toContain("canary");
  });

  test("returns the same error if it contains no secret", () => {
    const error = new PortolanError("TIMEOUT", "slow", { data: { ms: 5 }, cause: new Error("inner") });
    expect(withRedactedError(error, redactor)).toBe(error);
  });

  test("handles an error that is its own cause", () => {
    const cause = new Error("s3cret-canary");
    cause.cause = cause;
    const clean = withRedactedError(new PortolanError("INTERNAL", "x", { cause }), redactor);
    expect(inspect(clean, { depth: 30 })).not.toContain("canary");
  });
});

describe("random texts and secrets", () => {
  // Few letters make overlaps likely. Brackets are left out: the marker next to a text could spell a value that was never there.
  const value = fc.string({
    unit: fc.constantFrom("a", "b", "/", '"', " ", "ü", "%"),
    minLength: 8,
    maxLength: 12,
  });
  const longValue = value.filter((it) => it.trim().length >= 8);
  const text = fc.string({ unit: fc.constantFrom("a", "b", "/", '"', " ", "ü", "%", "x"), maxLength: 60 });

  test("no long secret is left in the text, wherever it stood", () => {
    fc.assert(
      fc.property(fc.array(longValue, { minLength: 1, maxLength: 5 }), fc.array(text), (values, texts) => {
        const redactor = redactorOf(...values);
        const joined = texts.map((it, index) => it + (values[index % values.length] ?? "")).join("");
        const redacted = redactor.redactText(joined);
        for (const it of values) expect(redacted.includes(it)).toBe(false);
        const json = JSON.stringify(redactor.redactValue({ joined, deep: [{ [joined]: texts }] }));
        for (const it of values) expect(json.includes(JSON.stringify(it).slice(1, -1))).toBe(false);
        expect(redactor.redactText(redacted)).toBe(redacted);
      }),
    );
  });

  test("no short secret is left as a word, and no other word changes", () => {
    const letters = fc.stringMatching(/^[a-d]{2,7}$/);
    fc.assert(
      fc.property(fc.array(letters, { minLength: 1, maxLength: 3 }), fc.array(letters), (values, words) => {
        const redacted = redactorOf(...values).redactText([...words, "end"].join(" "));
        const expected = [...words, "end"].map((word) => (values.includes(word) ? "[redacted]" : word));
        expect(redacted).toBe(expected.join(" "));
      }),
    );
  });

  test("a text without a secret is not changed", () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[A-Z0-9]{4,20}$/), { minLength: 1 }),
        fc.string(),
        (values, it) => {
          const redactor = redactorOf(...values);
          const forms = values.flatMap((one) => [one, Buffer.from(one).toString("base64url")]);
          fc.pre(!forms.some((form) => it.includes(form)));
          expect(redactor.redactText(it)).toBe(it);
        },
      ),
    );
  });

  test("the word finder finds the same positions as indexOf", () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 8 }), text, fc.nat(20), (words, it, from) => {
        const starts = words.map((word) => it.indexOf(word, from)).filter((at) => at !== -1);
        const expected = starts.length === 0 ? -1 : Math.min(...starts);
        const finder = createWordFinder(words);
        expect(finder.find(it, from)).toBe(expected);
        if (expected === -1) return;
        const lengths = words.filter((word) => it.startsWith(word, expected)).map((word) => word.length);
        expect(finder.end()).toBe(expected + Math.max(...lengths));
      }),
      { numRuns: 500 },
    );
  });

  test("a word finder with added and removed words finds the same as a new one", () => {
    const some = fc.array(value, { maxLength: 8 });
    fc.assert(
      fc.property(some, some, some, text, (first, added, removed, it) => {
        const finder = createWordFinder(first);
        for (const word of added) finder.add(word);
        for (const word of removed) finder.delete(word);
        const same = createWordFinder([...first, ...added].filter((word) => !removed.includes(word)));
        for (let from = 0; from <= it.length; from += 1) {
          const at = finder.find(it, from);
          expect(at).toBe(same.find(it, from));
          if (at !== -1) expect(finder.end()).toBe(same.end());
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a megabyte of text without secrets is processed fast, with hundreds of secrets registered", () => {
    const redactor = redactorOf(
      ...Array.from({ length: 300 }, (_, index) => `ghp_${index * 7919}_abcdefghijklm`),
    );
    const text = JSON.stringify(
      Array.from({ length: 8_000 }, (_, id) => ({ id, name: `item ${id}`, of: "many words" })),
    );
    redactor.redactText(text);
    const started = performance.now();
    for (let round = 0; round < 5; round += 1) expect(redactor.redactText(text)).toBe(text);
    expect((performance.now() - started) / 5).toBeLessThan(3_000);
  });
});
