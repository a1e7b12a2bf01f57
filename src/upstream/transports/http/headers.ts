// Protocol headers of HTTP messages: session, revision, method and name.

import { HEADER, type Era } from "../../../model/index.ts";
import type { OutgoingMessage } from "../outgoing-message.ts";

/** Values that may be sent as they are. */
const PLAIN = /^[\x21-\x7E](?:[\x20-\x7E\t]*[\x21-\x7E])?$/;
/** The Base64 form itself, which must be encoded again. */
const SENTINEL = /^=\?base64\?.*\?=$/s;
/** Requests whose name or URI is also sent as a header. */
const NAMED = /^(?:tools\/call|prompts\/get|resources\/read|tasks\/.+)$/;

export class ProtocolHeaders {
  era: Era | undefined;
  revision: string | undefined;
  /** The session id that a legacy server gave. */
  session: string | undefined;

  of({ method, params, revision }: OutgoingMessage): Record<string, string> {
    if (revision === undefined || method === undefined) return this.ofSession();
    const headers: Record<string, string> = { [HEADER.PROTOCOL_VERSION]: revision, [HEADER.METHOD]: method };
    const name = NAMED.test(method) ? (params?.name ?? params?.uri ?? params?.taskId) : undefined;
    if (typeof name === "string") headers[HEADER.NAME] = headerValue(name);
    return headers;
  }

  /** Headers of a message that belongs to the legacy session. */
  ofSession(): Record<string, string> {
    return {
      ...(this.session === undefined ? {} : { [HEADER.SESSION_ID]: this.session }),
      ...(this.revision === undefined ? {} : { [HEADER.PROTOCOL_VERSION]: this.revision }),
    };
  }
}

/** A string as a header value: unchanged when that is safe, else in the Base64 form of the specification. */
export function headerValue(value: string): string {
  if ((PLAIN.test(value) && !SENTINEL.test(value)) || value === "") return value;
  return `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}
