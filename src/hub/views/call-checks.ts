// Checks of tool calls before they are sent: the gateway's budgets, loop breaker and approval rules. Without a check, a call does
// not pass here.

import type { JsonObject } from "../../model/index.ts";
import type { Call } from "../../upstream/index.ts";
import type { ViewTool } from "./merge.ts";

/** A tool call whose server is known. */
export interface RoutedCall {
  readonly call: Call;
  /** The tool as access rules see it: `name` is its name in the whole hub, whatever the address in use. */
  readonly tool: ViewTool;
  /** The tool is a contract: the driver that serves it is chosen later. */
  readonly isContract: boolean;
  /** True once every check let the call pass. */
  readonly isSent?: () => boolean;
}

export type SendCall = (call: Call) => Promise<JsonObject>;

/** Resolves with the result of `send`, or with another result in its place. */
export type CallCheck = (routed: RoutedCall, send: SendCall) => Promise<JsonObject>;

export class CallChecks {
  #checks: readonly CallCheck[] = [];
  /** Calls that passed, as the checks changed them. A call that is repeated after a login is not checked again. */
  readonly #passed = new WeakMap<Call, Call>();

  get isEmpty(): boolean {
    return this.#checks.length === 0;
  }

  /** Checks run in the order in which they were added. Returns the function that removes the check. */
  add(check: CallCheck): () => void {
    this.#checks = [...this.#checks, check];
    return () => void (this.#checks = this.#checks.filter((one) => one !== check));
  }

  run({ call, ...routed }: RoutedCall, send: SendCall): Promise<JsonObject> {
    const passed = this.#passed.get(call);
    if (passed !== undefined) return send(passed);
    let sent = false;
    const isSent = (): boolean => sent;
    const last: SendCall = (checked) => {
      sent = true;
      this.#passed.set(call, checked);
      return send(checked);
    };
    return this.#checks.reduceRight<SendCall>(
      (next, check) => (checked) => check({ ...routed, call: checked, isSent }, next),
      last,
    )(call);
  }
}
