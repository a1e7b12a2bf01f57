// The headers by which a server knows a message: what was negotiated, and what the message is about.

import type { Era } from "../../../model/index.ts";
import type { Outgoing } from "../outgoing-message.ts";
import { headerValue } from "../../session/param-headers.ts";

/** Requests whose name or URI is also a header. */
const NAMED = /^(?:tools\/call|prompts\/get|resources\/read|tasks\/.+)$/;

export class ProtocolHeaders {
  era: Era | undefined;
  revision: string | undefined;
  /** As a legacy server calls it. */
  session: string | undefined;

  of({ method, params, revision }: Outgoing): Record<string, string> {
    if (revision === undefined || method === undefined) return this.ofSession();
    const headers: Record<string, string> = { "mcp-protocol-version": revision, "mcp-method": method };
    const name = NAMED.test(method) ? (params?.name ?? params?.uri ?? params?.taskId) : undefined;
    if (typeof name === "string") headers["mcp-name"] = headerValue(name);
    return headers;
  }

  /** Of what is about the legacy session itself. */
  ofSession(): Record<string, string> {
    return {
      ...(this.session === undefined ? {} : { "mcp-session-id": this.session }),
      ...(this.revision === undefined ? {} : { "mcp-protocol-version": this.revision }),
    };
  }
}
