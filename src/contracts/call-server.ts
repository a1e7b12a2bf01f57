// The part of a call that leaves this program: arguments out, result in, within the time that the contract allows.

import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject, RetryRule } from "../model/index.ts";
import { type Call, timerMs, type Upstream, within } from "../upstream/index.ts";
import type { CallTime, ContractCall, DispatchParts, ReadyTool } from "./dispatch.ts";
import { fail, Failure, toFailure } from "./failure.ts";
import type { BoundTool, CallContext } from "./types.ts";

/** Pauses grow no longer than this. */
const LONGEST_PAUSE_MS = 30_000;

/** `sent.retries` counts, also when it fails; `time.left` is then less by what it took. */
export async function callServer(
  ready: ReadyTool,
  input: JsonObject,
  context: CallContext,
  call: ContractCall,
  parts: DispatchParts,
  sent: { retries: number },
  time: CallTime,
): Promise<unknown> {
  const { bound, hooks } = ready;
  const { driver, contract } = bound;
  parts.grants?.requireBind(driver, contract.id, context);
  const execute = hooks.execute?.[contract.id];
  // Starting has a limit of its own, which is the server's; the contract's time begins when the server can be asked.
  const coming = execute === undefined ? acquire(bound, context, call, parts, time) : undefined;
  const upstream = coming instanceof Promise ? await coming : coming;
  const args = upstream === undefined ? {} : argumentsOf(ready, input, context, parts);
  const begun = performance.now();
  let left = Math.min(bound.timeoutMs, time.left);
  const deadline = begun + left;
  for (;;) {
    try {
      if (upstream === undefined) return await runExecute(ready, input, context, call, left);
      const result = await upstream.request(requestFor(bound, args, call, left));
      return outputOf(ready, result, context);
    } catch (thrown) {
      const failure = toFailure(thrown);
      const wait = pauseBefore(sent.retries + 1, bound.retry);
      const again = mayRepeat(failure, contract.idempotent) && wait !== undefined;
      const now = performance.now();
      if (!again || call.signal?.aborted === true || now + wait >= deadline) {
        time.left -= now - begun;
        throw failure;
      }
      sent.retries += 1;
      if (wait > 0) await sleep(wait, undefined, { signal: call.signal }).catch(() => {});
      left = deadline - performance.now();
    }
  }
}

/** Whoever leaves does not wait for a server to start. */
function acquire(
  bound: BoundTool,
  context: CallContext,
  { signal }: ContractCall,
  parts: DispatchParts,
  time: CallTime,
): Upstream | Promise<Upstream> {
  const coming = parts.acquire(bound, { context, tool: bound.contract.id, signal, time });
  return signal === undefined || !(coming instanceof Promise)
    ? coming
    : within(coming, { server: bound.driver.id, what: "starting", ms: 0, signal });
}

function argumentsOf(
  { bound, hooks }: ReadyTool,
  input: JsonObject,
  context: CallContext,
  parts: DispatchParts,
): JsonObject {
  const { contract, driver, binding } = bound;
  const mapped = bound.arguments.build(input);
  const args =
    hooks.buildArguments?.({
      driver,
      context,
      tool: contract.id,
      toolName: binding.toolName,
      input,
      arguments: mapped,
    }) ?? mapped;
  const problem = parts.checkArguments?.(bound, args);
  if (problem !== undefined) throw fail("policy_violation", problem);
  return args;
}

function requestFor({ binding }: BoundTool, args: JsonObject, call: ContractCall, left: number): Call {
  const ms = Math.max(1, Math.ceil(left));
  const { caller, signal, timeoutMs, onProgress, onLog, ask } = call;
  return {
    method: "tools/call",
    params: { name: binding.toolName, arguments: args },
    caller,
    signal,
    timeoutMs: Math.min(ms, timeoutMs || ms),
    maxTimeoutMs: ms,
    onProgress,
    onLog,
    ask,
  };
}

function outputOf({ bound, hooks }: ReadyTool, result: JsonObject, context: CallContext): unknown {
  const { binding, contract, driver } = bound;
  if (hooks.parseToolResult === undefined) return bound.result.narrow(bound.result.extract(result));
  const parsed = hooks.parseToolResult({
    driver,
    context,
    tool: contract.id,
    toolName: binding.toolName,
    result,
  });
  if (!parsed.ok) throw new Failure(parsed.error);
  return bound.result.narrow(parsed.value);
}

async function runExecute(
  { bound, hooks }: ReadyTool,
  input: JsonObject,
  context: CallContext,
  call: ContractCall,
  left: number,
): Promise<unknown> {
  const { driver, contract } = bound;
  const late = AbortSignal.timeout(Math.ceil(timerMs(left)));
  const signal = call.signal === undefined ? late : AbortSignal.any([call.signal, late]);
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () =>
      reject(
        call.signal?.aborted === true
          ? fail("cancelled", `${contract.id} was cancelled`)
          : fail("timeout", `${contract.id} took longer than ${bound.timeoutMs} ms`, { retryable: true }),
      ),
    );
  });
  ended.catch(() => {});
  const value = await Promise.race([
    hooks.execute?.[contract.id]?.({ driver, context, input, signal }),
    ended,
  ]);
  return bound.result.narrow(value);
}

/** Nothing that may have run is run again, unless the contract says that this does no harm. */
function mayRepeat({ error, neverSent }: Failure, idempotent: boolean): boolean {
  return error.retryable === true && (idempotent || neverSent);
}

/** How long to wait before the next attempt; undefined when there is none left. */
function pauseBefore(retry: number, rule: RetryRule | undefined): number | undefined {
  if (rule === undefined || retry >= rule.maxAttempts) return undefined;
  const ms = rule.backoff === "fixed" ? rule.initialMs : rule.initialMs * 2 ** (retry - 1);
  return Math.min(ms, LONGEST_PAUSE_MS);
}
