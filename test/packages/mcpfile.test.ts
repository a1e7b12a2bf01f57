// A package whose program is an mcpfile: packed by the command, started from the store, within the sandbox of the config.

import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { envelope, portolan, type Ran, resultText } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";
import { packageFolder, startFileServer, writePackageWorkspace } from "../helpers/packages.ts";
import type { Loose } from "../helpers/registry.ts";

it("the server of a packed mcpfile gets only the settings and hosts of the config", async () => {
  const files = await startFileServer();
  files.serve("/users/7", (request, response) =>
    response.end(JSON.stringify({ name: "Ada", by: request.headers["x-token"] })),
  );
  const host = new URL(files.url).host;
  const folder = packageFolder();
  const env = {
    XDG_DATA_HOME: join(folder, "data"),
    USER_TOKEN: "from-the-environment-1",
    PORTOLAN_SANDBOX: "",
  };
  const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd: folder, env });
  writeFileSync(
    join(folder, "users.mcpfile.yaml"),
    `kind: MCPToolDefinitions
schemaVersion: "0.2.0"
name: users
version: "1.0.0"
tools:
  - name: get_user
    description: Gets a user.
    inputSchema: { type: object, properties: { id: { type: string } }, required: [id] }
    invocation:
      http: { method: GET, url: "${files.url}/users/{id}", headers: { X-Token: "\${USER_TOKEN}" } }
`,
  );
  const packed = await run("pack", "users.mcpfile.yaml", "--name", "@alice/users", "--out", "out", "--json");
  expect(packed.code).toBe(0);
  const document = JSON.parse(readFileSync(join(folder, "out", "mcp-package.json"), "utf8")) as Loose;
  expect(document["mcp"].configuration.schema).toEqual({
    type: "object",
    properties: { user_token: { type: "string", secret: true } },
    required: ["user_token"],
  });
  document["source"].url = files.serve("/users.tar", readFileSync(join(folder, "out", "users-1.0.0.tar")));
  Object.assign(document, { description: "Users", author: { name: "Alice" } });
  const audit = { lastReviewed: "2026-01-15", reviewer: "@team", report: "https://example.com/report" };
  document["security"].audit = audit;
  document["metadata"] = { license: "MIT", publishedAt: "2026-01-15T10:00:00Z" };
  await writePackageWorkspace(document, { folder });

  const call = (): Promise<Ran> => run("call", "tiny.get_user", "id=7", "--json");
  // A package does not get a variable of the environment only because it knows its name.
  expect(envelope(await call())).toMatchObject({ code: "SECRET_MISSING" });
  const yaml = join(folder, "portolan.yaml");
  appendFileSync(yaml, '    env: { USER_TOKEN: "given-to-the-server" }\n');
  const refused = envelope(await call());
  expect(refused).toMatchObject({ code: "SANDBOX_DENIED" });
  expect(refused.hint).toContain(host);
  appendFileSync(yaml, `    sandbox: { network: ["${host}"] }\n`);
  expect(JSON.parse(resultText(await call()))).toEqual({ name: "Ada", by: "given-to-the-server" });
  expect(files.requests.filter((one) => one.includes("users.tar"))).toHaveLength(1);
});

it(
  "a command of a package runs in its sandbox, and reads the files beside it",
  needs("bubblewrap"),
  async () => {
    const files = await startFileServer();
    const folder = packageFolder();
    const env = { XDG_DATA_HOME: join(folder, "data"), PORTOLAN_SANDBOX: "" };
    const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd: folder, env });
    const call = (mode: string): Promise<Ran> =>
      portolan(["call", "tiny.greet", "--json"], { cwd: folder, env: { ...env, PORTOLAN_SANDBOX: mode } });
    writeFileSync(join(folder, "greeting.txt"), "Hello from the package.");
    writeFileSync(
      join(folder, "greet.mcpfile.yaml"),
      `kind: MCPToolDefinitions
schemaVersion: "0.2.0"
name: greet
version: "1.0.0"
tools:
  - name: greet
    description: Greets.
    inputSchema: { type: object }
    invocation:
      cli: { command: cat greeting.txt }
`,
    );
    const words = ["pack", "greet.mcpfile.yaml", "--name", "@alice/greet", "--include", "greeting.txt"];
    expect((await run(...words, "--out", "out", "--json")).code).toBe(0);
    const document = JSON.parse(readFileSync(join(folder, "out", "mcp-package.json"), "utf8")) as Loose;
    document["source"].url = files.serve("/greet.tar", readFileSync(join(folder, "out", "greet-1.0.0.tar")));
    Object.assign(document, { description: "Greets", author: { name: "Alice" } });
    document["security"].sandbox = { required: true, type: "process" };
    document["metadata"] = { license: "MIT", publishedAt: "2026-01-15T10:00:00Z" };
    await writePackageWorkspace(document, { folder });
    // The variable counts as for every server whose config sets no mode.
    for (const mode of ["off", "warn"])
      expect(envelope(await call(mode))).toMatchObject({
        code: "SANDBOX_UNAVAILABLE",
        message: expect.stringContaining(`PORTOLAN_SANDBOX sets the sandbox mode to ${mode}`) as string,
      });
    appendFileSync(join(folder, "portolan.yaml"), "    sandbox: { mode: enforce, exec: { spawn: true } }\n");
    for (const mode of ["", "off"]) expect(resultText(await call(mode))).toContain("Hello from the package.");
  },
);
