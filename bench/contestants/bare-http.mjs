// The limit on HTTP: undici's `request` with its default pool, JSON.parse. No deadlines, no cancellation, no checks.

import { Agent, request } from "undici";

const HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

export async function connect({ url, answer, era }) {
  const dispatcher = new Agent();
  const parse = answer === "sse" ? parseEvent : JSON.parse;
  let nextId = 1;

  const post = async (message) => {
    const response = await request(url, {
      method: "POST",
      headers: HEADERS,
      body: JSON.stringify(message),
      dispatcher,
    });
    return response.body.text();
  };
  const ask = async (method, params) =>
    parse(await post({ jsonrpc: "2.0", id: nextId++, method, params })).result;

  if (era === "legacy") {
    const clientInfo = { name: "bare", version: "1.0.0" };
    await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    await post({ jsonrpc: "2.0", method: "notifications/initialized" });
  }
  await ask("tools/list", {});

  return {
    async call(text) {
      const result = await ask("tools/call", { name: "echo", arguments: { text } });
      return result.content[0].text;
    },
    close: () => dispatcher.close(),
  };
}

/** The only event of a stream that carries one answer. */
function parseEvent(stream) {
  const from = stream.indexOf("data: ") + 6;
  return JSON.parse(stream.slice(from, stream.indexOf("\n", from)));
}
