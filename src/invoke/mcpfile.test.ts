// The complete example of the mcpfile format, from its text to answers.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { atEnd, open, record, textOf } from "../../test/helpers/invoke.ts";
import { parseMcpfile } from "../formats/mcpfile/index.ts";
import type { CallToolResult } from "../model/index.ts";

const example = (origin: string): string => `
mcpFileVersion: "0.0.1"
servers:
- name: git-tools
  version: "1.0.0"
  tools:
  - name: clone_repo
    title: "Clone Git Repository"
    description: "Clones a git repository from a URL to the local machine."
    inputSchema:
      type: object
      properties:
        repoUrl:
          type: string
          description: "The git URL of the repo to clone."
        depth:
          type: integer
          description: "The number of commits to clone."
        verbose:
          type: boolean
          description: "Whether to return verbose logs."
      required:
      - repoUrl
    invocation:
      cli:
        command: "git clone {repoUrl} {depth} {verbose}"
        templateVariables:
          repoUrl:
            property: "repoUrl"
          depth:
            property: "depth"
            format: "--depth {depth}"
          verbose:
            property: "verbose"
            format: "--verbose"
            omitIfFalse: true
- name: user-service
  version: "2.1.0"
  tools:
  - name: get_user
    title: "Get User"
    description: "Retrieves a user by their ID."
    inputSchema:
      type: object
      properties:
        userId:
          type: string
          description: "The ID of the user to retrieve."
      required:
      - userId
    invocation:
      http:
        method: GET
        url: ${origin}/users/{userId}
`;

test("the servers of the complete example clone a repository and request a user", async () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-mcpfile-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const { origin, requests } = await record((_request, response) => {
    response.setHeader("content-type", "application/json").end('{"id":"7"}');
  });
  const parsed = parseMcpfile(example(origin), join(folder, "mcpfile.yaml"));
  expect(parsed.servers.length).toBe(2);
  const [git, users] = await Promise.all(parsed.servers.map((server) => open(server)));
  const call = async (opened: typeof git, name: string, args: object): Promise<CallToolResult> =>
    (await opened?.upstream.request({ method: "tools/call", params: { name, arguments: args } })) ?? {};

  expect(await call(users, "get_user", { userId: "a/7" })).toMatchObject({ structuredContent: { id: "7" } });
  expect(requests[0]?.url).toBe("/users/a%2F7");

  const source = join(folder, "sources", "first");
  const run = (...words: string[]): Buffer =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@t.test", ...words], { stdio: "pipe" });
  run("init", "--quiet", source);
  run("-C", source, "commit", "--quiet", "--allow-empty", "--message", "one");
  const cloned = await call(git, "clone_repo", { repoUrl: `file://${source}/.git`, depth: 1, verbose: true });
  expect(cloned.isError, textOf(cloned)).toBeUndefined();
  expect(Object.keys(cloned)).not.toContain("structuredContent");
  expect(existsSync(join(folder, "first", ".git"))).toBe(true);
  const option = await call(git, "clone_repo", { repoUrl: "--upload-pack=touch pwned;" });
  expect(option.isError).toBe(true);
  expect(existsSync(join(folder, "pwned"))).toBe(false);
});
