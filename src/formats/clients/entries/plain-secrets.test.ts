import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseReferences } from "../../../model/index.ts";
import type { ClientServer } from "../types.ts";
import { findPlainSecrets, withSecretReferences } from "./plain-secrets.ts";

const KEY = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
type Endpoint = ClientServer["endpoint"];

const named = (endpoint: Endpoint): [string, string][] =>
  findPlainSecrets({ endpoint }).map(({ name, value }) => [name, value]);
const referring = (endpoint: Endpoint): Endpoint =>
  withSecretReferences(endpoint, ({ name }) => `\${${name.replaceAll(/[^\w]/g, "")}}`);

describe("plain secrets of an entry", () => {
  it("finds them in variables, options and headers, and keeps the scheme of a header", () => {
    const program: Endpoint = {
      transport: "stdio",
      command: "x",
      args: ["--api-key", KEY, `--token=${KEY}1`, "--verbose"],
      env: { TOKEN: KEY, LOG: KEY, OTHER_KEY: "${KEY}" },
    };
    expect(named(program)).toEqual([
      ["TOKEN", KEY],
      ["--api-key", KEY],
      ["--token", `${KEY}1`],
    ]);
    expect(referring(program)).toEqual({
      ...program,
      args: ["--api-key", "${apikey}", "--token=${token}", "--verbose"],
      env: { TOKEN: "${TOKEN}", LOG: KEY, OTHER_KEY: "${KEY}" },
    });
    const remote: Endpoint = {
      transport: "http",
      url: "https://h.example/mcp",
      headers: { Authorization: `Bearer ${KEY}`, Accept: "text/plain" },
    };
    expect(named(remote)).toEqual([["Authorization", KEY]]);
    expect(referring(remote)).toMatchObject({ headers: { Authorization: "Bearer ${Authorization}" } });
  });

  it("finds the passwords of URLs in variables and arguments", () => {
    const program: Endpoint = {
      transport: "stdio",
      command: "x",
      args: ["postgres://me:pass@db.example/x", "--key", "postgres://me:pass@db.example/x"],
      env: { DATABASE_URL: "postgres://me:other@db.example/x", SITE: "https://h.example/a:b@c" },
    };
    expect(named(program)).toEqual([
      ["DATABASE_URL_PASSWORD", "other"],
      ["--key", "postgres://me:pass@db.example/x"],
      ["password", "pass"],
    ]);
    expect(referring(program)).toMatchObject({
      args: ["postgres://me:${password}@db.example/x", "--key", "${key}"],
      env: {
        DATABASE_URL: "postgres://me:${DATABASE_URL_PASSWORD}@db.example/x",
        SITE: "https://h.example/a:b@c",
      },
    });
  });

  it("finds several secrets in one URL, and keeps them percent-encoded", () => {
    const remote: Endpoint = {
      transport: "http",
      url: `https://me:p%40ssword@h.example/mcp?page=2&apiKey=a%2Fb%2Fc%2Fd%2Fe&token=${KEY}#key=${KEY}`,
    };
    expect(named(remote)).toEqual([
      ["apiKey", "a%2Fb%2Fc%2Fd%2Fe"],
      ["token", KEY],
      ["password", "p%40ssword"],
    ]);
    expect(referring(remote)).toMatchObject({
      url: `https://me:\${password}@h.example/mcp?page=2&apiKey=\${apiKey}&token=\${token}#key=${KEY}`,
    });
  });

  it("replacing the references with their values gives the original entry", () => {
    const text = fc.string({ minLength: 8, maxLength: 40 });
    fc.assert(
      fc.property(text, text, (token, key) => {
        const before: Endpoint = {
          transport: "stdio",
          command: "x",
          args: [`--key=${key}`],
          env: { TOKEN: token },
        };
        const values = new Map<string, string>();
        const after = withSecretReferences(before, ({ name, value }) => {
          values.set(name, value);
          return `\${${name.replaceAll("-", "")}}`;
        });
        const filled = (written: string): string =>
          parseReferences(written)
            .parts.map((part) =>
              part.kind === "text"
                ? part.text
                : (values.get(part.name) ?? values.get(`--${part.name}`) ?? ""),
            )
            .join("");
        if (after.transport !== "stdio" || before.transport !== "stdio") throw new Error("not a program");
        const plain = (written: string): string =>
          parseReferences(written)
            .parts.map((part) => (part.kind === "text" ? part.text : "?"))
            .join("");
        if (values.has("TOKEN")) expect(filled(after.env?.["TOKEN"] ?? "")).toBe(plain(token));
        if (values.has("--key")) expect(filled(after.args?.[0] ?? "")).toBe(plain(`--key=${key}`));
      }),
    );
  });
});
