// The metadata that every modern request carries: who asks, in which revision. Written out once for who asks again and again.

import { type JsonObject, type LogLevel, META } from "../../model/index.ts";
import type { Caller } from "../upstream.ts";

export function envelope(caller: Caller, revision: string): JsonObject {
  return {
    [META.PROTOCOL_VERSION]: revision,
    [META.CLIENT_INFO]: caller.clientInfo,
    [META.CLIENT_CAPABILITIES]: caller.capabilities,
    ...(caller.logLevel === undefined ? {} : { [META.LOG_LEVEL]: caller.logLevel }),
  };
}

/** The envelopes of one connection. The same object until something changes: what it looks like as JSON is remembered by that. */
export class Envelopes {
  readonly #own: Caller;
  #logLevel: LogLevel | undefined;
  #standing: JsonObject | undefined;
  /** Somebody else's, as last used: who calls once often calls again. */
  #lastCaller: Caller | undefined;
  #last: JsonObject | undefined;

  /** `own` is whom almost every request is made for. */
  constructor(own: Caller) {
    this.#own = own;
    this.#logLevel = own.logLevel;
  }

  /** The level that the connection's own caller asks for from now on. */
  setLogLevel(level: LogLevel): void {
    this.#logLevel = level;
    this.#standing = undefined;
  }

  of(caller: Caller = this.#own, revision: string): JsonObject {
    if (caller === this.#own) {
      this.#standing ??= envelope({ ...caller, logLevel: this.#logLevel }, revision);
      return this.#standing;
    }
    if (caller !== this.#lastCaller || this.#last === undefined) {
      this.#lastCaller = caller;
      this.#last = envelope(caller, revision);
    }
    return this.#last;
  }
}
