// `portolan approve -f`: shows calls as they begin to wait for approval, and asks about each at the terminal.

import type { RunningGateway } from "../../control/index.ts";
import { toPortolanError } from "../../errors/index.ts";
import type { ShownApproval } from "../../gateway/index.ts";
import type { HubEvent } from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { isInteractive } from "../input/handlers.ts";
import { formatDuration } from "../terminal/layout.ts";
import type { Prompter } from "../terminal/prompter.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { withGateway } from "./find.ts";

/** How a call stopped to wait, if this command did not decide about it. */
const ENDS: Readonly<Partial<Record<HubEvent["type"], string>>> = {
  "gateway.approval_granted": "it was approved",
  "gateway.approval_denied": "it was denied",
  "gateway.approval_expired": "its time for approval has expired",
  "gateway.approval_withdrawn": "its client has disconnected or cancelled it",
};

/** Runs until Ctrl-C, or until all the gateways have stopped. `show` prints a call. */
export async function followApprovals(
  cli: Cli,
  gateways: readonly RunningGateway[],
  show: (call: ShownApproval, gateway: RunningGateway) => void,
): Promise<number> {
  const { io, output, options, interrupt } = cli;
  const stopped = new AbortController();
  const signal = AbortSignal.any([interrupt.signal, stopped.signal]);
  const asks = output.form === "text" && options.input && isInteractive(cli);
  const prompter = asks ? await io.createPrompter(output.noteColors.enabled) : undefined;
  // One question at a time, also if several gateways have calls.
  let lastQuestion = Promise.resolve();

  const watch = (gateway: RunningGateway): Promise<void> =>
    withGateway(gateway, async (client) => {
      const ends = new Map<string, AbortController>();
      const decide = async (call: ShownApproval, ended: AbortSignal): Promise<void> => {
        if (ended.aborted || signal.aborted) return;
        show(call, gateway);
        if (prompter === undefined) return;
        const answer = await ask(prompter, call, AbortSignal.any([signal, ended]));
        if (ended.aborted) return output.note(`${call.id} waits no longer: ${String(ended.reason)}.`);
        if (signal.aborted || answer === "later") return;
        if (answer === undefined) {
          output.note("No more calls are shown. Calls that wait for approval keep waiting.");
          return stopped.abort();
        }
        const decision = answer === "deny" ? "deny" : "approve";
        const forMs = answer === "for" ? call.maxForMs : undefined;
        await client
          .decide({ id: call.id, decision, forMs })
          .catch((error: unknown) => output.note(`${call.id}: ${toPortolanError(error).message}`));
      };
      const showNew = async (): Promise<void> => {
        for (const call of await client.approvals()) {
          if (ends.has(call.id)) continue;
          const ended = new AbortController();
          ends.set(call.id, ended);
          lastQuestion = lastQuestion.then(() => decide(call, ended.signal));
        }
      };
      const onEvent = (event: HubEvent): void => {
        if (event.type === "gateway.approval_requested") showNew().catch(() => {});
        const end = ENDS[event.type];
        if (end !== undefined && "id" in event) ends.get(event.id)?.abort(end);
      };
      const following = client.followEvents(onEvent, signal, false);
      // Calls of before a restart of the gateway have no event.
      await Promise.all([following, showNew()]);
    });

  const results = await Promise.allSettled(gateways.map(watch));
  await lastQuestion;
  if (stopped.signal.aborted) return 130;
  if (interrupt.signal.aborted) return 0;
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return 0;
}

/** Undefined if the person pressed Ctrl-C. The first answer changes nothing: the question can appear while the person types. */
function ask(
  prompter: Prompter,
  { id, server, tool, by, maxForMs }: ShownApproval,
  signal: AbortSignal,
): Promise<string | undefined> {
  const approvals = [
    { value: "once", label: "Approve this call" },
    ...(maxForMs === undefined
      ? []
      : [{ value: "for", label: `Approve this call and identical calls for ${formatDuration(maxForMs)}` }]),
  ];
  return prompter.select({
    message: `${id}: may ${plainLine(server, 60)}.${plainLine(tool, 80)} run?`,
    options: [
      { value: "later", label: "Decide later" },
      ...(by.includes("terminal") ? approvals : []),
      { value: "deny", label: "Deny this call" },
    ],
    initial: "later",
    signal,
  });
}
