// SECRETS.md: the entries with their grants and names; a value in the file is refused.

import { describe, expect, test } from "vitest";
import { Diagnostics, readYaml } from "../../document/index.ts";
import {
  envOfSlug,
  findSecret,
  mergeSecrets,
  parseSecrets,
  parseSkill,
  readConsumers,
  slugOfEnv,
} from "../index.ts";

const entry = (slug: string, more = ""): string => `  - { slug: ${slug}, name: N, description: d${more} }`;
const file = (...entries: string[]): string => `---\nsecrets:\n${entries.join("\n")}\n---\n`;

test("reads every field of an entry", () => {
  const text = `---
secrets:
  - slug: stripe-api-key
    name: Stripe
    description: Charges.
    kind: json
    backend: vault://main/stripe
    access:
      reveal: [{ role: admin }, { userId: u1 }]
      bind: [{ tool: charge }, { workflow: w }, { cap: "cap://a" }]
    audit: { retention: 7y, pii: true, classification: [a] }
    tags: [finance]
    metadata: { bindings: { env: [STRIPE_KEY, STRIPE_KEY] } }
    exposures:
      - { kind: env, name: STRIPE_TOKEN, field: accessToken }
      - { kind: file, path: ~/.stripe, mode: 384 }
      - { kind: egress-substitute, placeholderName: STRIPE, allowedByDefault: false }
---
`;
  expect(parseSecrets(text, "SECRETS.md")).toEqual({
    diagnostics: [],
    secrets: [
      {
        slug: "stripe-api-key",
        name: "Stripe",
        description: "Charges.",
        kind: "json",
        backend: "vault://main/stripe",
        access: {
          reveal: [{ role: "admin" }, { userId: "u1" }],
          bind: [{ tool: "charge" }, { workflow: "w" }, { cap: "cap://a" }],
          rotate: [],
        },
        envNames: ["STRIPE_KEY", "STRIPE_TOKEN"],
        tags: ["finance"],
        metadata: { bindings: { env: ["STRIPE_KEY", "STRIPE_KEY"] } },
        origin: { file: "SECRETS.md", line: 3, column: 5, format: "secrets" },
      },
    ],
  });
});

describe("a secret value in the file", () => {
  test.each(["value", "plaintext", "ciphertext", "secret", "data", "key", "token", "Value"])(
    "under the key %s is refused and not repeated",
    (key) => {
      for (const more of [
        `, ${key}: hunter2`,
        `, metadata: { deep: [{ ${key}: hunter2 }] }`,
        `, access: { bind: [{ tool: a, ${key}: hunter2 }] }`,
        `, audit: { ${key}: { a: hunter2 } }`,
      ]) {
        const { secrets, diagnostics } = parseSecrets(file(entry("aa", more), entry("bb")), "SECRETS.md");
        expect(secrets.map(({ slug }) => slug)).toEqual(["bb"]);
        expect(diagnostics).toMatchObject([
          { severity: "error", message: expect.stringContaining("could contain a secret") },
        ]);
        expect(JSON.stringify(diagnostics)).not.toContain("hunter2");
      }
    },
  );

  test("in the address of a backend is refused and not repeated", () => {
    const { diagnostics } = parseSecrets(file(entry("aa", ", backend: 'user:hunter2@host'")), "SECRETS.md");
    expect(diagnostics).toMatchObject([{ message: "secrets[0].backend is not an address" }]);
    expect(JSON.stringify(diagnostics)).not.toContain("hunter2");
  });
});

describe("refused inventories", () => {
  test.each<[string, string, string]>([
    ["an empty inventory", "---\nsecrets: []\n---\n", "secrets is empty"],
    [
      "another key",
      "---\nsecrets:\n  - { slug: aa, name: n, description: d }\nversion: 1\n---\n",
      "unknown key",
    ],
    ["capitals", file(entry("Stripe")), "slug cannot be"],
    ["one letter", file(entry("a")), "slug cannot be"],
    ["two namespaces", file(entry("a1/b1/c1")), "slug cannot be"],
    ["a grant for two", file(entry("aa", ", access: { bind: [{ tool: a, role: b }] }")), "more than one of"],
    ["a grant for nobody", file(entry("aa", ", access: { bind: [{}] }")), "none of"],
    [
      "a grant for a driver",
      file(entry("aa", ", access: { bind: [{ tool: a, driver: a }] }")),
      "unknown key",
    ],
    ["a strange capability", file(entry("aa", ", access: { reveal: [{ cap: a }] }")), "cap cannot be"],
    [
      "a strange variable",
      file(entry("aa", ", metadata: { bindings: { env: [a-b] } }")),
      "not the name of a variable",
    ],
    [
      "variables that are no list",
      file(entry("aa", ", metadata: { bindings: { env: A } }")),
      "must be a list",
    ],
    ["a strange retention", file(entry("aa", ", audit: { retention: long }")), "retention cannot be"],
    ["a slug twice", file(entry("aa"), entry("aa")), 'the slug "aa" is declared here and at line 3'],
    [
      "a variable twice",
      file(
        entry("aa", ", metadata: { bindings: { env: [X] } }"),
        entry("bb", ", metadata: { bindings: { env: [X] } }"),
      ),
      "the variable X belongs to",
    ],
  ])("%s", (_, text, message) => {
    const { diagnostics } = parseSecrets(text, "SECRETS.md");
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(message) })]);
  });
});

test.each([
  [
    "an exposure that is not known",
    file(entry("aa", ", exposures: [{ kind: pigeon }]")),
    "ignores this entry",
  ],
  ["two dashes", file(entry("a--b")), "two dashes"],
])("warns about %s and keeps the entry", (_, text, message) => {
  const { secrets, diagnostics } = parseSecrets(text, "SECRETS.md");
  expect(secrets).toHaveLength(1);
  expect(diagnostics).toMatchObject([{ severity: "warning", message: expect.stringContaining(message) }]);
});

describe("names of secrets", () => {
  test("are converted between environment variables and slugs", () => {
    expect(slugOfEnv("STRIPE_API_KEY")).toBe("stripe-api-key");
    expect(envOfSlug("stripe-api-key")).toBe("STRIPE_API_KEY");
    expect(envOfSlug("billing/api-key")).toBeUndefined();
  });

  test("find a secret by its bindings, or else by its slug", () => {
    const { secrets } = parseSecrets(
      file(entry("api-key"), entry("billing/key-a", ", metadata: { bindings: { env: [OTHER] } }")),
      "SECRETS.md",
    );
    expect(findSecret(secrets, "API_KEY")?.slug).toBe("api-key");
    expect(findSecret(secrets, "OTHER")?.slug).toBe("billing/key-a");
    expect(findSecret(secrets, "NONE")).toBeUndefined();
  });
});

test("mergeSecrets combines several inventories and reports duplicates", () => {
  const read = (slug: string, name: string): ReturnType<typeof parseSecrets>["secrets"] =>
    parseSecrets(file(entry(slug, `, metadata: { bindings: { env: [${name}] } }`)), `${name}.md`).secrets;
  const merged = mergeSecrets([read("aa", "X"), read("bb", "Y"), read("aa", "Z"), read("cc", "BB")]);
  expect(merged.secrets.map(({ slug }) => slug)).toEqual(["aa", "bb", "cc"]);
  expect(merged.diagnostics).toMatchObject([
    { severity: "error", file: "Z.md", message: 'the slug "aa" is declared here and at X.md:3' },
    { severity: "warning", file: "BB.md" },
  ]);
});

test("readConsumers reads the source of each variable, and refuses plain-text secrets", () => {
  const { root } = readYaml(
    "A: { vault: stripe-api-key }\nB: { oauth: github }\nC: { value: eu }\nd: { vault: aa }\nE: { vault: aa, value: hunter2 }\nF: { vault: NO }\nG: text\nH: { value: 1 }",
    "f.yaml",
  );
  const problems = new Diagnostics("f.yaml");
  expect(readConsumers(root, problems)).toEqual([
    { env: "A", from: { vault: "stripe-api-key" } },
    { env: "B", from: { oauth: "github" } },
    { env: "C", from: { value: "eu" } },
  ]);
  expect(problems.sorted().map(({ line }) => line)).toEqual([4, 5, 6, 7, 8]);
  expect(JSON.stringify(problems.sorted())).not.toContain("hunter2");
});

describe("a SKILL.md", () => {
  test("has a name, a description and an optional title", () => {
    const head = "name: summarize\ndescription: d\n";
    const title = { name: "summarize", description: "d", title: "T" };
    expect(parseSkill(`---\n${head}---\n`, "SKILL.md")).toEqual({
      skill: { name: "summarize", description: "d" },
      diagnostics: [],
    });
    expect(parseSkill(`---\n${head}title: T\nlicense: MIT\n---\n`, "SKILL.md").skill).toEqual(title);
    expect(parseSkill(`---\n${head}metadata: { aip3: { title: T } }\n---\n`, "SKILL.md").skill).toEqual(
      title,
    );
  });

  test.each(["name: A b\ndescription: d", "name: a", `name: a\ndescription: ${"x".repeat(1_025)}`])(
    "is refused with: %s",
    (head) => {
      const { skill, diagnostics } = parseSkill(`---\n${head}\n---\n`, "SKILL.md");
      expect(skill).toBeUndefined();
      expect(diagnostics).toHaveLength(1);
    },
  );
});
