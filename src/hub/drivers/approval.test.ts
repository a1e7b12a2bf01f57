import { expect, test } from "vitest";
import { contract } from "../../../test/helpers/contracts.ts";
import type { ApprovalRequest, ContractCall } from "../../contracts/index.ts";
import { createRedactor, Secret } from "../../secrets/index.ts";
import type { ServerRequest } from "../../upstream/index.ts";
import { approveByElicitation } from "./approval.ts";

const SECRET = 'a "secret" canary';

async function approvalMessage(input: ApprovalRequest["input"], more: object = {}): Promise<string> {
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

test("the approval request shows the call on one line, without secrets", async () => {
  const message = await approvalMessage({ path: `/a\n\u202e${SECRET}`, key: SECRET });
  expect(message).toContain("The call changes workspace:files.");
  expect(message).toContain('"path":"/a');
  expect(message).toContain("[redacted]");
  expect(message).not.toContain("canary");
  expect(message).not.toMatch(/[\n\u202e]/);
});

test("the approval request truncates long arguments, and says how many characters are missing", async () => {
  const message = await approvalMessage({ text: "x".repeat(5_000) });
  expect(message.length).toBeLessThan(1_300);
  expect(message).toContain("more characters)");
});

test("the approval request names a changed resource only once", async () => {
  const message = await approvalMessage({}, { reason: "del changes workspace:files" });
  expect(message.match(/workspace:files/g)).toHaveLength(1);
});

test("a call whose arguments cannot be shown is refused", async () => {
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
