import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSecretStore, type SecretStore } from "../../secrets/index.ts";
import { resolveCallerTokens } from "./bearer-tokens.ts";

let folder: string;
let store: SecretStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-callers-"));
  store = createSecretStore({
    env: { AGENT_TOKEN: "from-the-environment" },
    vaultFile: join(folder, "vault"),
    keyring: "off",
    report: () => {},
  });
});
afterEach(() => rm(folder, { recursive: true }));

test("references in caller tokens are resolved, and the other settings stay unchanged", async () => {
  await writeFile(join(folder, "token"), "from-a-file\n");
  const settings = {
    port: 1,
    callers: [
      { name: "agent@ci", token: "${AGENT_TOKEN}", allow: { servers: ["a"] } },
      { name: "b", token: "x-${file:token}" },
      { name: "c", token: "${NOBODY:-default}" },
      { name: "d", tokenSha256: "00" },
      { name: "e", token: ["${NOBODY:-one}", "${NOBODY:-two}"] },
    ],
  };
  const resolved = await resolveCallerTokens(settings, store, folder);
  expect(resolved.settings).toEqual({
    port: 1,
    callers: [
      { name: "agent@ci", token: "from-the-environment", allow: { servers: ["a"] } },
      { name: "b", token: "x-from-a-file" },
      { name: "c", token: "default" },
      { name: "d", tokenSha256: "00" },
      { name: "e", token: ["one", "two"] },
    ],
  });
  expect(resolved.secrets.map((secret) => secret.reveal())).toEqual(["from-the-environment", "from-a-file"]);
});

test("settings without tokens are returned unchanged", async () => {
  const settings = { callers: [{ name: "a", oauth: {} }] };
  expect((await resolveCallerTokens(settings, store, folder)).settings).toBe(settings);
});

test("one error names all missing secrets and the callers that need them", async () => {
  const callers = [
    { name: "a", token: "${MISSING_A}" },
    { name: "b", token: ["${NOBODY:-x}", "${MISSING_B}"] },
  ];
  await expect(resolveCallerTokens({ callers }, store, folder)).rejects.toMatchObject({
    code: "SECRET_MISSING",
    message:
      "Secrets are missing: MISSING_A (for the token of gateway caller a); MISSING_B (for the token of gateway caller b).",
  });
});

test("the same problem of several tokens is reported once", async () => {
  const callers = ["a", "b"].map((name) => ({ name, token: "${file:no-such-file}" }));
  await expect(resolveCallerTokens({ callers }, store, folder)).rejects.toMatchObject({
    message: expect.stringMatching(
      /^the token of gateway caller a, the token of gateway caller b: (?:(?!caller).)*no-such-file(?:(?!caller).)*$/,
    ) as string,
  });
});

test("a token that is empty after resolution is an error", async () => {
  const resolve = (token: string) => resolveCallerTokens({ callers: [{ name: "a", token }] }, store, folder);
  await expect(resolve("${NOBODY:-}")).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: "The token of the caller a in gateway.callers is an empty text.",
    hint: "Set the secret that the field token of this caller refers to: portolan secrets set NOBODY",
  });
  await expect(resolve("${env:NOBODY:-}")).rejects.toMatchObject({
    hint: "Set the field token of this caller to a secret reference such as ${NAME}.",
  });
});
