// Tasks of a modern server (the tasks extension) through the gateway: access to them, and their status notifications.

import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { RawModern } from "../helpers/raw-clients.ts";
import { openTestGateway, type TestServer, TOKEN } from "../helpers/raw-gateways.ts";

const TASKS = "io.modelcontextprotocol/tasks";
const SERVER = fileURLToPath(new URL("../conformance/server.mjs", import.meta.url));
const fixture = (alias: string): TestServer => ({
  alias,
  endpoint: { transport: "stdio", command: process.execPath, args: [SERVER, "--era", "modern"] },
});
const client = (url: string, capabilities: object = { elicitation: {}, extensions: { [TASKS]: {} } }) =>
  new RawModern(url, { token: TOKEN, capabilities });

describe("tasks of a modern server", () => {
  it("report their status to the client that subscribed, with the task ids of the gateway", async () => {
    const { url } = await openTestGateway([fixture("one"), fixture("two")]);
    const raw = client(url);
    const begin = async (alias: string): Promise<string> => {
      const { result } = await raw.ask("tools/call", {
        name: `mcp_${alias}_confirm_delete`,
        arguments: { filename: `${alias}.txt` },
      });
      return result.taskId;
    };
    const taskIds = [await begin("one"), await begin("two")];
    const stream = raw.post("subscriptions/listen", {
      notifications: { taskIds: [...taskIds, "one.of-nobody"] },
    });
    const acknowledged = await stream.find(({ method }) => method?.endsWith("/acknowledged") === true);
    expect(acknowledged.params.notifications.taskIds.toSorted()).toEqual(taskIds.toSorted());
    for (const taskId of taskIds) {
      const { result } = await raw.ask("tasks/get", { taskId });
      const [key = ""] = Object.keys(result.inputRequests as object);
      const answer = { action: "accept", content: { confirm: true } };
      await raw.ask("tasks/update", { taskId, inputResponses: { [key]: answer } });
      const { params } = await stream.find(
        ({ params: task }) => task?.taskId === taskId && task.status === "completed",
      );
      expect(params.result.content[0].text).toMatch(/^Deleted (one|two)\.txt$/);
      expect(params._meta).toEqual(acknowledged.params._meta);
    }
  });

  it("need a client that declares the tasks extension", async () => {
    const { url } = await openTestGateway([fixture("one")]);
    const raw = client(url, {});
    for (const [method, params] of [
      ["tasks/get", { taskId: "one.x" }],
      ["subscriptions/listen", { notifications: { taskIds: ["one.x"] } }],
    ] as const) {
      const requiredCapabilities = { extensions: { [TASKS]: {} } };
      const { error } = await raw.ask(method, params);
      expect(error, method).toMatchObject({ code: -32021, data: { requiredCapabilities } });
    }
    expect((await raw.ask("tasks/result", { taskId: "one.x" })).error?.code).toBe(-32601);
  });
});
