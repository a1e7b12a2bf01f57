import { describe, expect, test } from "vitest";
import type { CliIo } from "../context.ts";
import { registriesOf } from "./options.ts";
import type { PackageSettings } from "./settings.ts";

const A = "https://a.example";
const B = "https://b.example";
const settings = {
  registries: [{ url: `${B}/`, token: "${B_TOKEN}", key: "key-of-b", scopes: ["@b"] }],
} as unknown as PackageSettings;
const cli = (env: Record<string, string> = {}): { io: CliIo } => ({ io: { env, cwd: "/w" } as CliIo });

describe("registriesOf", () => {
  test("gives a registry of --registry its key and token of portolan.yaml, but not its scopes", () => {
    expect(registriesOf(cli(), { registry: [A, B] }, settings)).toEqual([
      { url: A },
      { url: B, token: "${B_TOKEN}", key: "key-of-b" },
    ]);
  });

  test("gives PORTOLAN_REGISTRY_TOKEN only to the first registry", () => {
    const env = { PORTOLAN_REGISTRY: `${A} ${B}`, PORTOLAN_REGISTRY_TOKEN: "secret" };
    expect(registriesOf(cli(env), {}, settings).map(({ token }) => token)).toEqual(["secret", "${B_TOKEN}"]);
  });

  test("uses the registries of portolan.yaml if none is named", () => {
    expect(registriesOf(cli({ PORTOLAN_REGISTRY_TOKEN: "secret" }), {}, settings)).toEqual(
      settings.registries,
    );
  });
});
