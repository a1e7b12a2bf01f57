// A package of the registry for tests: the stand-in of a GitHub server as one file, its metadata, and a stand-in of the GitHub API.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { portolan, type Ran } from "./cli.ts";
import { type Loose, packageDocument, type TestRegistry } from "./registry.ts";

const PROGRAM = readFileSync(new URL("../fixtures/github-server.mjs", import.meta.url), "utf8");

export const NAME = "@alice/github-mcp";
export const TOKEN = "ghp_of_the_test";

export interface Release {
  readonly version?: string;
  readonly name?: string;
  /** Changes the program. */
  readonly program?: (text: string) => string;
  /** Changes the metadata. */
  readonly change?: (document: Loose) => void;
}

/** Publishes a version of the GitHub server with its file. `api` is the default of the setting `api_url`. */
export async function release(registry: TestRegistry, api: string, options: Release = {}): Promise<Ran> {
  const { version = "1.0.0", name = NAME, program = (text) => text, change = () => {} } = options;
  const bytes = Buffer.from(program(PROGRAM));
  writeFileSync(join(registry.folder, "github-mcp.mjs"), bytes);
  const digest = createHash("sha256").update(bytes).digest();
  const document = packageDocument((value) => {
    Object.assign(value, { name, version });
    value["mcp"].executable = "github-mcp.mjs";
    value["mcp"].capabilities.tools = [
      { name: "create_issue", description: "Create a GitHub issue" },
      { name: "show_token", description: "Show the token" },
    ];
    value["mcp"].configuration.schema.properties.api_url = { type: "string", default: api };
    value["source"] = {
      type: "binary",
      url: `${registry.url}/files/sha256-${digest.toString("hex")}`,
      hash: `sha256-${digest.toString("base64")}`,
      size: bytes.length,
    };
    value["requirements"] = { runtime: { node: ">=20" } };
    change(value);
  });
  return registry.publish(document, "--file", "github-mcp.mjs");
}

/** A stand-in for the GitHub API: every request needs the token. */
export async function startApi(): Promise<{ readonly url: string; readonly requests: string[] }> {
  const requests: string[] = [];
  const api = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      requests.push(`${request.method} ${request.url}`);
      if (request.headers.authorization !== `Bearer ${TOKEN}`)
        response.writeHead(401).end('{"message":"Bad credentials"}');
      else
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ number: 42, ...(JSON.parse(body || "{}") as object) }));
    });
  });
  await new Promise<void>((resolve) => void api.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void api.close());
  return { url: `http://127.0.0.1:${(api.address() as AddressInfo).port}`, requests };
}

/** Runs commands of a user in a workspace of its own, with the registry and the token of GitHub in the environment. */
export function userOf(
  registry: TestRegistry,
  cwd: string,
  more: Readonly<Record<string, string>> = {},
): (...words: string[]) => Promise<Ran> {
  const env = {
    ...more,
    XDG_DATA_HOME: join(registry.folder, "data"),
    DBUS_SESSION_BUS_ADDRESS: "unix:path=/nowhere",
    PORTOLAN_REGISTRY: registry.url,
    GITHUB_TOKEN: TOKEN,
  };
  return (...words) => portolan(words, { cwd, env });
}

/** The options that accept the package as it is published first. */
export const ACCEPT: readonly string[] = [
  ...["--yes", "--allow", "network,github-api"],
  ...["--config", "github_token={{GITHUB_TOKEN}}"],
];
