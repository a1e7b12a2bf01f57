import { expect, test } from "vitest";
import { parseClientFile } from "./parse.ts";
import type { ClientServer } from "./types.ts";
import { mergeInto } from "./write.ts";

const CONFIG = `# a job
provider: anthropic   # the one
services:
  web: {port: 80}
  mcp:
    # files
    - name: filesystem
      transport: stdio
      command: npx   # node
      args:
        - -y
        - "@modelcontextprotocol/server-filesystem"
      env: {LOG: "1"}
    - {name: github, transport: http, url: http://localhost:3000/mcp}
    # the end of the list

task: |
  say something
  - name: not a server
`;

const context = { home: "/h", cwd: "/w", platform: "linux", file: "/w/job.yaml" } as const;

function servers(text: string = CONFIG): ClientServer[] {
  return [...(parseClientFile(text, context.file, "axle", context)?.servers ?? [])];
}

function merge(change: (server: ClientServer) => ClientServer, text: string = CONFIG): string {
  return mergeInto("axle", text, servers(text).map(change), context).text;
}

test("merging changes nothing if the servers are those of the file", () => {
  expect(servers().map(({ alias }) => alias)).toEqual(["filesystem", "github"]);
  expect(merge((server) => server)).toBe(CONFIG);
});

test("merging replaces values in place, and adds new values at the end of their item", () => {
  const edited = merge((server) =>
    server.endpoint.transport === "stdio"
      ? {
          ...server,
          endpoint: { ...server.endpoint, command: "uvx", args: ["x y"], env: { LOG: "1", NEW: "${A}" } },
        }
      : { ...server, endpoint: { ...server.endpoint, headers: { A: "b" } } },
  );
  expect(edited).toBe(
    CONFIG.replace("command: npx ", "command: uvx ")
      .replace('args:\n        - -y\n        - "@modelcontextprotocol/server-filesystem"', "args: [x y]")
      .replace('{LOG: "1"}', '{LOG: "1", NEW: "${A}"}')
      .replace("http://localhost:3000/mcp}", "http://localhost:3000/mcp, headers: {A: b}}"),
  );
});

test("merging adds a new server as a new item", () => {
  const added = {
    ...servers()[0],
    alias: "new",
    name: "new",
    endpoint: { transport: "stdio", command: "x", env: { A: "1" } },
  } as ClientServer;
  expect(mergeInto("axle", CONFIG, [added], context).text).toBe(
    CONFIG.replace(
      "3000/mcp}\n",
      `3000/mcp}
    - name: new
      transport: stdio
      command: x
      env:
        A: "1"
`,
    ),
  );
  for (const [before, after] of [
    [
      "a: 1",
      'a: 1\n\nservices:\n  mcp:\n    - name: new\n      transport: stdio\n      command: x\n      env:\n        A: "1"\n',
    ],
    [
      "services:\n  web: 1\n",
      'services:\n  web: 1\n  mcp:\n    - name: new\n      transport: stdio\n      command: x\n      env:\n        A: "1"\n',
    ],
    [
      "services:\n  mcp: []\n",
      'services:\n  mcp:\n    - name: new\n      transport: stdio\n      command: x\n      env:\n        A: "1"\n',
    ],
  ] as const) {
    expect(mergeInto("axle", before, [added], context).text).toBe(after);
    expect(mergeInto("axle", after, [added], context).text).toBe(after);
  }
});

test("merging removes settings", () => {
  const edited = merge((server) =>
    server.endpoint.transport === "stdio"
      ? { ...server, endpoint: { transport: "http", url: "http://x.example/mcp" } }
      : server,
  );
  expect(edited).toBe(
    CONFIG.replace(
      /transport: stdio[\s\S]*env: \{LOG: "1"\}/,
      "transport: http\n      url: http://x.example/mcp",
    ),
  );
});
