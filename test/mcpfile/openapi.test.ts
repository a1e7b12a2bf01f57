// Descriptions of HTTP APIs, converted and served by the gateway: every operation is called, and the API sees exactly the right request.

import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { convertOpenApi } from "../../src/openapi/index.ts";
import { record, type Recorded } from "../helpers/invoke.ts";
import { ERAS, serveMcpfile } from "../helpers/mcpfile.ts";
import type { Loose } from "../helpers/raw-clients.ts";

interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly body: string;
}

interface Case {
  readonly tool: string;
  readonly args: object;
  readonly method: string;
  readonly url: string;
  /** All headers except those of the HTTP transport. */
  readonly headers?: Record<string, string>;
  /** Text as it is; anything else as JSON. */
  readonly body?: unknown;
  readonly answer?: Answer;
  /** Fields of the result, which is not an error. */
  readonly result?: object;
}

interface Api {
  readonly file: string;
  readonly name: string;
  readonly base: string;
  readonly secrets: Record<string, string>;
  readonly cases: readonly Case[];
}

const JSON_BODY = { "content-type": "application/json; charset=UTF-8" };
const TRACE = "0b8f0f0e-8f43-4c2c-9f43-1f1f1f1f1f1f";
const json = (value: unknown, status = 200): Answer => ({
  status,
  type: "application/json",
  body: JSON.stringify(value),
});

const PETSTORE_3: Api = {
  file: "petstore-3.0.json",
  name: "petstore",
  base: "/v3",
  secrets: { PETSTORE_TOKEN: "pt-token", PETSTORE_KEY: "pt key&", PETSTORE_SESSION: "pt-session" },
  cases: [
    {
      tool: "listPets",
      args: {
        "X-Trace-Id": TRACE,
        limit: 5,
        status: ["available", "sold"],
        ids: "1,2",
        filter: { name: "a b&c", age: 3 },
        page_size: 10,
      },
      method: "GET",
      url: "/v3/pets?limit=5&status=available&status=sold&ids=1%2C2&filter%5Bname%5D=a%20b%26c&filter%5Bage%5D=3&page%5Bsize%5D=10",
      headers: { authorization: "Bearer pt-token", "x-trace-id": TRACE },
      answer: json([{ id: 1, name: "Rex" }]),
      result: { content: [{ type: "text", text: '[{"id":1,"name":"Rex"}]' }] },
    },
    {
      tool: "listPets",
      args: {},
      method: "GET",
      url: "/v3/pets?limit=20",
      headers: { authorization: "Bearer pt-token" },
      answer: json([]),
    },
    {
      tool: "createPet",
      args: { name: "Rex", nick: null, pin: "1", status: "sold", parent: { name: "Old" }, kind: 7 },
      method: "POST",
      url: "/v3/pets",
      headers: { authorization: "Bearer pt-token", accept: "application/json", ...JSON_BODY },
      body: { name: "Rex", nick: null, pin: "1", status: "sold", parent: { name: "Old" }, kind: 7 },
      answer: json({ id: 9, name: "Rex" }, 201),
      result: { structuredContent: { id: 9, name: "Rex" } },
    },
    {
      tool: "get_pet_by_id",
      args: { petId: 7 },
      method: "GET",
      url: "/v3/pets/7?api_key=pt%20key%26",
      headers: { cookie: "SID=pt-session" },
      answer: { type: "application/hal+json", body: '{"id":7,"name":"Rex"}' },
      result: { structuredContent: { id: 7, name: "Rex" } },
    },
    {
      tool: "replacePet",
      args: { petId: 7, body: { petId: "seven", name: "n" } },
      method: "PUT",
      url: "/v3/pets/7",
      headers: JSON_BODY,
      body: { petId: "seven", name: "n" },
      answer: { status: 204, body: "" },
      result: { content: [] },
    },
    {
      tool: "delete_pets_petId",
      args: { petId: 7 },
      method: "DELETE",
      url: "/v3/pets/7",
      headers: { authorization: "Bearer pt-token" },
    },
    {
      tool: "setTags",
      args: { petId: 7, body: ["a", "b"] },
      method: "PUT",
      url: "/v3/pets/7/tags",
      headers: { authorization: "Bearer pt-token", ...JSON_BODY },
      body: ["a", "b"],
    },
  ],
};

const SHOP_3_1: Api = {
  file: "shop-3.1.yaml",
  name: "shop-api",
  base: "/api",
  secrets: { SHOP_API_TOKEN: "shop-token" },
  cases: [
    {
      tool: "orders_count",
      args: { orderId: "a/b", filter: "x eq 1", orderId_query: "q", where: '{"a":1}', tracking: "t1" },
      method: "GET",
      url: "/api/orders/a%2Fb/$count?$filter=x%20eq%201&orderId=q&where=%7B%22a%22%3A1%7D",
      headers: { cookie: "tracking=t1" },
      answer: json({ count: 3, more: "x" }),
      result: { structuredContent: { count: 3, more: "x" } },
    },
    {
      tool: "post_orders",
      args: { note: null, items: [{ sku: "ABC", count: 2 }] },
      method: "POST",
      url: "/api/orders",
      headers: { authorization: "Bearer shop-token", ...JSON_BODY },
      body: { note: null, items: [{ sku: "ABC", count: 2 }] },
      answer: json({ id: "o1", note: null }, 201),
      result: { structuredContent: { id: "o1", note: null } },
    },
    {
      tool: "patchOrder",
      args: { orderId: "7", body: { note: "later" } },
      method: "PATCH",
      url: "/api/orders/7",
      headers: { "content-type": "application/merge-patch+json" },
      body: { note: "later" },
      answer: { type: "text/plain", body: "patched" },
      result: { content: [{ type: "text", text: "patched" }] },
    },
    {
      tool: "cancelOrder",
      args: { orderId: "7", dryRun: true, reason: "r" },
      method: "DELETE",
      url: "/api/orders/7?dryRun=true",
      headers: JSON_BODY,
      body: { reason: "r" },
      answer: json({}),
      result: { structuredContent: {} },
    },
    {
      tool: "login",
      args: { user_query: "q", user: "u", password: "p&=ö x" },
      method: "POST",
      url: "/api/login?user=q",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "user=u&password=p%26%3D%C3%B6+x",
      answer: { status: 204, body: "" },
    },
    { tool: "odd", args: {}, method: "GET", url: "/api/odd/%7Bmissing%7D/%7B%7Bliteral%7D%7D" },
    {
      tool: "growTree",
      args: { name: "a", children: [{ name: "b", children: [] }] },
      method: "POST",
      url: "/api/tree",
      headers: JSON_BODY,
      body: { name: "a", children: [{ name: "b", children: [] }] },
    },
  ],
};

const PETSTORE_2: Api = {
  file: "petstore-2.0.yaml",
  name: "old-petstore",
  base: "/v2",
  secrets: { OLD_PETSTORE_API_KEY: "old-key-1", OLD_PETSTORE_BASIC: "YTpiLWMtZA==" },
  cases: [
    {
      tool: "findPets",
      args: { tags: "a,b", colors: ["r", "g&b"], age: 3, "Accept-Language": "de" },
      method: "GET",
      url: "/v2/pets?tags=a%2Cb&colors=r&colors=g%26b&age=3",
      headers: { "x-key": "old-key-1", accept: "application/json", "accept-language": "de" },
      answer: json([]),
    },
    {
      tool: "addPet",
      args: { name: "n", owner: { pets: [] } },
      method: "POST",
      url: "/v2/pets",
      headers: { authorization: "Basic YTpiLWMtZA==", accept: "application/json", ...JSON_BODY },
      body: { name: "n", owner: { pets: [] } },
      answer: json({ id: 1, name: "n" }),
      result: { structuredContent: { id: 1, name: "n" } },
    },
    {
      tool: "renamePet",
      args: { id_path: 7, id: "new", name: "n n" },
      method: "POST",
      url: "/v2/pets/7",
      headers: {
        "x-key": "old-key-1",
        accept: "application/json",
        "content-type": "application/x-www-form-urlencoded",
      },
      body: "id=new&name=n+n",
    },
    {
      tool: "head_feed",
      args: {},
      method: "HEAD",
      url: "/v2/feed",
      headers: { "x-key": "old-key-1" },
      answer: { type: "application/xml", body: "" },
    },
  ],
};

function reply(response: ServerResponse, { status = 200, type, body }: Answer = { body: "fine" }): void {
  response.writeHead(status, type === undefined ? {} : { "content-type": type }).end(body);
}

const CARRYING = ["host", "connection", "content-length", "user-agent", "accept-encoding"];

/** The request without the headers of the HTTP transport. */
function essence({ method, url, headers, body }: Recorded): object {
  const own = Object.entries(headers).filter(([name]) => !CARRYING.includes(name));
  return { method, url, headers: Object.fromEntries(own), body };
}

function expected({ method, url, headers = {}, body }: Case): object {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  return { method, url, headers: { accept: "*/*", ...headers }, body: text };
}

describe.each([PETSTORE_2, PETSTORE_3, SHOP_3_1])("$file", ({ file, name, base, secrets, cases }) => {
  const text = readFileSync(join(import.meta.dirname, "..", "fixtures", "openapi", file), "utf8");

  it.each(ERAS)("every operation sends the described request, for a %s client", async (era) => {
    for (const [secret, value] of Object.entries(secrets)) vi.stubEnv(secret, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    let answer: Answer | undefined;
    const { origin, requests } = await record((_request, response) => {
      reply(response, answer);
    });
    // The base URL also replaces the server of one path alone: no request goes to the public host.
    const converted = convertOpenApi(text, { file, baseUrl: `${origin}${base}` });
    expect(converted.needs.toSorted()).toEqual(Object.keys(secrets).toSorted());
    const served = await serveMcpfile(converted.mcpfile);
    expect(served.diagnostics).toEqual([]);
    const full = (tool: string): string => `mcp_${name}_${tool}`;
    expect(await served.names()).toEqual([...new Set(cases.map(({ tool }) => full(tool)))].toSorted());
    const client = await served.connect(era);
    for (const one of cases) {
      answer = one.answer;
      requests.length = 0;
      const { result, error } = await client.tool(full(one.tool), one.args);
      expect(error, one.tool).toBeUndefined();
      expect(result.isError, `${one.tool}: ${JSON.stringify(result)}`).toBeFalsy();
      expect(requests.map(essence), one.tool).toEqual([expected(one)]);
      expect(result, one.tool).toMatchObject(one.result ?? {});
      for (const value of Object.values(secrets)) expect(JSON.stringify(result)).not.toContain(value);
    }
  });
});

describe("an API that breaks its description", () => {
  it.each(ERAS)("gives a %s client a warning, or an error for an error status", async (era) => {
    for (const [secret, value] of Object.entries(PETSTORE_3.secrets)) vi.stubEnv(secret, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const answers: Answer[] = [
      json({ name: "no id" }, 201),
      { type: "text/html", body: "<h1>Hello</h1>" },
      { status: 422, type: "application/json", body: '{"message":"too many pets"}' },
    ];
    let at = 0;
    const { origin, requests } = await record((_request, response) => {
      reply(response, answers[at++]);
    });
    const text = readFileSync(
      join(import.meta.dirname, "..", "fixtures", "openapi", PETSTORE_3.file),
      "utf8",
    );
    const { mcpfile } = convertOpenApi(text, { file: PETSTORE_3.file, baseUrl: origin });
    const client = await (await serveMcpfile(mcpfile)).connect(era);
    const said: Loose[] = [];
    for (const _ of answers) said.push((await client.tool("mcp_petstore_createPet", { name: "Rex" })).result);
    const [odd, plain, refused] = said;
    // A pet was created: an error would invite the model to create it again.
    for (const result of [odd, plain]) expect(result.isError).toBeFalsy();
    expect(odd.content.at(-1).text).toContain("does not match the tool's outputSchema");
    expect(plain.content.at(-1).text).toContain("its output is not JSON. The operation was carried out");
    expect(refused).toMatchObject({ isError: true });
    expect(refused.content[0].text).toContain("too many pets");
    // What the description does not allow is not sent.
    const { result } = await client.tool("mcp_petstore_createPet", { name: "", id: 4 });
    expect(result).toMatchObject({ isError: true });
    expect(requests).toHaveLength(answers.length);
  });
});
