// Calls of one member: they wait for a start and for the check of pins, are measured, and move to a newer generation if this one did
// not send them.

import { PortolanError, toPortolanError } from "../../errors/index.ts";
import type { JsonObject } from "../../model/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { Call } from "../../upstream/index.ts";
import type { Processes } from "../processes/processes.ts";
import type { LastError } from "./last-error.ts";
import type { MemberPins } from "./member-pins.ts";
import type { CallRedactor } from "./redact-call.ts";

export interface MemberCallsOptions {
  readonly alias: string;
  readonly redactor: Redactor;
  readonly callRedactor: CallRedactor;
  readonly lastError: LastError;
  readonly processes: () => Processes;
  readonly pins: () => MemberPins;
  /** The error of a member that is stopped or disabled; undefined while it takes calls. */
  readonly refusal: () => PortolanError | undefined;
  /** The message of calls that were running when the member was stopped. */
  readonly stopReason: () => string | undefined;
  readonly timeoutOf: (call: Pick<Call, "timeoutMs">) => number;
  /** Names the secrets that a start waits for. */
  readonly explainStart: (thrown: unknown) => PortolanError;
}

export class MemberCalls {
  /** Moving average of response times. */
  latencyMs: number | undefined;
  /** The error of the last probe; undefined after an answer of the server. */
  probeError: PortolanError | undefined;
  /** The calls of the generation that took over. */
  successor: MemberCalls | undefined;
  readonly #options: MemberCallsOptions;
  #inFlight = 0;

  constructor(options: MemberCallsOptions) {
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#inFlight > 0;
  }

  /** Not async, because every call passes here and usually waits for its server only. */
  request(call: Call): Promise<JsonObject> {
    const { processes, pins } = this.#options;
    const isReady =
      processes().main.live !== undefined && this.successor === undefined && !pins().isUnchecked;
    return isReady ? this.#send(call) : this.#requestLater(call);
  }

  /** Asks the server whether it answers. Rejects if it does not. */
  async probe(): Promise<void> {
    const sentAt = performance.now();
    try {
      await this.#options.processes().main.probe();
      this.#answered(performance.now() - sentAt);
    } catch (thrown) {
      this.probeError = this.#options.lastError.note(thrown);
      throw this.probeError;
    }
  }

  /** A changed tool must not be called by a request that was made for the approved one. */
  async checkPins(call: Call): Promise<void> {
    const pins = this.#options.pins();
    if (pins.isUnchecked && call.method === "tools/call")
      await pins.check(call, this.#options.timeoutOf(call));
  }

  async #requestLater(call: Call): Promise<JsonObject> {
    if (this.successor !== undefined) return this.successor.request(call);
    const { alias, processes, refusal, explainStart } = this.#options;
    const refused = refusal();
    if (refused !== undefined) throw refused;
    try {
      await processes().main.ready(call);
    } catch (thrown) {
      return this.#passOn(toPortolanError(explainStart(thrown), { server: alias }), call);
    }
    await this.checkPins(call);
    return this.#send(call);
  }

  #send(call: Call): Promise<JsonObject> {
    const { redactor, callRedactor, lastError, processes } = this.#options;
    const sentAt = performance.now();
    this.#inFlight += 1;
    return processes()
      .request(callRedactor.call(call))
      .then(
        (result) => {
          // A notification stream lasts as long as its client listens, so it is not measured.
          if (call.method !== "subscriptions/listen") this.#answered(performance.now() - sentAt);
          this.#ended();
          return redactor.redactValue(result);
        },
        (thrown: unknown) => {
          this.#ended();
          return this.#passOn(lastError.note(thrown), call);
        },
      );
  }

  #answered(ms: number): void {
    this.probeError = undefined;
    this.latencyMs = this.latencyMs === undefined ? ms : this.latencyMs * 0.8 + ms * 0.2;
  }

  #ended(): void {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) this.#options.processes().main.otherCallEnded();
  }

  /** A call that this generation did not send goes to the next one. */
  #passOn(error: PortolanError, call: Call): Promise<JsonObject> {
    const isUnsent = error.code === "CONNECTION_CLOSED" && error.data.neverRan === true;
    if (isUnsent && this.successor !== undefined) return this.successor.request(call);
    const reason = this.#options.stopReason();
    if (reason === undefined || error.code !== "CONNECTION_CLOSED")
      return Promise.reject((isUnsent ? this.#options.refusal() : undefined) ?? error);
    const { server, tool, data } = error;
    return Promise.reject(
      new PortolanError("CONNECTION_CLOSED", reason, { server, tool, data, cause: error }),
    );
  }
}
