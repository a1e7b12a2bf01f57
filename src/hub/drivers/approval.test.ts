import { expect, test } from "vitest";
import { contract } from "../../../test/helpers/contracts.ts";
import type { ApprovalRequest, ContractCall } from "../../contracts/index.ts";
import { createRedactor, Secret } from "../../secrets/index.ts";
import type { ServerRequest } from "../../upstream/index.ts";
import { approveByElicitation } from "./approval.ts";

const SECRET = 'a "secret" canary';

async function asked(input: ApprovalRequest["input"], more: object = {}): Promise<string> {
  const redactor = createRedactor();
  redactor.add(new Secret(SECRET));
  const requests: ServerRequest[] = [];
  const ask = async (asked: ServerRequest): Promise<object> => {
    requests.push(asked);
    return { action: "accept", content: { allow: true } };
  };
  const request = {
    contract: contract({ id: "del", name: "Delete", mutates: ["workspace:files"] }),
    driver: "files-mcp",
    input,
    context: {},
    reason: "del requires approval of every call",
    call: { tool: "del", ask: ask as ContractCall["ask"] },
    mayRunUnattended: false,
    ...more,
  };
  expect(await approveByElicitation(request, undefined, redactor)).toBe(true);
  return String(requests[0]?.params?.message);
}

test("the approval shows the call on one line, without secrets", async () => {
  const message = await asked({ path: `/a\n\u202e${SECRET}`, key: SECRET });
  expect(message).toContain("The call changes workspace:files.");
  expect(message).toContain('"path":"/a');
  expect(message).toContain("[redacted]");
  expect(message).not.toContain("canary");
  expect(message).not.toMatch(/[\n\u202e]/);
});

test("what is long is cut, and said to be", async () => {
  const message = await asked({ text: "x".repeat(5_000) });
  expect(message.length).toBeLessThan(1_300);
  expect(message).toContain("more characters)");
});

test("what it changes is not said twice", async () => {
  const message = await asked({}, { reason: "del changes workspace:files" });
  expect(message.match(/workspace:files/g)).toHaveLength(1);
});

test("arguments that cannot be shown are not approved", async () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  const ask = async (): Promise<object> => ({ action: "accept", content: { allow: true } });
  const answer = await approveByElicitation(
    {
      ...{ contract: contract(), driver: "d", input: circle, context: {}, reason: "r" },
      call: { tool: "d", ask: ask as ContractCall["ask"] },
      mayRunUnattended: false,
    },
    undefined,
    createRedactor(),
  );
  expect(answer).toContain("cannot be shown");
});
