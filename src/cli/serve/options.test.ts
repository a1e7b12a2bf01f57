import { expect, test } from "vitest";
import { isPortolanError } from "../../errors/index.ts";
import { aliasOf } from "../target/server-config.ts";
import { clientLines, reachable, tokenCommand } from "./greeting.ts";
import { overSettings, parseServeOptions, type RawServeOptions } from "./options.ts";

const problems = (raw: RawServeOptions): unknown => {
  try {
    parseServeOptions(raw, ".");
  } catch (error) {
    if (isPortolanError(error)) return error.data["problems"];
    throw error;
  }
  return [];
};

test.each<[RawServeOptions, number]>([
  [{ port: "0", host: "::1" }, 0],
  [{ port: "65535", host: "[::1]", allowHost: ["a.example:80", "*.b.example", "[::1]:7"] }, 0],
  [{ port: "65536" }, 1],
  [{ port: "1e3" }, 1],
  [{ port: "-1" }, 1],
  [{ port: "" }, 1],
  [{ host: "http://x" }, 1],
  [{ host: "x:80" }, 1],
  [{ allowHost: ["https://a", "a b", "*"] }, 3],
  [{ allowOrigin: ["https://a.example/", "a.example", "https://a.example:8"] }, 2],
  [{ tlsKey: "package.json" }, 1],
  [{ tlsCert: "package.json", tlsKey: "nope.pem" }, 1],
  [{ stdio: true, sse: true, websocket: true, json: true }, 3],
  [{ auth: false, newToken: true }, 1],
])("parseServeOptions reports for %j the number of problems: %i", (raw, count) => {
  expect(problems(raw)).toHaveLength(count);
});

test("options override the config file, and lists and transports are merged", () => {
  const { settings } = parseServeOptions(
    { port: "1", host: "[::1]", auth: false, websocket: true, allowHost: ["b"] },
    ".",
  );
  const declared = {
    port: 2,
    pageSize: 3,
    tls: { cert: "c", key: "k" },
    transports: { sse: true },
    allowedHosts: ["a", "b"],
    allowedOrigins: ["https://o"],
  };
  expect(overSettings(declared, settings)).toEqual({
    ...declared,
    host: "::1",
    port: 1,
    auth: "none",
    transports: { sse: true, websocket: true },
  });
  expect(overSettings(undefined, {})).toEqual({});
});

test.each([
  ["http://127.0.0.1:7420", undefined, "http://127.0.0.1:7420"],
  ["http://0.0.0.0:7420", undefined, "http://127.0.0.1:7420"],
  ["https://[::]:8443", ["*.x.example", "tools.example"], "https://tools.example:8443"],
  ["https://0.0.0.0:8443", ["tools.example:443"], "https://tools.example:443"],
])(
  "reachable() replaces an unspecified address: %s with allowed hosts %s is %s",
  (url, allowedHosts, wanted) => {
    expect(reachable(url, { allowedHosts })).toBe(wanted);
  },
);

test.each([
  ["npx -y @modelcontextprotocol/server-everything", "everything"],
  ["node ./dist/notes.js --flag", "notes"],
  ["uvx mcp-server-git@1.2", "git"],
  ["node", "server"],
])("the command %s gets the alias %s", (line, alias) => {
  const [command = "", ...args] = line.split(" ");
  expect(aliasOf({ kind: "command", command, args, label: line })).toBe(alias);
});

test("a URL gets an alias from its host", () => {
  const url = "https://mcp.linear.app/mcp";
  expect(aliasOf({ kind: "url", transport: "http", url, label: url })).toBe("linear");
});

test("client config has no header without a token, and the token command repeats the program path", () => {
  const url = "http://127.0.0.1:7420/mcp";
  expect(clientLines({ url, token: undefined }).map(({ text }) => text)).toEqual([
    `claude mcp add --transport http portolan ${url}`,
    JSON.stringify({ mcpServers: { portolan: { url } } }),
    JSON.stringify({ servers: { portolan: { type: "http", url } } }),
  ]);
  expect(tokenCommand("/usr/bin/portolan", "/w", "/w")).toBe("portolan token");
  expect(tokenCommand("/w/dist/cli/main.js", "/w", "/w/my app")).toBe(
    "node dist/cli/main.js token -w 'my app'",
  );
});
