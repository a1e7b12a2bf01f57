// mcpfiles through the gateway, with clients of both eras: the complete example of the format, secrets, scopes, changes, stopping.

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { until } from "../helpers/connect.ts";
import { record } from "../helpers/invoke.ts";
import {
  bareRepository,
  type Era,
  ERAS,
  folderWith,
  git,
  type Served,
  serve,
  serveMcpfile,
  startIssuer,
} from "../helpers/mcpfile.ts";
import {
  type Exchange,
  type Loose,
  type Message,
  RawLegacy,
  type RawModern,
  textOf,
} from "../helpers/raw-clients.ts";
import { TOKEN } from "../helpers/raw-gateways.ts";
import { isRunning } from "../helpers/workspace.ts";
import { needs } from "../helpers/needs.ts";

const fixture = (name: string): string =>
  readFileSync(join(import.meta.dirname, "..", "fixtures", "mcpfiles", name), "utf8");

const SEED = fixture("seed.yaml");
const SEED_HOST = "localhost:8080";
const CLONE = "mcp_git-tools_clone_repo";
const GET_USER = "mcp_user-service_get_user";

function setEnv(name: string, value: string): void {
  vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
}

describe("the complete example", () => {
  it("gives each server of the file its own endpoint, with the tools of the file", async () => {
    const { connect, diagnostics } = await serveMcpfile(SEED);
    for (const era of ERAS) {
      const { result } = await (await connect(era)).call("tools/list");
      expect(result.tools).toMatchObject([
        {
          name: CLONE,
          title: "Clone Git Repository",
          description: "Clones a git repository from a URL to the local machine.",
          inputSchema: { required: ["repoUrl"], properties: { depth: { type: "integer" } } },
        },
        { name: GET_USER, title: "Get User", inputSchema: { required: ["userId"] } },
      ]);
      // Each is reached alone as well, under its own name and version.
      const alone = await connect(era, { path: "/servers/user-service/mcp" });
      const only = await alone.call("tools/list");
      expect(only.result.tools, JSON.stringify(only)).toHaveLength(1);
    }
    expect(diagnostics).toEqual([]);
  });

  it.each(ERAS)("get_user sends a request to the HTTP server, for a %s client", async (era) => {
    const { requests, port } = await record((request, response) => {
      if (request.url === "/users/nobody") response.statusCode = 404;
      response.setHeader("content-type", "application/json").end(JSON.stringify({ at: request.url }));
    });
    expect(SEED).toContain(SEED_HOST);
    const { connect } = await serveMcpfile(SEED.replace(SEED_HOST, `127.0.0.1:${port}`));
    const client = await connect(era);
    expect((await client.tool(GET_USER, { userId: "42" })).result).toMatchObject({
      structuredContent: { at: "/users/42" },
      content: [{ type: "text", text: '{"at":"/users/42"}' }],
    });
    await client.tool(GET_USER, { userId: "../a b?c#d" });
    const { result } = await client.tool(GET_USER, { userId: "nobody" });
    expect(result).toMatchObject({ isError: true });
    expect(result.content[0].text).toContain("HTTP 404 Not Found");
    // A value that would leave the path is not sent.
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "GET /users/42",
      "GET /users/nobody",
    ]);
    await client.tool(GET_USER, { userId: "a b?c#d/e" });
    expect(requests.at(-1)?.url).toBe("/users/a%20b%3Fc%23d%2Fe");
  });

  describe("clone_repo", () => {
    /** Git, which also writes its arguments to a file. */
    function spiedGit(): () => string[] {
      const folder = folderWith({});
      const real = (process.env.PATH ?? "")
        .split(":")
        .map((place) => join(place, "git"))
        .find((file) => existsSync(file));
      const shim = `#!/bin/sh\nfor word in "$@"; do echo "$word"; done > ${folder}/words\nexec ${real} "$@"\n`;
      mkdirSync(join(folder, "bin"));
      writeFileSync(join(folder, "bin", "git"), shim);
      chmodSync(join(folder, "bin", "git"), 0o755);
      setEnv("PATH", `${join(folder, "bin")}:${process.env.PATH}`);
      return () => readFileSync(join(folder, "words"), "utf8").trimEnd().split("\n");
    }
    const commits = (folder: string): string => git("-C", folder, "rev-list", "--count", "HEAD");

    it.each(ERAS)("clones into the folder of the mcpfile, for a %s client", async (era) => {
      const words = spiedGit();
      const { connect, folder } = await serveMcpfile(SEED);
      const client = await connect(era);
      const cases: [string, Loose, string[], string][] = [
        ["whole", {}, [], "3"],
        ["shallow", { depth: 1, verbose: false }, ["--depth", "1"], "1"],
        ["loud", { verbose: true }, ["--verbose"], "3"],
        ["both", { depth: 2, verbose: true }, ["--depth", "2", "--verbose"], "2"],
      ];
      for (const [name, options, more, count] of cases) {
        const repoUrl = bareRepository(name);
        const { result } = await client.tool(CLONE, { repoUrl, ...options });
        expect(result.isError, JSON.stringify(result)).toBeFalsy();
        expect(textOf({ result })).toContain(`stderr:\nCloning into '${name}'`);
        expect(words()).toEqual(["clone", repoUrl, ...more]);
        expect(commits(join(folder, name))).toBe(count);
      }
    });

    it("clones into the cwd of the mcpfile, and returns the error of git", async () => {
      const command = 'command: "git clone {repoUrl} {depth} {verbose}"';
      expect(SEED).toContain(command);
      const folder = folderWith({
        "mcpfile.yaml": SEED.replace(command, `${command}\n            cwd: below`),
      });
      mkdirSync(join(folder, "below"));
      const { connect } = await serve(folder);
      const client = await connect("modern");
      await client.tool(CLONE, { repoUrl: bareRepository("here") });
      expect(commits(join(folder, "below", "here"))).toBe("3");
      const { result } = await client.tool(CLONE, { repoUrl: `file://${folder}/nothing.git` });
      expect(result).toMatchObject({ isError: true, _meta: { "portolan/cli": { exitCode: 128 } } });
      expect(JSON.stringify(result.content)).toContain("does not appear to be a git repository");
    });

    it("refuses an option in place of a URL", async () => {
      const { connect, folder } = await serveMcpfile(SEED);
      const { result } = await (
        await connect("modern")
      ).tool(CLONE, { repoUrl: "--upload-pack=touch pwned;" });
      expect(result).toMatchObject({ isError: true });
      expect(existsSync(join(folder, "pwned"))).toBe(false);
    });
  });
});

const journey = (port: number): string => fixture("journey-0.2.yaml").replaceAll("PORT", String(port));

describe("prompts, resources and templates", () => {
  it.each(ERAS)("of a file of version 0.2 are served to a %s client", async (era) => {
    setEnv("JOURNEY_TOKEN", "canary-of-the-journey");
    const { port, requests } = await record((request, response) => {
      if (request.url.endsWith("/logo"))
        response.setHeader("content-type", "image/png").end(Buffer.from([137, 80, 0]));
      else if (request.url.endsWith("/gone")) response.writeHead(404).end("no such page");
      else response.setHeader("content-type", "text/html; charset=utf-8").end(`<p>${request.url}</p>`);
    });
    const { connect, diagnostics } = await serveMcpfile(journey(port));
    expect(diagnostics).toEqual([]);
    const client = await connect(era);

    const { prompts } = (await client.call("prompts/list")).result;
    expect(prompts).toMatchObject([
      {
        name: "mcp_journey_review",
        title: "Review",
        arguments: [{ name: "topic", description: "What about.", required: true }, { name: "lines" }],
      },
    ]);
    const prompt = (args: object): Promise<Message> =>
      client.call("prompts/get", { name: "mcp_journey_review", arguments: args });
    expect((await prompt({ topic: "a 'b' $(c)", lines: "7" })).result).toMatchObject({
      description: "Asks for a review.",
      messages: [{ role: "assistant", content: { type: "text", text: "Please review a 'b' $(c), 7 lines" } }],
    });
    expect((await prompt({ lines: "7" })).error).toMatchObject({ code: -32602 });
    expect((await prompt({ topic: "x", lines: "many" })).error).toMatchObject({ code: -32602 });

    const read = (uri: string): Promise<Message> => client.call("resources/read", { uri });
    expect((await client.call("resources/list")).result.resources).toMatchObject([
      { uri: "journey://logo", name: "logo" },
      { uri: "journey://motd", name: "motd", mimeType: "text/plain" },
    ]);
    expect((await read("journey://motd")).result.contents).toEqual([
      { uri: "journey://motd", mimeType: "text/plain", text: "Be kind." },
    ]);
    expect((await read("journey://logo")).result.contents).toEqual([
      { uri: "journey://logo", mimeType: "image/png", blob: "iVAA" },
    ]);
    expect((await client.call("resources/templates/list")).result.resourceTemplates).toMatchObject([
      { uriTemplate: "journey://{section}/{page}", name: "page", mimeType: "text/html" },
    ]);
    expect((await read("journey://a%20b/c%3Fd")).result.contents).toEqual([
      { uri: "journey://a%20b/c%3Fd", mimeType: "text/html", text: "<p>/manual/a%20b/c%3Fd</p>" },
    ]);
    expect((await read("journey://a/gone")).error).toMatchObject({
      code: era === "legacy" ? -32002 : -32602,
    });
    const before = requests.length;
    expect((await read("journey://a/%2e%2e")).error).toBeDefined();
    expect((await read("journey://one/two/three")).error).toBeDefined();
    expect(requests).toHaveLength(before);
  });
});

describe("headers and secrets", () => {
  const SECRET = "canary-of-the-journey";

  it.each(ERAS)("a header of the request is passed on, for a %s client", async (era) => {
    setEnv("JOURNEY_TOKEN", SECRET);
    const { port, requests } = await record();
    const { connect } = await serveMcpfile(journey(port));
    const tenants = await Promise.all(
      ["one", "two"].map((tenant) => connect(era, { headers: { "X-Tenant": tenant } })),
    );
    for (const client of [...tenants, ...tenants])
      expect(textOf(await client.tool("mcp_journey_tenant"))).toBe("ok");
    expect(requests.map(({ headers }) => headers["x-tenant"])).toEqual(["one", "two", "one", "two"]);
    for (const { headers } of requests) {
      expect(headers.authorization).toBe(`Bearer ${SECRET}`);
      expect(JSON.stringify(headers)).not.toContain(TOKEN);
    }
    // A client without the header gets an error, and no request is sent.
    const without = await (await connect(era)).tool("mcp_journey_tenant");
    expect(without.result).toMatchObject({ isError: true });
    expect(without.result.content[0].text).toContain("X-Tenant");
    expect(requests).toHaveLength(4);
  });

  it.each(ERAS)("the token of the gateway is never passed on, for a %s client", async (era) => {
    setEnv("JOURNEY_TOKEN", SECRET);
    const { port, requests } = await record();
    const { connect } = await serveMcpfile(journey(port));
    const { result } = await (await connect(era)).tool("mcp_journey_forward");
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).not.toContain(TOKEN);
    expect(requests).toEqual([]);
  });

  it.each(ERAS)("a secret in an answer is redacted for a %s client", needs("bash"), async (era) => {
    setEnv("JOURNEY_TOKEN", SECRET);
    const { port, requests } = await record((request, response) => {
      if (request.url === "/fails") response.statusCode = 500;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ said: request.headers.authorization }));
    });
    const { connect, diagnostics } = await serveMcpfile(journey(port));
    const client = await connect(era);
    for (const name of ["repeats", "fails", "prints", "prints_and_fails"]) {
      const answer = await client.tool(`mcp_journey_${name}`);
      expect(JSON.stringify(answer), name).not.toContain(SECRET);
      expect(JSON.stringify(answer), name).toContain("[redacted]");
      expect(answer.result.isError === true, name).toBe(name.includes("fails"));
    }
    expect(requests.map(({ headers }) => headers.authorization)).toEqual(
      Array.from({ length: 2 }, () => `Bearer ${SECRET}`),
    );
    expect(JSON.stringify(diagnostics)).not.toContain(SECRET);
  });

  it("the diagnostic names a missing secret, and tools that do not need it work", needs("bash"), async () => {
    const folder = folderWith({
      "mcpfile.yaml": journey(1),
      "other.mcpfile.yaml": SEED,
      "portolan.yaml": "sources: [mcpfile.yaml, other.mcpfile.yaml]",
    });
    const { names, connect, diagnostics } = await serve(folder);
    await expect.poll(names).toEqual(expect.arrayContaining([CLONE, GET_USER, "mcp_journey_prints"]));
    expect(diagnostics.filter(({ code }) => code === "SECRET_MISSING")).toMatchObject([
      { server: "journey", message: expect.stringMatching(/JOURNEY_TOKEN.*tool tenant/) },
    ]);
    const client = await connect("modern");
    expect((await client.tool("mcp_journey_note", { name: "x" })).result.isError).toBeFalsy();
    expect((await client.tool("mcp_journey_tenant")).error?.message).toContain("JOURNEY_TOKEN");
  });
});

describe("scopes", () => {
  it.each(ERAS)("a call needs a token with the required scope, for a %s client", async (era) => {
    setEnv("JOURNEY_TOKEN", "x-of-the-journey");
    const { port, requests } = await record();
    const { settings, token } = await startIssuer();
    const { connect } = await serveMcpfile(journey(port), settings);
    const call = async (own: string): Promise<Message> =>
      (await connect(era, { token: own })).tool("mcp_journey_guarded");
    for (const scope of [undefined, "", "journey.read", "journey.writer"]) {
      const { error, result } = await call(await token(scope));
      expect(result, scope).toBeUndefined();
      expect(error?.message, scope).toContain("journey.write");
    }
    expect(requests).toEqual([]);
    const may = await token("other journey.write journey.read");
    expect(textOf(await call(may))).toBe("ok");
    // The own token of the gateway has no scopes: its owner may call everything.
    expect(textOf(await call(TOKEN))).toBe("ok");
    for (const { headers } of requests) expect(JSON.stringify(headers)).not.toContain(may);
    expect(requests).toHaveLength(2);
  });
});

describe("arguments", () => {
  it.each(ERAS)(
    "are checked before the tool runs, and get their defaults, for a %s client",
    needs("bash"),
    async (era) => {
      setEnv("JOURNEY_TOKEN", "x-of-the-journey");
      const { port, requests } = await record();
      const { connect, folder } = await serveMcpfile(journey(port));
      const client = await connect(era);
      const refused: [Loose, string][] = [
        [{}, "name"],
        [{ name: 7 }, "name"],
        [{ name: "a", count: "2" }, "count"],
        [{ name: "a", count: 11 }, "count"],
        [{ name: "a", colour: "red" }, "colour"],
        [{ name: "a", deep: { more: 1 } }, "more"],
      ];
      for (const [args, about] of refused) {
        for (const tool of ["order", "note"]) {
          const { result } = await client.tool(`mcp_journey_${tool}`, args);
          expect(result, JSON.stringify(args)).toMatchObject({ isError: true });
          expect(result.content[0].text, JSON.stringify(args)).toContain(about);
        }
      }
      expect(requests).toEqual([]);
      expect(existsSync(join(folder, "noted"))).toBe(false);

      await client.tool("mcp_journey_order", { name: "a" });
      await client.tool("mcp_journey_order", { name: "b", count: 2, deep: {} });
      expect(requests.map(({ url, body }) => [url, JSON.parse(body)])).toEqual([
        ["/orders/a", { count: 3, kind: "usual" }],
        ["/orders/b", { count: 2, kind: "usual", deep: { level: 1 } }],
      ]);
      await client.tool("mcp_journey_note", { name: "it's" });
      expect(readFileSync(join(folder, "noted"), "utf8")).toBe("it's 3 usual\n");
    },
  );
});

const tools = (...names: string[]): string =>
  JSON.stringify({
    kind: "MCPToolDefinitions",
    schemaVersion: "0.2.0",
    name: "live",
    version: "1.0.0",
    tools: names.map((name) => ({
      name,
      description: "Says its name.",
      invocation: { cli: { command: `echo ${name}` } },
    })),
  });

describe("while the file changes", () => {
  async function listening(served: Served): Promise<{ legacy: Exchange; modern: Exchange }> {
    const legacy = (await served.connect("legacy")) as RawLegacy;
    const modern = ((await served.connect("modern")) as RawModern).post("subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
    await modern.find(({ method }) => method === "notifications/subscriptions/acknowledged");
    return { legacy: await legacy.listen(), modern };
  }
  const CHANGED = "notifications/tools/list_changed";

  it("clients of both eras are notified of changed tools, and a broken file changes nothing", async () => {
    const folder = folderWith({ "mcpfile.yaml": tools("one", "two") });
    const served = await serve(folder);
    const write = (text: string): void => writeFileSync(join(folder, "mcpfile.yaml"), text);
    const { legacy, modern } = await listening(served);
    const client = await served.connect("modern");

    write(tools("two", "three"));
    await Promise.all([legacy, modern].map((stream) => stream.find(({ method }) => method === CHANGED)));
    expect(await served.names()).toEqual(["mcp_live_three", "mcp_live_two"]);
    expect(textOf(await client.tool("mcp_live_three"))).toBe("three\n");
    expect((await client.tool("mcp_live_one")).error).toMatchObject({ code: -32602 });

    const heard = legacy.notices(CHANGED).length;
    const told = served.diagnostics.length;
    write(`${tools("four").slice(0, -1)} oh`);
    await until(() => served.diagnostics.length > told);
    expect(served.diagnostics.slice(told)).toContainEqual(
      expect.objectContaining({ severity: "error", file: join(folder, "mcpfile.yaml"), line: 1 }),
    );
    expect(await served.names()).toEqual(["mcp_live_three", "mcp_live_two"]);
    expect(textOf(await client.tool("mcp_live_three"))).toBe("three\n");

    write(tools("four"));
    await until(() => legacy.notices(CHANGED).length > heard);
    await until(async () => (await served.names()).join() === "mcp_live_four");
    expect(textOf(await client.tool("mcp_live_four"))).toBe("four\n");
  });
});

describe("commands", () => {
  const WAITS = fixture("slow-0.2.yaml");

  async function pidsOf(folder: string): Promise<number[]> {
    await until(() => existsSync(join(folder, "pids")));
    return readFileSync(join(folder, "pids"), "utf8").trim().split(" ").map(Number);
  }

  it.each(ERAS)(
    "end with all their processes when a %s client cancels the call",
    needs("bash"),
    async (era: Era) => {
      const { connect, folder } = await serveMcpfile(WAITS);
      const client = await connect(era);
      const params = { name: "mcp_slow_wait", arguments: {} };
      const exchange =
        client instanceof RawLegacy
          ? client.post("tools/call", params, "mine")
          : client.post("tools/call", params);
      const pids = await pidsOf(folder);
      expect(pids.map(isRunning)).toEqual([true, true]);
      if (client instanceof RawLegacy) client.notify("notifications/cancelled", { requestId: "mine" });
      else exchange.destroy();
      await until(() => !pids.some(isRunning));
    },
  );

  it.each(ERAS)("send progress to a %s client", needs("bash"), async (era: Era) => {
    const { connect, folder } = await serveMcpfile(WAITS);
    const client = await connect(era);
    const exchange = client.post("tools/call", {
      name: "mcp_slow_told",
      arguments: {},
      _meta: { progressToken: "p" },
    });
    const { params } = await exchange.find(({ method }) => method === "notifications/progress");
    expect(params).toMatchObject({ progressToken: "p", progress: 1, message: "halfway" });
    writeFileSync(join(folder, "go"), "");
    const answer = await exchange.find(({ result }) => result !== undefined);
    expect(textOf(answer)).toBe("halfway\ndone\n");
  });

  it.each(ERAS)("and requests have a time limit, for a %s client", async (era: Era) => {
    setEnv("JOURNEY_TOKEN", "x-of-the-journey");
    const { port } = await record(() => {});
    const folder = folderWith({
      "mcpfile.yaml": WAITS,
      "journey.mcpfile.yaml": journey(port),
      "portolan.yaml": "sources: [mcpfile.yaml, journey.mcpfile.yaml]",
    });
    const client = await (await serve(folder)).connect(era);
    const late = (await client.tool("mcp_slow_late")).result;
    expect(late).toMatchObject({ isError: true, _meta: { "portolan/cli": { timedOut: true } } });
    expect(late.content[0].text).toBe("The command took longer than 0.2 s and was stopped.");
    const unanswered = (await client.tool("mcp_journey_patient")).result;
    expect(unanswered).toMatchObject({ isError: true });
    expect(unanswered.content[0].text).toContain("did not answer within 0.2 s");
  });

  it.each(ERAS)("with a large output return its beginning and a link, to a %s client", async (era: Era) => {
    const { connect } = await serveMcpfile(WAITS);
    const client = await connect(era);
    const large = async (lines: number): Promise<Loose> =>
      (await client.tool("mcp_slow_large", { lines })).result;
    // 700 kB: all of it.
    const whole = await large(100_000);
    expect(whole.content[0].text).toHaveLength(700_000);
    // 8 MB: its beginning, and a link to the stored output.
    const cut = await large(1_000_000);
    expect(cut.isError).toBeFalsy();
    expect(JSON.stringify(cut).length).toBeLessThan(1024 * 1024);
    expect(cut.content[0].text).toMatch(/^0000001\n0000002\n/);
    const link = cut.content.find(({ type }: Loose) => type === "resource_link");
    const kept = (await client.call("resources/read", { uri: link.uri })).result.contents[0];
    expect(kept.text).toMatch(/^0000001\n0000002\n/);
    const short = (await client.tool("mcp_slow_short")).result;
    expect(short.content[0].text).toMatch(
      /^1\n2\n[^]*\[\.\.\. \d+ bytes are left out here \.\.\.\][^]*\n100000\n$/,
    );
    expect(short.content[0].text.length).toBeLessThan(1_100);
  });
});
