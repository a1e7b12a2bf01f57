// The hosts that the arguments and variables of a server name.

import { expect, it } from "vitest";
import { ungrantedHosts } from "./named-hosts.ts";

const hosts = (
  env: Readonly<Record<string, string>>,
  { args = [] as string[], network = [] as string[], command = "npx" } = {},
): string[] =>
  ungrantedHosts({
    endpoint: { transport: "stdio", command, args, env },
    launch: { sandbox: { network } },
  }).map(({ rule, where }) => `${rule} ${where}`);

it.each<[string, Record<string, string>, string[]]>([
  ["an address of HTTP", { JIRA_URL: "https://jira.example.com/x" }, ["jira.example.com env.JIRA_URL"]],
  ["another port", { API: "http://api.example.com:8080" }, ["api.example.com:8080 env.API"]],
  [
    "a database, without its password",
    { DATABASE_URL: "postgres://me:pass@db.example.com/x" },
    ["db.example.com:5432 env.DATABASE_URL"],
  ],
  ["a scheme with a driver", { DB: "postgresql+psycopg2://h.example/x" }, ["h.example:5432 env.DB"]],
  ["any scheme with a port", { C: "cassandra://c.example:9042/k" }, ["c.example:9042 env.C"]],
  ["this machine", { REDIS_URL: "redis://localhost" }, ["localhost:6379 env.REDIS_URL"]],
  ["an IPv6 address", { X: "http://[2001:db8::1]:81/" }, ["[2001:db8::1]:81 env.X"]],
  [
    "a host and its port",
    { DB_HOST: "db.example.com", DB_PORT: "3306" },
    ["db.example.com:3306 env.DB_HOST"],
  ],
  ["one host twice", { A_URL: "https://a.example/1", B_URL: "https://a.example/2" }, ["a.example env.A_URL"]],
  ["an address to listen on", { HOST: "127.0.0.1", BIND_HOST: "0.0.0.0" }, []],
  ["the address of a callback", { REDIRECT_URI: "http://localhost:3000/cb" }, []],
  ["a proxy", { HTTPS_PROXY: "http://proxy.example:3128" }, []],
  ["references", { A_URL: "${A_URL}", B_URL: "https://${HOST}/x", C_HOST: "${C}" }, []],
  ["other texts", { A: "see https://a.example", B: "file:///etc/x", C: "notes://today", D: "https://" }, []],
])("finds ungranted hosts in environment variables: %s", (_, env, wanted) => {
  expect(hosts(env)).toEqual(wanted);
});

it("finds hosts in arguments, but not in the package name of a runner such as npx", () => {
  const args = ["-y", "https://pkg.example/x.tgz", "--url=https://a.example", "postgres://b.example/x"];
  expect(hosts({}, { args })).toEqual(["a.example args[2]", "b.example:5432 args[3]"]);
  expect(hosts({}, { args: ["https://a.example"], command: "some-server" })).toEqual(["a.example args[0]"]);
  expect(hosts({ A_URL: "https://a.example" }, { command: "docker" })).toEqual([]);
});

it("leaves out hosts that the config grants", () => {
  const env = { A_URL: "https://a.example.com", B_URL: "postgres://b.example.com/x" };
  expect(hosts(env, { network: ["a.example.com"] })).toEqual(["b.example.com:5432 env.B_URL"]);
  expect(hosts(env, { network: ["*.example.com", "b.example.com:5432"] })).toEqual([]);
  expect(hosts(env, { network: ["*"] })).toEqual(["b.example.com:5432 env.B_URL"]);
});
