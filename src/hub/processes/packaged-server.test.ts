// Mcpfiles of packages: commands get the sandbox of the config, and requests leave it for no other host.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseMcpfile } from "../../formats/mcpfile/index.ts";
import type { InvokedServer } from "../../model/index.ts";
import { withSandbox } from "./packaged-server.ts";

const SEED = new URL("../../../test/fixtures/mcpfiles/seed.yaml", import.meta.url);
const server = (name: string): InvokedServer => {
  const found = parseMcpfile(readFileSync(SEED, "utf8"), "/p/seed.yaml").servers.find(
    ({ info }) => info.name === name,
  );
  if (found === undefined) throw new Error(`no server ${name}`);
  return found;
};

test("a command runs in the granted sandbox, and reads the package", () => {
  const granted = { network: ["github.com"], fs: { write: ["/work"] } };
  const packaged = withSandbox(server("git-tools"), granted, "git");
  expect(packaged.packageFolder).toBe("/p");
  expect(packaged.tools[0]?.invocation).toMatchObject({ kind: "cli", sandbox: granted });
  expect(withSandbox(server("git-tools"), {}, "git").tools[0]?.invocation).toMatchObject({ sandbox: {} });
});

test.each([
  [[], false],
  [["localhost:8081"], false],
  [["*"], false],
  [["localhost:8080"], true],
])("a request to localhost:8080 with the network %j: %j", (network, isAllowed) => {
  const open = (): InvokedServer => withSandbox(server("user-service"), { network }, "users");
  if (isAllowed) expect(open().tools).toHaveLength(1);
  else expect(open).toThrow(expect.objectContaining({ code: "SANDBOX_DENIED", server: "users" }));
});

test("a host that a setting names needs every public host", () => {
  const users = server("user-service");
  const [tool] = users.tools;
  if (tool?.invocation.kind !== "http") throw new Error("no request");
  const url = [
    { kind: "text", text: "https://" },
    { kind: "env", name: "HOST" },
    { kind: "text", text: "/users" },
  ] as const;
  const dynamic = { ...users, tools: [{ ...tool, invocation: { ...tool.invocation, url } }] };
  expect(() => withSandbox(dynamic, { network: ["example.com"] }, "users")).toThrow("a setting names");
  expect(withSandbox(dynamic, { network: ["*"] }, "users").tools).toHaveLength(1);
});
