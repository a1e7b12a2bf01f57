import { describe, expect, test } from "vitest";
import { endpointLabel } from "./endpoint-label.ts";

const stdio = (command: string, ...args: string[]): string =>
  endpointLabel({ transport: "stdio", command, args });
const url = (text: string): string => endpointLabel({ transport: "http", url: text });

describe("endpointLabel of a command", () => {
  test.each([
    [["npx", "-y", "@modelcontextprotocol/server-github@2025.4.8"]],
    [["uvx", "mcp-server-git", "--repository", "/home/me/some-repository-2025"]],
    [["docker", "run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server"]],
    [["node", "server.js", "--api-key", "${API_KEY}"]],
  ])("shows %j unchanged", (words) => {
    expect(stdio(words[0] ?? "", ...words.slice(1))).toBe(words.join(" "));
  });

  test.each([
    [["--api-key", "hunter2hunter2"], "--api-key …"],
    [["--apiKey=hunter2"], "--apiKey=…"],
    [["-e", "GITHUB_TOKEN=hunter2"], "-e GITHUB_TOKEN=…"],
    [["--header", "Authorization: Bearer hunter2"], '--header "Authorization: …"'],
    [["--header", "Authorization:${AUTH}"], "--header Authorization:${AUTH}"],
    [["--header", "Authorization: Bearer ${AUTH}"], '--header "Authorization: Bearer ${AUTH}"'],
    [["--key", "${KEY:-hunter2}"], "--key ${KEY:-…}"],
    [["--password", "x${KEY}hunter2"], "--password …"],
    [["ghp_abcdefghijklmnopqrstuvwxyz"], "…"],
    [["a1b2c3d4e5f6a7b8c9d0e1f2"], "…"],
    [
      ["--dsn", "postgres://me:hunter2@db.example.com/main?sslkey=hunter2"],
      "--dsn postgres://db.example.com/main?…",
    ],
    [["--dsn=postgres://me:hunter2@db.example.com/main"], "--dsn=postgres://db.example.com/main"],
    [["Bearer hunter2"], "…"],
  ])("hides possible secrets in %j", (args, expected) => {
    expect(stdio("x", ...args)).toBe(`x ${expected}`);
  });
});

describe("endpointLabel of a URL", () => {
  test.each([
    ["https://mcp.example.com/mcp", "https://mcp.example.com/mcp"],
    ["https://me:hunter2@mcp.example.com/mcp", "https://mcp.example.com/mcp"],
    ["https://mcp.example.com/mcp?api_key=hunter2#part", "https://mcp.example.com/mcp?…"],
    ["https://mcp.example.com/#hunter2", "https://mcp.example.com/#…"],
    ["https://mcp.example.com/s/a1b2c3d4e5f6a7b8c9d0e1f2/mcp", "https://mcp.example.com/s/…/mcp"],
    ["https://${HOST:-hunter2}/mcp", "https://${HOST:-…}/mcp"],
    ["${BASE}/mcp", "${BASE}/mcp"],
    ["https://hunter2:with@two@mcp.example.com/mcp", "https://mcp.example.com/mcp"],
  ])("hides possible secrets in %s", (text, expected) => {
    expect(url(text)).toBe(expected);
    expect(url(text)).not.toContain("hunter2");
  });
});
