// Mcpfiles in packages: commands get the sandbox of the config, and HTTP requests get its network rules.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseMcpfile } from "../../formats/mcpfile/index.ts";
import type { InvokedServer, SandboxConfig } from "../../model/index.ts";
import { withSandbox } from "./packaged-server.ts";

const SEED = new URL("../../../test/fixtures/mcpfiles/seed.yaml", import.meta.url);
const server = (name: string): InvokedServer => {
  const found = parseMcpfile(readFileSync(SEED, "utf8"), "/p/seed.yaml").servers.find(
    ({ info }) => info.name === name,
  );
  if (found === undefined) throw new Error(`no server ${name}`);
  return found;
};

test("a command runs in the configured sandbox, and can read the package folder", () => {
  const granted = { network: ["github.com"], fs: { write: ["/work"] } };
  const packaged = withSandbox(server("git-tools"), granted);
  expect(packaged.packageFolder).toBe("/p");
  expect(packaged.tools[0]?.invocation).toMatchObject({ kind: "cli", sandbox: granted });
  expect(withSandbox(server("git-tools"), {}).tools[0]?.invocation).toMatchObject({ sandbox: {} });
});

test("an HTTP request may reach the granted hosts, or every host if the sandbox is off", () => {
  const hosts = (granted: SandboxConfig): unknown => {
    const [tool] = withSandbox(server("user-service"), granted).tools;
    return tool?.invocation.kind === "http" ? tool.invocation.allowedHosts : "no request";
  };
  expect(hosts({ network: ["localhost:8080"] })).toEqual(["localhost:8080"]);
  expect(hosts({})).toEqual([]);
  expect(hosts({ mode: "off" })).toBeUndefined();
});
