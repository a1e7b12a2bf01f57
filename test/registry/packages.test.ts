// A person with a package: found, added, configured, called in four ways, updated and removed. Real processes and a real registry.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import {
  envelope,
  MAIN,
  portolan,
  quoted,
  type Ran,
  resultText,
  start,
  temporaryFolder,
} from "../helpers/cli.ts";
import { isThere } from "../helpers/needs.ts";
import { NAME, release, startApi, TOKEN, userOf } from "../helpers/package-server.ts";
import { type Loose, packageDocument, startRegistry, type TestRegistry } from "../helpers/registry.ts";

const json = (ran: Ran): Loose => {
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  return JSON.parse(ran.out) as Loose;
};

/** The exact script of the format's specification. */
const SCRIPT = `# Import MCP server
@import mcp github from @alice/github-mcp

# Configure (prompts for token if not cached)
@mcp:config github {
  github_token: "{{GITHUB_TOKEN}}"
}

# Use tools
@mcp issue = github.create_issue({
  repo: "mlld-lang/mlld",
  title: "Feature request: Add MCP support",
  body: "It would be great if..."
})

# Access resources
@mcp repo = github.resource("github://repos/mlld-lang/mlld")
`;

const MCPFILE = new URL("../fixtures/packages/github-mcpfile.yaml", import.meta.url);
const AGENT = `import { openWorkspace } from ${JSON.stringify(new URL("../../dist/index.js", import.meta.url).href)};
const workspace = await openWorkspace(".");
const tool = (await workspace.tools()).find(({ name }) => name.endsWith("create_issue"));
console.log(JSON.stringify(await tool.execute({ repo: "alice", title: "Bug" })));
await workspace.close();
`;

/** Without a sandbox, so that the test runs everywhere and reaches the stand-in of the API. */
const relaxed = (document: Loose): void => {
  document["security"].sandbox = { required: false };
};

async function stage() {
  const [registry, api] = [await startRegistry(), await startApi()];
  const cwd = join(registry.folder, "workspace");
  mkdirSync(cwd);
  const user = userOf(registry, cwd);
  const file = (name: string): string => join(cwd, name);
  const read = (name: string): string => (existsSync(file(name)) ? readFileSync(file(name), "utf8") : "");
  return { registry, api, cwd, user, file, read };
}

/** A command in the package needs a sandbox that the machine can enforce; without one, the package has requests only. */
const hasSandbox = isThere("bubblewrap");
const COMMAND = `  - name: count_words
    description: Count the words of an issue
    inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
    invocation:
      cli: { command: "node -e console.log(process.argv[1].split(/[^a-z]+/i).length) {text}" }
`;

/** What a person fills in after the first \`portolan pack\`. */
const complete = (document: Loose): void => {
  document["author"].name = "Alice Johnson";
  document["metadata"].license = "MIT";
  document["security"].permissions.push("github-api");
  document["security"].audit = packageDocument()["security"].audit;
  if (hasSandbox) document["security"].sandbox = { required: true, type: "process" };
  const { properties, ...schema } = document["mcp"].configuration.schema as Loose;
  properties["api_url"] = { type: "string", default: "https://api.github.com" };
  document["mcp"].configuration.schema = { ...schema, properties, required: ["github_token"] };
};

it(
  "a package is packed, published, found, added, configured, called, updated and removed",
  { timeout: 300_000 },
  async () => {
    const { registry, api, cwd, user, file, read } = await stage();
    const { folder } = registry;
    const edit = (name: string, change: (text: string) => string): void =>
      writeFileSync(join(folder, name), change(readFileSync(join(folder, name), "utf8")));
    const text = readFileSync(MCPFILE, "utf8").replace(
      "resourceTemplates:",
      `${hasSandbox ? COMMAND : ""}$&`,
    );
    writeFileSync(join(folder, "mcpfile.yaml"), text);
    const packed = json(await registry.run("pack", "mcpfile.yaml", "--name", NAME));
    expect(packed).toMatchObject({ isNew: true, isReady: false });
    edit("mcp-package.json", (before) => {
      const document = JSON.parse(before) as Loose;
      complete(document);
      return JSON.stringify(document, null, 2);
    });
    expect(json(await registry.run("pack", "mcpfile.yaml", "--check"))).toMatchObject({ isReady: true });
    json(await registry.run("publish"));
    expect(json(await user("search", "github"))["results"]).toMatchObject([{ name: NAME, version: "1.0.0" }]);

    const permissions = ["github-api", "network", ...(hasSandbox ? ["process"] : [])];
    const accept = ["--yes", "--allow", permissions.join(","), "--config", "github_token={{GITHUB_TOKEN}}"];
    const own = ["--config", `api_url=${api.url}`];
    const host = new URL(api.url).host;
    const denied = envelope(await user("add", NAME, ...accept, ...own));
    expect(denied).toMatchObject({ code: "SANDBOX_DENIED", data: { rule: host } });
    expect(denied.hint).toMatch(new RegExp(`: portolan add ${NAME}@1.0.0 .*--allow-net ${host}$`));
    expect(read("portolan.yaml") + read("portolan.lock")).toBe("");

    const tools = ["create_issue", "search_code", ...(hasSandbox ? ["count_words"] : [])].sort();
    expect(json(await user("add", NAME, ...accept, ...own, "--allow-net", host))).toMatchObject({
      ...{ server: "github", written: true, package: { name: NAME, version: "1.0.0" } },
      tools: { pinned: expect.arrayContaining(tools) as string[], undeclared: [], absent: [] },
      settings: [
        { key: "api_url", variable: "API_URL", from: "option" },
        { key: "github_token", variable: "GITHUB_TOKEN", from: "option" },
      ],
    });
    expect(read("portolan.yaml")).toContain("GITHUB_TOKEN: ${GITHUB_TOKEN}");
    expect(read("portolan.yaml") + read("portolan.lock")).not.toContain(TOKEN);
    const { package: locked } = (JSON.parse(read("portolan.lock")) as Loose)["servers"].github as Loose;
    expect(locked).toMatchObject({ version: "1.0.0", registry: registry.url, permissions });

    const input = ["repo=alice", "title=Bug"];
    const call = ["mcp_github_create_issue", ...input];
    expect(resultText(await user("call", "github.create_issue", ...input))).toContain('"number":42');
    if (hasSandbox)
      expect(resultText(await user("call", "github.count_words", "text=one two three"))).toBe("3\n");
    const stdio = quoted([process.execPath, MAIN, "serve", "--stdio"]);
    const variables = ["GITHUB_TOKEN", "XDG_DATA_HOME"].flatMap((name) => ["--env", name]);
    expect(resultText(await user("call", stdio, ...call, "--sandbox", "off", ...variables))).toContain("42");
    const served = await serveHttp(registry, cwd);
    const bearer = (await user("token")).out.trim();
    const header = ["--header", `Authorization: Bearer ${bearer}`];
    expect(resultText(await user("call", served.url, ...call, ...header))).toContain('"number":42');
    await served.stop();
    writeFileSync(file("agent.mjs"), AGENT);
    const env = { ...process.env, XDG_DATA_HOME: join(folder, "data"), GITHUB_TOKEN: TOKEN };
    const { stdout } = await promisify(execFile)(process.execPath, ["agent.mjs"], { cwd, env });
    expect(stdout).toContain("42");
    writeFileSync(file("x.mld"), SCRIPT);
    const { variables: results } = json(await user("run", "x.mld", "--json"));
    expect(results).toMatchObject({ issue: { number: 42, body: "It would be great if..." } });
    expect(api.requests).toEqual([
      ...Array.from({ length: 4 }, () => "POST /repos/alice/issues"),
      "POST /repos/mlld-lang%2Fmlld/issues",
      "GET /repos/mlld-lang/mlld",
    ]);

    expect(json(await user("update"))["servers"]).toEqual([
      { server: "github", state: "current", from: "1.0.0" },
    ]);
    edit("mcpfile.yaml", (before) =>
      before
        .replace("1.0.0", "1.1.0")
        .replace("Create a GitHub issue", "Create an issue on GitHub")
        .replace("name: search_code", "name: find_code"),
    );
    expect(json(await registry.run("pack", "mcpfile.yaml"))).toMatchObject({ isNew: false, isReady: true });
    json(await registry.run("publish"));
    const checked = await user("update", "--check");
    expect(checked.code).toBe(1);
    expect(JSON.parse(checked.out)).toMatchObject({ servers: [{ state: "available" }] });
    const difference = {
      ...{ from: "1.0.0", to: "1.1.0", permissions: { added: [], removed: [] } },
      tools: { added: ["find_code"], removed: ["search_code"], changed: ["create_issue"] },
    };
    expect(json(await user("update", "--yes"))["servers"]).toMatchObject([
      { state: "updated", difference, tools: { changed: ["create_issue"], approved: false } },
    ]);
    const withheld = envelope(await user("call", "github.create_issue", ...input));
    expect(withheld).toMatchObject({ code: "TOOL_WITHHELD" });
    const { differences } = json(await user("pins", "diff"));
    expect(differences).toMatchObject([
      {
        name: "create_issue",
        changes: [
          { path: "description", before: "Create a GitHub issue", after: "Create an issue on GitHub" },
        ],
      },
    ]);
    json(await user("pins", "approve", "github", "--yes"));
    expect(resultText(await user("call", "github.create_issue", ...input))).toContain('"number":42');
    expect((await user("audit", "--live")).code).toBe(0);

    expect(json(await user("remove", "github"))).toMatchObject({
      ...{ servers: ["github"], written: true, locked: ["github"] },
    });
    expect(read("portolan.yaml") + read("portolan.lock")).not.toContain("github");
  },
);

it("a running gateway starts the new version of a package, and withholds its changed tools until they are approved", async () => {
  const { registry, api, cwd, user } = await stage();
  const publish = async (version: string, program: (text: string) => string): Promise<void> =>
    void json(await release(registry, api.url, { version, program, change: relaxed }));
  await publish("1.0.0", (text) => text);
  const accept = ["--yes", "--allow", "network,github-api", "--sandbox", "off"];
  json(await user("add", NAME, ...accept, "--config", "github_token={{GITHUB_TOKEN}}"));
  const served = await serveHttp(registry, cwd);
  const say = (): Promise<Ran> => user("call", "github.show_token");
  expect(resultText(await say())).toMatch(/^The token/);

  const silver = (text: string): string => text.replace("The token", "Your token");
  await publish("1.1.0", silver);
  const updated = json(await user("update", "--yes"));
  expect(updated).toMatchObject({ servers: [{ state: "updated" }], gateways: [{ url: served.url }] });
  expect(resultText(await say())).toMatch(/^Your token/);

  await publish("1.2.0", (text) => silver(text).replaceAll("Show the token", "Show your token"));
  const shown = await user("update", "--yes", "--text");
  expect(shown.out).toContain("show_token. To approve them: portolan pins approve github\n");
  expect(envelope(await say())).toMatchObject({ code: "TOOL_WITHHELD" });
  json(await user("pins", "approve", "github", "--yes"));
  expect(resultText(await say())).toMatch(/^Your token/);

  json(await user("remove", "github"));
  expect(json(await user("add", NAME, ...accept, "--config", "github_token={{GITHUB_TOKEN}}"))).toMatchObject(
    { gateways: [{ applied: true, health: { alias: "github", state: "ready" } }] },
  );
  await served.stop();
});

/** A gateway on HTTP, as a process. */
async function serveHttp(
  registry: TestRegistry,
  cwd: string,
): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const env = { XDG_DATA_HOME: join(registry.folder, "data"), GITHUB_TOKEN: TOKEN };
  const { child, done } = start(["serve", "--port", "0", "--json"], { cwd, env });
  let out = "";
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.on("data", (text: string) => {
      out += text;
      const [, found] = /"url": ?"([^"]+)"/.exec(out) ?? [];
      if (found !== undefined) resolve(found);
    });
    void done.then(({ err }) => reject(new Error(err)));
  });
  return {
    url,
    stop: async () => {
      child.kill("SIGTERM");
      await done;
    },
  };
}

it("a secret from a file goes into the vault, stays after remove, and is deleted by --purge", async () => {
  const { registry, api, cwd, user, file, read } = await stage();
  json(await release(registry, api.url, { change: relaxed }));
  writeFileSync(file("values.json"), JSON.stringify({ github_token: TOKEN }));
  writeFileSync(file("passphrase"), "of the test\n", { mode: 0o600 });
  const keeper = userOf(registry, cwd, { PORTOLAN_VAULT_PASSPHRASE_FILE: file("passphrase") });
  const accept = ["--yes", "--allow", "network,github-api", "--sandbox", "off"];
  const refused = envelope(await user("add", NAME, ...accept, "--config", `github_token=${TOKEN}`));
  expect(refused.code).toBe("USAGE");
  expect(JSON.stringify(refused)).not.toContain(TOKEN);
  expect(envelope(await user("add", NAME, ...accept)).message).toContain(
    "--config 'github_token={{GITHUB_TOKEN}}'",
  );
  expect(read("portolan.yaml") + read("portolan.lock")).toBe("");

  const secret = "package.alice.github-mcp.github_token";
  json(await keeper("add", NAME, ...accept, "--config-file", "values.json"));
  expect(read("portolan.yaml")).toContain(`GITHUB_TOKEN: \${secrets.${secret}}`);
  expect(read("portolan.yaml") + read("portolan.lock")).not.toContain(TOKEN);
  expect(json(await keeper("remove", "github"))["secrets"]).toEqual({ purged: [], left: [secret] });
  const again = json(await keeper("add", NAME, ...accept));
  expect(again["settings"]).toMatchObject([{ key: "github_token", from: "stored" }, { from: "default" }]);
  expect(json(await keeper("remove", "github", "--purge"))["secrets"]).toEqual({
    purged: [secret],
    left: [],
  });
});

it("nothing is added without consent, and the error names the exact command", async () => {
  const { registry, api, user, read } = await stage();
  json(await release(registry, api.url));
  const asked = await user("add", NAME);
  expect(asked.code).toBe(2);
  expect(envelope(asked)).toMatchObject({
    code: "USAGE",
    hint: `If you agree: portolan add ${NAME}@1.0.0 --yes --allow network,github-api`,
  });
  expect(envelope(await user("add", NAME, "--yes")).hint).toContain("--allow network,github-api");
  expect(envelope(await user("add", NAME, "--yes", "--allow", "network")).message).toContain("github-api");
  expect(read("portolan.yaml") + read("portolan.lock")).toBe("");
});

it.each([
  ["@alice/tiny", "npm:@alice/tiny"],
  ["@alice/tiny@^1.2.0", "'npm:@alice/tiny@^1.2.0'"],
])(
  "without a registry, the hint names the npm command with the same version: %s",
  async (reference, word) => {
    const cwd = temporaryFolder();
    const { hint } = envelope(await portolan(["add", reference], { cwd, env: { HOME: cwd } }));
    expect(hint?.split(" For a package of npm: ")[1]).toBe(`portolan add tiny ${word}`);
  },
);
