import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findNpmRegistry } from "./registry.ts";

const NPMRC = `registry=https://npm.example.com/all/
@acme:registry=https://acme.example.com/npm
//acme.example.com/npm/:_authToken=\${ACME_TOKEN}
//other.example.com/:_authToken="plain"
`;

function settings(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const home = mkdtempSync(join(tmpdir(), "portolan-test-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  writeFileSync(join(home, ".npmrc"), NPMRC);
  const { PATH } = process.env;
  return { PATH, HOME: home, npm_config_userconfig: join(home, ".npmrc"), ACME_TOKEN: "of acme", ...more };
}

test("a scope has its own registry and token; other packages use the default registry without it", async () => {
  const env = settings();
  expect(await findNpmRegistry("@acme/a", { env })).toEqual({
    url: expect.stringMatching(/^https:\/\/acme\.example\.com\/npm\/?$/) as string,
    token: "of acme",
  });
  expect(await findNpmRegistry("a", { env })).toEqual({ url: "https://npm.example.com/all/" });
});

test.each([
  ["https://other.example.com/deep/er/", "plain"],
  ["https://other.example.com", "plain"],
  ["https://acme.example.com/npm/", "of acme"],
  ["https://acme.example.com/", undefined],
  ["https://acme.example.com/npmore/", undefined],
  ["https://other.example.com.evil.example/", undefined],
  ["https://other.example.com:8443/", undefined],
])("the token for %s is the one that belongs to its host and path", async (url, token) => {
  expect(await findNpmRegistry("a", { url, env: settings() })).toEqual({ url, token });
});

test("a token can come from an npm_config_ variable of the environment", async () => {
  const env = settings({ "npm_config_//env.example.com/:_authToken": "of the environment" });
  const { token } = await findNpmRegistry("a", { url: "https://env.example.com/x/", env });
  expect(token).toBe("of the environment");
});
