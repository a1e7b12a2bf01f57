// Calls of a connection that their program cancels before they are sent.

import { expect, test } from "vitest";
import { serve, text, tool } from "../../test/helpers/contracts.ts";
import { DEFAULT_LIMITS } from "../model/index.ts";
import type { Upstream } from "../upstream/index.ts";
import { Connection } from "./connection.ts";

const connect = (upstream: Upstream): Connection =>
  new Connection(upstream, {
    ...{ limits: DEFAULT_LIMITS, retryHinted: false, diagnostics: [], report: () => {} },
  });
const unsent = {
  ...{ code: "CANCELLED", server: "inside", tool: "read_file", data: { neverRan: true } },
  ...{ message: "inside: the call of read_file was cancelled", hint: "The call was not sent to the server." },
};

test("a call whose signal is aborted before never reaches the server, and its error names the tool", async () => {
  const { upstream, calls } = await serve({ tools: [tool()], call: () => text("x") });
  const connection = connect(upstream);
  const signal = AbortSignal.abort();
  const call = (): Promise<unknown> => connection.callTool("read_file", { path: "a" }, { signal });
  await expect(call()).rejects.toMatchObject(unsent);
  await connection.listTools();
  await expect(call()).rejects.toMatchObject(unsent);
  await expect(connection.ping({ signal })).rejects.toMatchObject({ data: { neverRan: true } });
  expect(calls).toEqual([]);
});

test("a call that is cancelled while the tools are listed for it was not sent", async () => {
  const { upstream, calls } = await serve({ tools: [tool()], call: () => text("x") });
  const leaving = new AbortController();
  const slow = Object.create(upstream, {
    request: {
      value: (call: Parameters<Upstream["request"]>[0]) => {
        const answer = upstream.request(call);
        if (call.method === "tools/list") leaving.abort();
        return answer;
      },
    },
    on: { value: upstream.on.bind(upstream) },
    describe: { value: upstream.describe.bind(upstream) },
  }) as Upstream;
  await expect(
    connect(slow).callTool("read_file", { path: "a" }, { signal: leaving.signal }),
  ).rejects.toMatchObject(unsent);
  expect(calls).toEqual([]);
});
