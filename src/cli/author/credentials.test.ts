// Secrets in command lines and URLs: which parts count as secret, and which do not.

import { describe, expect, test } from "vitest";
import { secretNotes, urlWithoutSecrets, withoutSecrets } from "./credentials.ts";

const KEY = "sk-live-4f9a8b7c6d5e4f3a2b1c";
const refer = (what: string): string => `<${what}>`;

test("the note about a bearer token says to store only the token", () => {
  const secrets = [
    { name: "GIT_TOKEN", as: "Authorization" },
    { name: "GIT_TEAM", as: "X-Team" },
  ];
  const auth = { token: "${secrets.GIT_TOKEN}" };
  const server = { kind: "remote", url: "https://git.example/mcp", auth } as const;
  const [token, team] = secretNotes({ server, secrets, values: [] }, (file) => file);
  expect(token).toContain("Store only the token, without the word Bearer: portolan secrets set GIT_TOKEN");
  expect(team).toContain("Store it: portolan secrets set GIT_TEAM");
});

describe("withoutSecrets", () => {
  test.each<[readonly string[], readonly string[]]>([
    [
      ["--password", "hunter2"],
      ["--password", "<--password>"],
    ],
    [["--token=hunter2"], ["--token=<--token>"]],
    [
      ["--pass", "hunter2", "--pw=x", "DB_PASS=y", "--pass-through=z"],
      ["--pass", "<--pass>", "--pw=<--pw>", "DB_PASS=<DB_PASS>", "--pass-through=z"],
    ],
    [
      ["-api-key", "x"],
      ["-api-key", "<--api-key>"],
    ],
    [
      ["--dbPassword", "hunter2", "--port", "80"],
      ["--dbPassword", "<--dbPassword>", "--port", "80"],
    ],
    [
      ["-e", "API_TOKEN=abc", "image"],
      ["-e", "API_TOKEN=<API_TOKEN>", "image"],
    ],
    [
      ["--header", "Authorization: Bearer abc"],
      ["--header", "Authorization: Bearer <Authorization>"],
    ],
    [
      ["--header", "X-Team: ops"],
      ["--header", "X-Team: ops"],
    ],
    [["postgres://me:pw@db.example/app"], ["<postgres url>"]],
    [["--dsn=postgres://me:pw@db.example/app"], ["--dsn=<--dsn>"]],
    [
      ["--database", "mongodb+srv://me:pw@db"],
      ["--database", "<--database>"],
    ],
    [["https://me:pw@host/x"], ["<https url>"]],
    [["https://host/x?a=1&api_key=abc#f"], ["https://host/x?a=1&api_key=<api_key>#f"]],
    [["--url=https://host/x?access_token=abc"], ["--url=https://host/x?access_token=<access_token>"]],
    [["Server=db;User Id=me;Password=pw;"], ["<connection string>"]],
    [
      ["--user", "me:pw"],
      ["--user", "<--user>"],
    ],
    [
      ["--config", '{"apiKey":"abc"}'],
      ["--config", "<--config>"],
    ],
    [[KEY], ["<key>"]],
    [
      ["--id", KEY],
      ["--id", "<key>"],
    ],
  ])("replaces the secrets in %j", (words, written) => {
    expect(withoutSecrets(words, refer)).toEqual(written);
  });

  test.each([
    [["./notes", "--port", "8080", "--verbose"]],
    [["--token-file", "/run/token", "--auth-mode", "none", "--key", "./server.pem"]],
    [["--auth", "oauth", "--secret-name=prod"]],
    [["--url", "https://host/x?page=2", "postgres://db.example/app"]],
    [["--config", '{"port":1}', "@scope/package-name-2025", "some-long-words-in-a-row"]],
    [["--password", "--other"]],
    [["--title", "Note: read me"]],
  ])("keeps %j unchanged", (words) => {
    expect(withoutSecrets(words, refer)).toEqual(words);
  });
});

test("urlWithoutSecrets replaces only the secret values of a URL", () => {
  expect(urlWithoutSecrets("https://h/mcp", refer)).toBe("https://h/mcp");
  expect(urlWithoutSecrets(`https://h/mcp?team=a&k=${KEY}&token=t`, refer)).toBe(
    "https://h/mcp?team=a&k=<k>&token=<token>",
  );
  expect(urlWithoutSecrets(`https://h/s/${KEY}/mcp`, refer)).toBe("https://h/s/<key>/mcp");
  expect(urlWithoutSecrets(`https://h/${KEY}?sig=a%3D&code=b&page=2`, refer)).toBe(
    "https://h/<key>?sig=<sig>&code=<code>&page=2",
  );
});
