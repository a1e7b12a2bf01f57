// Finds the server of a workspace that runs a package.

import { expect, test } from "vitest";
import type { ServerConfig } from "../../model/index.ts";
import { findPackageServer } from "./find-package.ts";

const server = (alias: string, args: string[] = ["server.mjs"]): ServerConfig => ({
  alias,
  origin: { file: "portolan.yaml", line: 1, column: 1, format: "workspace" },
  endpoint: { transport: "stdio", command: args[0] === "-y" ? "npx" : "node", args },
  enabled: true,
});
const find = (...servers: ServerConfig[]): string => findPackageServer("@alice/github-mcp", servers).alias;

test("finds a server by its npm package, then by its alias", () => {
  const npm = server("b", ["-y", "@alice/github-mcp@^1"]);
  const [long, short] = [server("github-mcp"), server("github")];
  expect(find(short, long, npm)).toBe("b");
  expect(find(short, long)).toBe("github-mcp");
  expect(find(short)).toBe("github");
});

test("prefers the lock file, then the package in the config, and never uses another package", () => {
  const name = "@alice/github-mcp";
  const byLock = server("x");
  const npm = server("b", ["-y", `${name}@^1`]);
  const byConfig: ServerConfig = {
    ...server("c"),
    endpoint: {
      ...{ transport: "stdio", kind: "package", package: `${name}@^1.0.0` },
      lock: { file: "portolan.lock", server: "c" },
    },
  };
  const locked = new Map([["x", { name }]]);
  expect(findPackageServer(name, [npm, byConfig, byLock], locked).alias).toBe("x");
  expect(findPackageServer(name, [npm, byConfig, byLock]).alias).toBe("c");
  const other = new Map([["github", { name: "@mallory/github-mcp" }]]);
  expect(() => findPackageServer(name, [server("github")], other)).toThrow(
    expect.objectContaining({ code: "SERVER_UNKNOWN" }),
  );
});

test("no matching server, and several matching servers, are errors", () => {
  expect(() => find(server("gitlab"))).toThrow(
    expect.objectContaining({
      code: "SERVER_UNKNOWN",
      hint: expect.stringContaining("portolan add github -- npx -y @alice/github-mcp"),
    }),
  );
  const [one, two] = [server("b", ["-y", "@alice/github-mcp"]), server("c", ["-y", "@alice/github-mcp"])];
  expect(() => find(one, two)).toThrow(expect.objectContaining({ code: "NAME_AMBIGUOUS" }));
});
