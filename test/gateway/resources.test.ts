// Resources of several servers behind one address: the server of a URI answers, or no server does.

import { expect, it } from "vitest";
import { until } from "../helpers/connect.ts";
import { event, INITIALIZE, serve } from "../helpers/http.ts";
import { type Loose, RawLegacy, RawModern } from "../helpers/raw-clients.ts";
import { openTestGateway, stdioServer, TOKEN } from "../helpers/raw-gateways.ts";

/** A server with these resources and templates, which answers with its own name. */
async function library(name: string, uris: string[], templates: string[]) {
  let tell = (_message: object): void => {};
  const server = await serve("legacy", {
    GET: ({ stream, response }) => {
      stream();
      tell = (message) => void response.write(event(message));
    },
    "resources/subscribe": ({ json }) => json({}),
    initialize: ({ json }) =>
      json(
        { ...INITIALIZE, capabilities: { tools: {}, resources: { subscribe: true }, completions: {} } },
        { "mcp-session-id": "s" },
      ),
    "resources/list": ({ json }) => json({ resources: uris.map((uri) => ({ uri, name: uri })) }),
    "resources/templates/list": ({ json }) =>
      json({ resourceTemplates: templates.map((uriTemplate) => ({ uriTemplate, name: uriTemplate })) }),
    "resources/read": ({ json, params }) => json({ contents: [{ uri: params.uri, text: name }] }),
    "completion/complete": ({ json }) => json({ completion: { values: [name] } }),
  });
  return {
    alias: name,
    endpoint: { transport: "http" as const, url: server.url },
    count: server.count,
    updated: async (uri: string): Promise<void> => {
      await until(() => server.count("GET") > 0);
      tell({ jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri } });
    },
  };
}

it.each(["modern", "legacy"] as const)(
  "the server that lists a URI, or has its most specific template, answers the read (%s)",
  async (era) => {
    // The server with the widest template is first in the alphabet.
    const { url, diagnostics } = await openTestGateway([
      await library("all", ["x://shared"], ["{+any}", "x://{+path}", "same://{id}"]),
      await library("docs", ["x://shared", "x://docs/listed"], ["x://docs/{+path}", "same://{id}"]),
      await library("notes", ["n://1"], ["x://docs/{id}"]),
    ]);
    const open = (path = "/mcp"): Promise<RawModern | RawLegacy> =>
      era === "modern"
        ? Promise.resolve(new RawModern(url, { token: TOKEN, path }))
        : RawLegacy.open(url, { token: TOKEN, path });
    const client = await open();
    const read = async (uri: string, who = client): Promise<Loose> => {
      const { result, error } = await who.call("resources/read", { uri });
      return result?.contents[0].text ?? error?.data.code;
    };
    expect(await read("x://docs/listed")).toBe("docs");
    expect(await read("x://docs/a/b")).toBe("docs");
    expect(await read("x://docs/a")).toBe("notes");
    expect(await read("x://other")).toBe("all");
    expect(await read("n://1")).toBe("notes");
    expect(await read("y://unknown")).toBe("all");
    // Several servers match these URIs.
    expect(await read("x://shared")).toBe("NAME_AMBIGUOUS");
    expect(await read("same://1")).toBe("NAME_AMBIGUOUS");
    const complete = async (uri: string): Promise<Loose> => {
      const ref = { type: "ref/resource", uri };
      const { result, error } = await client.call("completion/complete", {
        ref,
        argument: { name: "path", value: "" },
      });
      return result?.completion.values[0] ?? error?.data.code;
    };
    expect(await complete("x://docs/{+path}")).toBe("docs");
    expect(await complete("x://docs/{id}")).toBe("notes");
    expect(await complete("same://{id}")).toBe("NAME_AMBIGUOUS");
    const listed = async (who = client): Promise<string[]> => [
      ...(await who.call("resources/list")).result.resources.map(({ uri }: Loose) => uri),
      ...(await who.call("resources/templates/list")).result.resourceTemplates.map(
        ({ uriTemplate }: Loose) => uriTemplate,
      ),
    ];
    expect(await listed()).toEqual([
      "n://1",
      "x://docs/listed",
      "x://docs/{+path}",
      "x://docs/{id}",
      "x://{+path}",
      "{+any}",
    ]);
    expect(diagnostics.map(({ code, message }) => [code, message])).toEqual([
      [
        "NAME_AMBIGUOUS",
        "these resources are left out of the list because all and docs both have them: x://shared",
      ],
      [
        "NAME_AMBIGUOUS",
        "these resource templates are left out of the list because all and docs both have them: same://{id}",
      ],
    ]);
    for (const name of ["all", "docs"]) {
      const alone = await open(`/servers/${name}/mcp`);
      expect(await read("x://shared", alone)).toBe(name);
      expect(await read("same://1", alone)).toBe(name);
      expect(await listed(alone)).toContain("x://shared");
    }
  },
);

it("an unlisted URI is not read from another server while one server has not started yet", async () => {
  const docs = await library("docs", ["x://1"], []);
  const down = stdioServer("down", ["--fault=exit-at-start"]);
  for (const [servers, text] of [
    [[docs], "docs"],
    [[docs, down], undefined],
  ] as const) {
    const { url } = await openTestGateway(servers);
    const { result } = await new RawModern(url, { token: TOKEN }).call("resources/read", { uri: "y://1" });
    expect(result?.contents[0].text).toBe(text);
  }
});

it("a subscription goes to the server of the resource, and other servers cannot report its changes", async () => {
  const greedy = await library("all", [], ["{+any}"]);
  const docs = await library("docs", ["x://1", "x://2"], []);
  const { url } = await openTestGateway([greedy, docs]);
  const client = await RawLegacy.open(url, { token: TOKEN });
  for (const uri of ["x://1", "x://2"]) await client.call("resources/subscribe", { uri });
  expect([greedy.count("resources/subscribe"), docs.count("resources/subscribe")]).toEqual([0, 2]);
  const stream = await client.listen();
  await greedy.updated("x://1");
  await client.call("resources/subscribe", { uri: "any://thing" });
  await greedy.updated("any://thing");
  await stream.find(({ params }) => params?.uri === "any://thing");
  await docs.updated("x://2");
  await stream.find(({ params }) => params?.uri === "x://2");
  expect(stream.notices("notifications/resources/updated").map(({ uri }) => uri)).toEqual([
    "any://thing",
    "x://2",
  ]);
});
