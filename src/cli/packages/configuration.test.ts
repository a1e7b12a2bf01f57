import fc from "fast-check";
import { expect, test } from "vitest";
import { parseReferences } from "../../model/index.ts";
import { type ConfigurationSources, resolveConfiguration, secretNameOf, toText } from "./configuration.ts";
import { settingsOf } from "./facts.ts";

const SETTINGS = settingsOf(
  {
    properties: {
      github_token: { type: "string", secret: true },
      api_url: { type: "string", default: "https://api.github.com" },
      limit: { type: "integer", minimum: 1 },
      mode: { enum: ["fast", "slow"] },
      tags: { type: "array", items: { type: "string" } },
      debug: { type: "boolean" },
    },
    required: ["github_token"],
  },
  { debug: "MY_DEBUG" },
);

const NAME = "@alice/github-mcp";
const OWN = "package.alice.github-mcp.github_token";

function resolved(sources: Partial<ConfigurationSources> & { given?: Record<string, string> } = {}) {
  const { given = {}, ...rest } = sources;
  return resolveConfiguration(SETTINGS, {
    ...{ options: new Map(Object.entries(given)), file: {}, kept: {}, env: {} },
    ...{ stored: new Set<string>(), packageName: NAME, ...rest },
  });
}

const texts = (values: Awaited<ReturnType<typeof resolved>>["values"]): Record<string, string> =>
  Object.fromEntries(values.map(({ setting, text, from }) => [setting.variable, `${from}: ${text}`]));

test("defaults apply, and settings without a value are returned as open, required ones first", async () => {
  const { values, open, problems } = await resolved();
  expect(problems).toEqual([]);
  expect(texts(values)).toEqual({ API_URL: "default: https://api.github.com" });
  expect(open.map(({ key }) => key)).toEqual(["github_token", "limit", "mode", "tags", "debug"]);
});

test("options are read by their type, and {{NAME}} is a reference", async () => {
  const { values, problems } = await resolved({
    given: {
      github_token: "{{GH}}",
      limit: "5",
      mode: "slow",
      tags: "a, b",
      debug: "yes",
      api_url: "https://{{HOST}}/${x}",
    },
  });
  expect(problems).toEqual([]);
  expect(texts(values)).toEqual({
    GITHUB_TOKEN: "option: ${GH}",
    LIMIT: "option: 5",
    MODE: "option: slow",
    TAGS: "option: a,b",
    MY_DEBUG: "option: true",
    API_URL: "option: https://${HOST}/$${x}",
  });
});

test("all wrong values are reported at once, and no message contains a secret", async () => {
  const { problems } = await resolved({
    given: {
      github_token: "ghp_secret",
      limit: "0",
      mode: "quick",
      debug: "maybe",
      tags: "[1",
      nothing: "x",
    },
  });
  expect(problems).toHaveLength(6);
  expect(problems.join("\n")).not.toContain("ghp_secret");
  expect(problems.join("\n")).toContain("must be one of fast, slow");
});

test("a secret in a file is stored under the name of the package, and used again later", async () => {
  const first = await resolved({ file: { github_token: "ghp_secret", tags: ["x,y"] } });
  const [token, , tags] = first.values;
  expect(token?.text).toBe(`\${secrets.${OWN}}`);
  expect(token?.store?.name).toBe(OWN);
  expect(token?.store?.value.reveal()).toBe("ghp_secret");
  expect(JSON.stringify(first.values)).not.toContain("ghp_secret");
  expect(tags?.text).toBe('["x,y"]');
  expect(texts((await resolved({ stored: new Set([OWN]) })).values)["GITHUB_TOKEN"]).toBe(
    `stored: \${secrets.${OWN}}`,
  );
});

test("values in portolan.yaml are kept, and only variables PORTOLAN_SECRET_* are used unasked", async () => {
  expect(texts((await resolved({ kept: { API_URL: "http://x", GITHUB_TOKEN: "${A}" } })).values)).toEqual({
    API_URL: "kept: http://x",
    GITHUB_TOKEN: "kept: ${A}",
  });
  const { open } = await resolved({ env: { GITHUB_TOKEN: "x", API_URL: "y" } });
  expect(open[0]?.key).toBe("github_token");
  expect(texts((await resolved({ env: { PORTOLAN_SECRET_GITHUB_TOKEN: "x" } })).values)["GITHUB_TOKEN"]).toBe(
    "environment: ${secrets.GITHUB_TOKEN}",
  );
});

test("the server gets the text of an option unchanged", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 30 }), async (text) => {
      fc.pre(!/\{\{\s*[A-Za-z_][\w.-]*\s*\}\}/.test(text));
      const { values } = await resolved({ given: { api_url: text } });
      const value = values.find(({ setting }) => setting.key === "api_url");
      const { parts } = parseReferences(value?.text ?? "");
      expect(parts.map((part) => (part.kind === "text" ? part.text : "?")).join("")).toBe(text);
    }),
  );
});

test.each([
  ["@0a/b-mcp", "x y", "package.0a.b-mcp.x.y"],
  ["com.example/server", "key", "package.com.example.server.key"],
])("the secret of the package %s for the setting %s is stored as %s", (name, key, secret) => {
  expect(secretNameOf(name, key)).toBe(secret);
});

test("toText writes values as texts of environment variables", () => {
  const values = [1, true, "a,b", ["a", 2], [], ["a,b"], [["a"], "b"], [null], { a: 1 }];
  expect(values.map((value) => toText(value))).toEqual([
    ...["1", "true", "a,b", "a,2", "", '["a,b"]', '[["a"],"b"]', "[null]", '{"a":1}'],
  ]);
  expect(toText(["a", 2], { isJsonList: true })).toBe('["a",2]');
});
