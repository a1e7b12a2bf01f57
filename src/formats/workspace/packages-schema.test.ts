import { expect, test } from "vitest";
import { parseWorkspace } from "./read.ts";

const KEY = Buffer.alloc(32, 7).toString("base64");

function problems(text: string): string[] {
  return parseWorkspace(text, "portolan.yaml").diagnostics.map(
    ({ line, column, message }) => `${line}:${column} ${message}`,
  );
}

test("reads every key of registries and packages", () => {
  const { settings, diagnostics } = parseWorkspace(
    `registries:
  - ./mirror
  - { url: https://registry.example.com, scopes: ["@alice", bob], token: "\${TOKEN}", key: ${KEY} }
  - { url: https://official.example.com, api: official }
packages:
  require: [provenance, audit]
  trust: { certificates: [team.pem], sigstore_root: root.json, npm_keys: keys.json }
  min_release_age: 3d
  advisories: { warn: low, refuse: high }
`,
    "portolan.yaml",
  );
  expect(diagnostics).toEqual([]);
  expect(settings.registries).toEqual([
    { url: "./mirror" },
    { url: "https://registry.example.com", scopes: ["@alice", "bob"], token: "${TOKEN}", key: KEY },
    { url: "https://official.example.com", api: "official" },
  ]);
  expect(settings.packages).toEqual({
    require: ["provenance", "audit"],
    trust: { certificates: ["team.pem"], sigstoreRoot: "root.json", npmKeys: "keys.json" },
    minReleaseAgeMs: 3 * 86_400_000,
    advisories: { warn: "low", refuse: "high" },
  });
});

test.each([
  ["registries: [ftp://a]", '1:14 "ftp://a/" is not the URL of a registry'],
  ["registries: [{scopes: [a]}]", "1:14 url is missing in registries[0]"],
  [
    "registries: ['https://u:p@a/']",
    "1:14 the URL of the registry https://a/ contains a user name, a password, a query or a fragment",
  ],
  [
    "registries: [{url: 'https://a', token: abc}]",
    "1:40 the token is written out, so everyone who can read this file has it",
  ],
  [
    "registries: [{url: 'https://a', key: 630dcd2966c4336691125448bbb25b4f}]",
    '1:38 registries[0].key cannot be "630dcd2966c4336691125448bbb25b4f"',
  ],
  [
    `registries: [{url: 'https://a', api: official, key: ${KEY}}]`,
    "1:53 a registry with the official API signs nothing, so it has no key",
  ],
  ["packages: {min_release_age: soon}", '1:29 min_release_age must be an age, not "soon"'],
  ["packages: {require: [magic]}", '1:22 packages.require[0] cannot be "magic"'],
  ["packages: {advisories: {warn: all}}", '1:31 packages.advisories.warn cannot be "all"'],
])("reports %s", (text, problem) => {
  expect(problems(text)).toEqual([problem]);
});

test.each([
  ["0", 0],
  ["90m", 90 * 60_000],
  ["1.5h", 5_400_000],
  ["2w", 14 * 86_400_000],
])("reads the min_release_age %s", (text, ms) => {
  expect(parseWorkspace(`packages: {min_release_age: ${text}}`, "f").settings.packages?.minReleaseAgeMs).toBe(
    ms,
  );
});
