import { expect, it } from "vitest";
import { maskSecrets, maskValueAt } from "./secret-text.ts";

it.each([
  ['"BRAVE_API_KEY": "BSA-my-secret-1234"', '"BRAVE_API_KEY": "********"'],
  ["API_TOKEN: abcdefgh1234 # mine", "API_TOKEN: ******** # mine"],
  ["env: { apiKey: 'a b c d', OTHER: x }", "env: { apiKey: '********', OTHER: x }"],
  ['Authorization: "Bearer abcdefgh"', 'Authorization: "********"'],
  ["Authorization: Bearer abcdefgh", "Authorization: ********"],
  ['args: ["--api-key", "BSA-1234", "--port", "8080"]', 'args: ["--api-key", "********", "--port", "8080"]'],
  ['args: ["--token=BSA-1234"]', 'args: ["--token=********"]'],
  ["url: https://x.example/mcp?token=abcdefgh&a=b", "url: https://x.example/mcp?token=********&a=b"],
  ["url: https://me:hunter22@x.example/", "url: https://me:********@x.example/"],
  ["note: ghp_abcdefghijkl", "note: ********"],
])("maskSecrets masks the secret in: %s", (line, masked) => {
  expect(maskSecrets(line)).toBe(masked);
});

it.each([
  "API_KEY: ${API_KEY}",
  "API_KEY: '{{API_KEY}}'",
  "command: node",
  'args: ["--port", "8080"]',
  "auth: none",
])("maskSecrets keeps unchanged: %s", (line) => {
  expect(maskSecrets(line)).toBe(line);
});

it("maskValueAt masks the value at the given column", () => {
  expect(maskValueAt('  "BSA-my-secret",', 3)).toBe('  "********",');
  expect(maskValueAt("- BSA-my-secret", 3)).toBe("- ********");
});
