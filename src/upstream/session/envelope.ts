// Envelope: the `_meta` of every modern request, with client, revision, capabilities and log level.

import { type JsonObject, type LogLevel, META } from "../../model/index.ts";
import type { Caller } from "../upstream.ts";

export function envelope(caller: Caller, revision: string): JsonObject {
  return {
    [META.PROTOCOL_VERSION]: revision,
    [META.CLIENT_INFO]: caller.clientInfo,
    [META.CLIENT_CAPABILITIES]: caller.capabilities,
    [META.LOG_LEVEL]: caller.logLevel,
  };
}

/** The envelopes of one connection. An envelope stays the same object until it changes, so that its JSON can be cached. */
export class Envelopes {
  readonly #own: Caller;
  #logLevel: LogLevel | undefined;
  #ownEnvelope: JsonObject | undefined;
  /** The last other caller, which often calls again. */
  #lastCaller: Caller | undefined;
  #last: JsonObject | undefined;

  /** `own` is the caller of almost every request. */
  constructor(own: Caller) {
    this.#own = own;
    this.#logLevel = own.logLevel;
  }

  /** Sets the log level that the connection's own caller requests. */
  setLogLevel(level: LogLevel): void {
    this.#logLevel = level;
    this.#ownEnvelope = undefined;
  }

  of(caller: Caller = this.#own, revision: string): JsonObject {
    if (caller === this.#own) {
      this.#ownEnvelope ??= envelope({ ...caller, logLevel: this.#logLevel }, revision);
      return this.#ownEnvelope;
    }
    if (caller !== this.#lastCaller || this.#last === undefined) {
      this.#lastCaller = caller;
      this.#last = envelope(caller, revision);
    }
    return this.#last;
  }
}
