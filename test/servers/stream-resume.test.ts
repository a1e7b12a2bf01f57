// A legacy response whose stream ends early is resumed after its last event.

import { describe, expect, it } from "vitest";
import { failure } from "../helpers/connect.ts";
import { connectTo } from "../helpers/http.ts";

describe("a stream that the server ends early", () => {
  /** Ends its stream after every event, up to the event `last`. The 15th event is the response, as a batch. */
  const inPieces = (last: number): Parameters<typeof connectTo>[1] => {
    let call: number | undefined;
    return {
      "tools/call": ({ id, stream, response }) => {
        call = id;
        stream();
        response.end(`id: 1\nretry: 1\ndata: \n\n`);
      },
      GET: ({ request, response, stream }) => {
        const at = Number(request.headers["last-event-id"] ?? 0);
        if (at === 0) return response.writeHead(405).end();
        stream();
        const next = Math.min(at + 1, last);
        const answer = { jsonrpc: "2.0", id: call, result: { content: [] } };
        const news = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info" } };
        response.end(`id: ${next}\nretry: 1\ndata: ${JSON.stringify(next === 15 ? [answer] : news)}\n\n`);
      },
    };
  };

  it("is resumed again and again as long as each stream brings a new event", async () => {
    const { mcp, server } = await connectTo("legacy", inPieces(15));
    expect(await mcp.callTool("t")).toEqual({ content: [] });
    expect(server.seen.filter(({ headers }) => headers["last-event-id"] !== undefined)).toHaveLength(14);
    expect(mcp.stats()).toMatchObject({ inFlight: 0, noise: 0 });
  });

  it("fails its call as CONNECTION_LOST after several streams without a new event", async () => {
    const { mcp, server } = await connectTo("legacy", inPieces(3));
    expect((await failure(mcp.callTool("t"))).code).toBe("CONNECTION_LOST");
    expect(server.seen.filter(({ headers }) => headers["last-event-id"] !== undefined)).toHaveLength(12);
  });
});
