import { describe, expect, it } from "vitest";
import type { ClientServer } from "../../formats/clients/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { ownGateway, servedWorkspace } from "../serve/own-gateway.ts";
import { gatewayServer, programWords } from "../connect/gateway-server.ts";
import { isSameServer, matchServer, namesakeDifference } from "./same-server.ts";

const HOME = "/home/me";
const origin = { file: "/f", line: 1, column: 1, format: "cursor" };

function client(endpoint: ClientServer["endpoint"], more: Partial<ClientServer> = {}): ClientServer {
  return { alias: "files", name: "files", enabled: true, origin, endpoint, ...more };
}

function ours(endpoint: ServerConfig["endpoint"], more: Partial<ServerConfig> = {}): ServerConfig {
  return { alias: "files", enabled: true, origin, endpoint, ...more };
}

const npx = (...args: string[]): ClientServer["endpoint"] => ({ transport: "stdio", command: "npx", args });
const url = (headers?: Record<string, string>, at = "https://h.example/mcp"): ClientServer["endpoint"] => ({
  transport: "http",
  url: at,
  headers,
});

describe("namesakeDifference", () => {
  const other = ours(npx("-y", "s", "/b"));

  it("names the difference to the server with the same name", () => {
    const about = (endpoint: ClientServer["endpoint"]): string | undefined =>
      namesakeDifference(client(endpoint), [other]);
    expect(about(npx("-y", "s", "/a"))).toBe(
      "it is not the server files of this workspace: its arguments differ",
    );
    expect(about({ transport: "stdio", command: "sh" })).toContain("its command differs");
    expect(about(url())).toContain("its transport differs");
    expect(namesakeDifference(client(url()), [ours(url({}, "https://x.example"))])).toContain("its address");
  });

  it("is undefined without a server of that name", () => {
    expect(namesakeDifference(client(npx("s"), { alias: "notes" }), [other])).toBeUndefined();
  });
});

describe("matchServer", () => {
  it.each([
    ["the same command", npx("-y", "s", "/a"), npx("-y", "s", "/a")],
    ["npx with and without -y", npx("s", "/a"), npx("-y", "s", "/a")],
    ["a package by its name", npx("-y", "s@1"), { transport: "stdio", kind: "npm", package: "s@1" }],
    ["the same URL", url({ "X-Key": "a" }), url({ "x-key": "a" })],
    ["a URL in another spelling", url(undefined, "https://H.example:443/mcp"), url()],
    ["a reference for a plain value", url({ "X-Key": "plain" }), url({ "X-Key": "${KEY}" })],
    ["a reference after a scheme", url({ "X-Key": "Bearer plain" }), url({ "X-Key": "Bearer ${KEY}" })],
    ["a reference for an argument", npx("-y", "s", "--key=plain"), npx("-y", "s", "--key=${KEY}")],
    [
      "a reference in a URL",
      url({}, "https://h.example/mcp?k=plain"),
      url({}, "https://h.example/mcp?k=${KEY}"),
    ],
  ] as [string, ClientServer["endpoint"], ServerConfig["endpoint"]][])(
    "recognises the same server: %s",
    (_name, a, b) => {
      expect(matchServer(client(a), [ours(npx("other")), ours(b, { alias: "mine" })], HOME)).toEqual({
        kind: "replaced",
        by: "mine",
      });
    },
  );

  it.each([
    ["another argument", npx("-y", "s", "/a"), npx("-y", "s", "/b")],
    ["another option before a reference", npx("-y", "s", "--id=plain"), npx("-y", "s", "--key=${KEY}")],
    ["another end of a reference", npx("-y", "s", "plain-b"), npx("-y", "s", "${KEY}-a")],
    ["another transport", url(), { transport: "sse", url: "https://h.example/mcp" }],
  ] as [string, ClientServer["endpoint"], ServerConfig["endpoint"]][])(
    "%s is another server",
    (_name, a, b) => {
      expect(matchServer(client(a), [ours(b)], HOME)).toEqual({ kind: "missing" });
    },
  );

  it("keeps a server with other settings, and the reason contains no values", () => {
    const secret = client(url({ Authorization: "Bearer secret" }));
    expect(matchServer(secret, [ours(url({ Authorization: "Bearer other" }))], HOME)).toEqual({
      kind: "differs",
      by: "files",
      reason: "its header Authorization differs from the workspace",
    });
    const differs: [Partial<ClientServer>, Partial<ServerConfig>, RegExp][] = [
      [{}, { enabled: false }, /disabled in the workspace/],
      [{ enabled: false }, {}, /disabled in the client/],
      [{ envFile: "/x/.env" }, {}, /from a file/],
      [{ blockTools: ["rm"] }, {}, /blocks tools/],
      [{ allowTools: ["ls"] }, {}, /allowed tools/],
    ];
    for (const [theirs, mine, reason] of differs)
      expect(matchServer(client(npx("s"), theirs), [ours(npx("s"), mine)], HOME)).toMatchObject({
        kind: "differs",
        reason: expect.stringMatching(reason) as string,
      });
    const env = (value: Record<string, string>): ClientServer["endpoint"] => ({
      ...{ transport: "stdio", command: "s", env: value },
    });
    expect(matchServer(client(env({ A: "1" })), [ours(env({ A: "1", B: "2" }))], HOME).kind).toBe("differs");
    expect(matchServer(client(env({ A: "1" })), [ours(env({}))], HOME).kind).toBe("differs");
  });
});

describe("a server that keeps data", () => {
  const memory = (file?: string): ClientServer["endpoint"] => ({
    ...{ transport: "stdio", command: "npx", args: ["-y", "@modelcontextprotocol/server-memory"] },
    env: file === undefined ? undefined : { MEMORY_FILE_PATH: file },
  });

  it("is replaced if the workspace has it with the data file that Portolan suggests", () => {
    const there = [ours(memory(`${HOME}/server-memory/memory.jsonl`))];
    expect(matchServer(client(memory()), there, HOME).kind).toBe("replaced");
  });

  it("stays if the server of the workspace has other data", () => {
    expect(matchServer(client(memory()), [ours(memory(`${HOME}/brain.jsonl`))], HOME)).toEqual({
      kind: "differs",
      by: "files",
      reason: "its variable MEMORY_FILE_PATH differs from the workspace",
    });
    const there = [ours(memory(`${HOME}/server-memory/memory.jsonl`))];
    expect(matchServer(client(memory(`${HOME}/brain.jsonl`)), there, HOME).kind).toBe("differs");
  });
});

describe("isSameServer", () => {
  const env = (value?: Record<string, string>): ClientServer["endpoint"] => ({
    ...{ transport: "stdio", command: "npx", args: ["-y", "s"], env: value },
  });

  it("accepts another name and another spelling", () => {
    expect(isSameServer(client(env({ A: "1" })), client(env({ A: "1" }), { alias: "other" }))).toBe(true);
    expect(isSameServer(client(npx("s")), client(npx("-y", "s")))).toBe(true);
    const withFile = client(npx("s"), { envFile: "/x/.env" });
    expect(isSameServer(withFile, { ...withFile, alias: "other" })).toBe(true);
  });

  it.each([
    ["fewer variables", client(env({ A: "1" })), client(env({ A: "1", B: "2" }))],
    ["another value", client(env({ A: "1" })), client(env({ A: "2" }))],
    ["a reference for a value", client(env({ A: "1" })), client(env({ A: "${A}" }))],
    ["another argument", client(npx("s", "/a")), client(npx("s", "/b"))],
    ["a file of variables", client(npx("s")), client(npx("s"), { envFile: "/x/.env" })],
    ["a server that is switched off", client(npx("s")), client(npx("s"), { enabled: false })],
  ])("%s is another server", (_name, a, b) => {
    expect(isSameServer(a, b)).toBe(false);
    expect(isSameServer(b, a)).toBe(false);
  });
});

describe("the gateway's entry", () => {
  const program = {
    node: "/opt/node",
    script: "/opt/portolan",
    version: "1.2.3",
    platform: "linux" as const,
  };
  const place = { workspace: "/w/${x}", program, settings: {}, http: false };

  it("starts with absolute paths, or with npx if Portolan runs from the cache of npx", () => {
    expect(programWords(program)).toEqual(["/opt/node", "/opt/portolan"]);
    const cached = { ...program, script: "/home/me/.npm/_npx/ab12/node_modules/.bin/portolan" };
    expect(programWords(cached)).toEqual(["npx", "-y", "portolan@1.2.3"]);
    expect(programWords({ ...cached, platform: "win32" }).slice(0, 3)).toEqual(["cmd", "/c", "npx"]);
  });

  it("is recognised as a gateway, with its workspace", () => {
    const { endpoint } = gatewayServer("cursor", place);
    if (endpoint.transport !== "stdio" || !("command" in endpoint)) throw new Error("not a command");
    const words = [endpoint.command ?? "", ...(endpoint.args ?? [])];
    expect(servedWorkspace(words, program.script)).toBe("/w/$${x}");
    expect(servedWorkspace(["portolan", "serve", "/a", "--stdio"], undefined)).toBe("/a");
    expect(servedWorkspace(["portolan", "list"], undefined)).toBeUndefined();
    expect(
      ownGateway(ours(endpoint), { host: "127.0.0.1", port: 7420, script: program.script }),
    ).toBeDefined();
  });
});
