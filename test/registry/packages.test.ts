// A person with a package: found, added, configured, called in four ways, updated and removed. Real processes and a real registry.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { envelope, MAIN, quoted, type Ran, resultText } from "../helpers/cli.ts";
import { ACCEPT, NAME, release, startApi, TOKEN, userOf } from "../helpers/package-server.ts";
import { type Loose, startRegistry } from "../helpers/registry.ts";

const json = (ran: Ran): Loose => {
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  return JSON.parse(ran.out) as Loose;
};

const SCRIPT = `@import mcp github from @alice/github-mcp
@mcp:config github {
  github_token: "{{GITHUB_TOKEN}}"
}
@mcp issue = github.create_issue({
  repo: "mlld-lang/mlld",
  title: "Feature request: Add MCP support",
  body: "It would be great if..."
})
@mcp repo = github.resource("github://repos/mlld-lang/mlld")
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

it("publish, search, add, configure, call from command, gateway, code and script, update, remove", async () => {
  const { registry, api, cwd, user, file, read } = await stage();
  json(await release(registry, api.url, { change: relaxed }));
  expect(json(await user("search", "github"))["results"]).toMatchObject([{ name: NAME }]);

  const added = json(await user("add", NAME, ...ACCEPT, "--sandbox", "off"));
  expect(added).toMatchObject({
    ...{ server: "github", written: true, package: { name: NAME, version: "1.0.0" } },
    tools: { pinned: ["create_issue", "show_token"], undeclared: ["wait"], absent: [] },
    settings: [
      { key: "github_token", variable: "GITHUB_TOKEN", from: "option" },
      { key: "api_url", variable: "API_URL", from: "default" },
    ],
  });
  expect(read("portolan.yaml")).toContain("GITHUB_TOKEN: ${GITHUB_TOKEN}");
  expect(read("portolan.yaml") + read("portolan.lock")).not.toContain(TOKEN);
  const { package: locked } = (JSON.parse(read("portolan.lock")) as Loose)["servers"].github as Loose;
  expect(locked).toMatchObject({ version: "1.0.0", registry: registry.url });
  expect(locked["permissions"]).toEqual(["github-api", "network"]);

  const input = ["repo=alice/x", "title=Bug"];
  expect(resultText(await user("call", "github.create_issue", ...input))).toContain('"number":42');
  const gateway = quoted([process.execPath, MAIN, "serve", "--stdio"]);
  const variables = ["GITHUB_TOKEN", "XDG_DATA_HOME"].flatMap((name) => ["--env", name]);
  const through = await user(
    "call",
    gateway,
    "mcp_github_create_issue",
    ...input,
    "--sandbox",
    "off",
    ...variables,
  );
  expect(resultText(through)).toContain('"number":42');
  const library = JSON.stringify(new URL("../../dist/index.js", import.meta.url).href);
  writeFileSync(
    file("agent.mjs"),
    `import { openWorkspace } from ${library};
    const workspace = await openWorkspace(".");
    const tool = (await workspace.tools()).find(({ name }) => name.endsWith("create_issue"));
    console.log(JSON.stringify(await tool.execute({ repo: "alice/x", title: "Bug" })));
    await workspace.close();`,
  );
  const env = { ...process.env, XDG_DATA_HOME: join(registry.folder, "data"), GITHUB_TOKEN: TOKEN };
  const { stdout } = await promisify(execFile)(process.execPath, ["agent.mjs"], { cwd, env });
  expect(stdout).toContain("42");
  writeFileSync(file("x.mld"), SCRIPT);
  expect(json(await user("run", "x.mld", "--json"))["variables"]).toMatchObject({ issue: { number: 42 } });
  expect(api.requests).toHaveLength(5);

  expect(json(await user("update"))["servers"]).toEqual([{ server: "github", state: "current" }]);
  json(
    await release(registry, api.url, {
      version: "1.1.0",
      change: relaxed,
      program: (text) => text.replace("Show the token", "Show the token to its owner"),
    }),
  );
  const checked = await user("update", "--check");
  expect(checked.code).toBe(1);
  expect(JSON.parse(checked.out)).toMatchObject({ servers: [{ state: "available" }] });
  const updated = json(await user("update", "--yes"))["servers"] as Loose[];
  expect(updated).toMatchObject([
    {
      state: "updated",
      difference: { from: "1.0.0", to: "1.1.0" },
      tools: { changed: ["show_token"], approved: false },
    },
  ]);
  expect(resultText(await user("call", "github.create_issue", ...input))).toContain('"number":42');
  const audited = await user("audit", "--live");
  expect(audited.code).toBe(1);
  expect(
    ((JSON.parse(audited.out) as Loose)["findings"] as Loose[]).map(({ rule }) => rule as string),
  ).toEqual(expect.arrayContaining(["tool-changed", "tool-new"]));

  expect(json(await user("remove", "github"))).toMatchObject({
    server: "github",
    written: true,
    locked: true,
  });
  expect(read("portolan.lock")).not.toContain("github");
});

it("a secret of a file goes into the vault, stays for the next time, and is purged on request", async () => {
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
