// Limits of the console for clients that are not signed in, the end of sessions, and the setting gateway.console. Without a browser.

import { request } from "node:http";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, it, onTestFinished } from "vitest";
import type { HubEvent } from "../../src/hub/index.ts";
import type { GatewaySettings } from "../../src/model/index.ts";
import { startConsole, type TestConsole } from "../helpers/console.ts";

async function start(settings?: GatewaySettings): Promise<TestConsole> {
  const served = await startConsole({}, settings);
  onTestFinished(() => served.stop());
  return served;
}

interface Sent {
  readonly status: number | undefined;
  readonly cookie: string | undefined;
  readonly text: string;
}

interface Options {
  /** Where the client connects to. */
  readonly address?: string;
  /** Names the host, too. */
  readonly origin?: string;
  readonly headers?: Record<string, string>;
}

function post(served: TestConsole, path: string, body: string, more: Options = {}): Promise<Sent> {
  const { port } = served;
  const { address = "127.0.0.1", origin = `http://${address}:${port}`, headers = {} } = more;
  return new Promise((resolve, reject) => {
    const { host } = new URL(origin);
    const all = { "content-type": "application/json", host, origin, ...headers };
    const sent = request({ host: address, port, method: "POST", path, headers: all }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode, cookie: response.headers["set-cookie"]?.[0], text }),
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

const signIn = (served: TestConsole, given: object, more?: Options): Promise<Sent> =>
  post(served, "/console/api/sign-in", JSON.stringify(given), more);

const codeOf = (served: TestConsole): string => served.link().replace(/^.*#code=/, "");

describe("sign-in", () => {
  it("limits the size and the time of requests, and the number of clients at once", async () => {
    const served = await start();
    const large = { code: codeOf(served), rest: "x".repeat(8_000) };
    await expect(signIn(served, large)).resolves.toMatchObject({ status: 401 });
    const head = `POST /console/api/sign-in HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nOrigin: http://127.0.0.1:${served.port}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
    const slow = Array.from({ length: 20 }, () => {
      const socket = connect(served.port, "127.0.0.1", () => socket.write(head));
      return socket.on("error", () => {});
    });
    onTestFinished(() => slow.forEach((socket) => socket.destroy()));
    const closed = Promise.all(slow.map((socket) => new Promise((resolve) => socket.on("close", resolve))));
    await expect.poll(async () => (await signIn(served, {})).status, { timeout: 4_000 }).toBe(503);
    // The gateway closes them after five seconds.
    await closed;
    await expect(signIn(served, { token: served.token })).resolves.toMatchObject({ status: 204 });
  });

  it("that is refused many times causes few events", async () => {
    const served = await start();
    const events: HubEvent[] = [];
    served.gateway.workspace.events.on((event) => events.push(event));
    for (let at = 0; at < 60; at += 1) await signIn(served, { code: "wrong" });
    const refused = events.filter(({ type }) => type === "gateway.refused");
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(40);
    expect(refused[0]).toMatchObject({
      code: "AUTH_REQUIRED",
      reason: "console: the sign-in code or the token is not valid",
    });
  });

  it("sets a cookie that needs HTTPS if the page was loaded by HTTPS", async () => {
    const served = await start();
    const plain = await signIn(served, { token: served.token });
    expect(plain.cookie).not.toContain("Secure");
    const secure = await signIn(
      served,
      { token: served.token },
      { origin: `https://localhost:${served.port}` },
    );
    expect(secure.cookie).toContain("; Secure");
  });
});

it("sign-out closes the live feed and the running requests of its session, and no others", async () => {
  const served = await start();
  const open = async () => {
    const { cookie = "" } = await signIn(served, { token: served.token });
    const headers = {
      cookie: cookie.split(";")[0] ?? "",
      origin: served.url,
      "content-type": "application/json",
    };
    const feed = await fetch(`${served.url}/console/api/stream`, { headers });
    const logs = await fetch(`${served.url}/console/api/events`, {
      ...{ method: "POST", headers, body: JSON.stringify({ follow: true }) },
    });
    let ended = 0;
    for (const { body } of [feed, logs])
      void (async () => {
        for await (const _ of body as AsyncIterable<Uint8Array>);
      })()
        .catch(() => {})
        .finally(() => (ended += 1));
    return { headers, ended: () => ended };
  };
  const [one, other] = [await open(), await open()];
  await fetch(`${served.url}/console/api/sign-out`, { method: "POST", headers: one.headers, body: "{}" });
  await expect.poll(one.ended).toBe(2);
  expect(other.ended()).toBe(0);
});

describe("gateway.console", () => {
  /** An address of this computer that is not loopback. */
  const outside = Object.values(networkInterfaces())
    .flatMap((all = []) => all)
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;

  it.skipIf(outside === undefined)(
    "local serves this computer only, and says how to change that",
    async () => {
      const served = await start({ host: "0.0.0.0" });
      const page = await fetch(`http://${outside}:${served.port}/`);
      expect(page.status).toBe(403);
      expect(await page.text()).toContain("gateway.console");
      await expect(signIn(served, { code: codeOf(served) }, { address: outside })).resolves.toMatchObject({
        status: 403,
      });
      expect((await fetch(`http://127.0.0.1:${served.port}/`)).status).toBe(200);
      expect(served.link()).toMatch(/^http:\/\/127\.0\.0\.1:/);
    },
  );

  it.skipIf(outside === undefined)(
    "all serves every address, but other computers can sign in only with a code",
    async () => {
      const served = await start({ host: "0.0.0.0", console: "all" });
      expect((await fetch(`http://${outside}:${served.port}/`)).status).toBe(200);
      await expect(signIn(served, { token: served.token }, { address: outside })).resolves.toMatchObject({
        status: 401,
      });
      await expect(signIn(served, { code: codeOf(served) }, { address: outside })).resolves.toMatchObject({
        status: 204,
      });
      await expect(signIn(served, { token: served.token })).resolves.toMatchObject({ status: 204 });
    },
  );

  it("local refuses requests through a proxy", async () => {
    const served = await start();
    const forwarded = { headers: { "x-forwarded-for": "192.0.2.7" } };
    await expect(signIn(served, { token: served.token }, forwarded)).resolves.toMatchObject({ status: 403 });
  });
});

it("a tool definition with hidden characters cannot be approved over HTTP", async () => {
  const served = await start();
  served.setTools({ description: "Returns its input.\u{E0041}\u{E0042}" });
  const { cookie = "" } = await signIn(served, { token: served.token });
  const headers = { cookie: cookie.split(";")[0] ?? "" };
  const ask = async (method: string, params: object): Promise<string> =>
    (await post(served, `/console/api/${method}`, JSON.stringify(params), { headers })).text;
  await ask("restart", { server: "inputs" });
  const [last = ""] = (await ask("pins", {})).trim().split("\n").slice(-1);
  const { result } = JSON.parse(last) as {
    result: { server: string; tools: { name: string; hash: string }[] }[];
  };
  const tool = result.find(({ server }) => server === "inputs")?.tools[0];
  expect(tool?.hash).toBeTypeOf("string");
  const tools = [{ name: tool?.name, hash: tool?.hash }];
  const answer = await ask("approvePins", { server: "inputs", tools, allowFindings: true });
  expect(answer).toContain("TOOL_WITHHELD");
  expect(answer).toContain(`The tool ${tool?.name} was not approved: its description `);
  expect(answer).toContain(`portolan pins approve inputs ${tool?.name} --allow-findings`);
});
