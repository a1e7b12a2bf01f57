import { expect, test } from "vitest";
import { isHostedBy } from "./hosted.ts";
import { tokenOfRegistry } from "./tokens.ts";

const resolve = async (reference: string): Promise<string> => `resolved ${reference}`;

test("a token belongs to the registry with exactly its URL", async () => {
  const registries = [{ url: "https://a.example.com/r/", token: "${A}" }, { url: "https://b.example.com" }];
  const tokenOf = (url: string, env = {}): Promise<string | undefined> =>
    tokenOfRegistry(url, { registries, env, resolve });
  expect(await tokenOf("https://a.example.com/r")).toBe("resolved ${A}");
  for (const url of ["https://a.example.com", "http://a.example.com/r", "https://b.example.com", "nonsense"])
    expect(await tokenOf(url)).toBeUndefined();
  const env = {
    PORTOLAN_REGISTRY: "https://b.example.com/ https://c.example.com",
    PORTOLAN_REGISTRY_TOKEN: "own",
  };
  expect(await tokenOf("https://b.example.com", env)).toBe("own");
  expect(await tokenOf("https://c.example.com", env)).toBeUndefined();
});

test("only URLs below the URL of the registry belong to it", () => {
  const registry = "https://a.example.com/r";
  expect(isHostedBy(registry, "https://a.example.com/r/files/sha256-00")).toBe(true);
  for (const url of [
    "https://a.example.com/rest/files/x",
    "https://a.example.com/r/../x",
    "https://a.example.com.evil.test/r/files/x",
    "https://a.example.com:8443/r/files/x",
    "http://a.example.com/r/files/x",
    "https://evil.test/?https://a.example.com/r/",
  ])
    expect(isHostedBy(registry, url)).toBe(false);
});
