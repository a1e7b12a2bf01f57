import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/** Everything that `file` imports before it runs: types are erased, and `import()` waits until it is called. */
function importsOf(file: string, seen: Set<string> = new Set<string>()): Set<string> {
  const text = readFileSync(file, "utf8");
  for (const [, from] of text.matchAll(/^(?:import|export) (?!type )[^;]*? from "([^"]+)";/gms)) {
    if (from === undefined) continue;
    const path = from.startsWith(".") ? resolve(dirname(file), from) : from;
    if (seen.has(path)) continue;
    seen.add(path);
    if (from.startsWith(".")) importsOf(path, seen);
  }
  return seen;
}

test("importing the secrets module loads no keyring, cryptography, env-paths or child processes", () => {
  const loaded = [...importsOf(fileURLToPath(new URL("index.ts", import.meta.url)))];
  expect(loaded.filter((path) => !path.startsWith("/")).sort()).toEqual([
    "node:fs",
    "node:fs/promises",
    // The model imports this, so every module does.
    "node:module",
    "node:net",
    "node:os",
    "node:path",
    "node:url",
  ]);
  expect(loaded.filter((path) => /vault(-file|-key|-reader)?\.ts$/.test(path))).toEqual([]);
});

test("the secrets module exports exactly the listed names", async () => {
  expect(Object.keys(await import("./index.ts")).sort()).toMatchInlineSnapshot(`
    [
      "REDACTED",
      "Secret",
      "createKeyring",
      "createRedactor",
      "createSecretStore",
      "createVaultAgent",
      "resolveEndpoint",
      "serveVaultAgent",
      "textsOf",
      "toSecretError",
      "withRedactedError",
    ]
  `);
});
