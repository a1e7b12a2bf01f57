// Outgoing JSON-RPC messages: serialised once, together with the fields that a transport needs.

import { LONG_CHARS, writeFields } from "../../base/text/write-json.ts";
import { isObject, type JsonObject, META, type RequestId, type RpcErrorObject } from "../../model/index.ts";

export interface OutgoingMessage {
  readonly text: string;
  /** Absent in notifications. */
  readonly id: RequestId | undefined;
  /** Absent in responses. */
  readonly method: string | undefined;
  readonly params: JsonObject | undefined;
  /** The protocol revision in the message's `_meta`; only modern requests have one. */
  readonly revision: string | undefined;
  /** True when the transport must not repeat the message by itself. */
  readonly once?: boolean;
}

export function isRequest(message: OutgoingMessage): boolean {
  return message.id !== undefined && message.method !== undefined;
}

/** Serialises the requests of one connection. It remembers the last envelope as JSON, because most clients send the same one. */
export class RequestWriter {
  #lastMeta: JsonObject | undefined;
  #lastText = "";

  /** `meta` replaces the `_meta` in the params; the progress token is the id. */
  write(
    id: number,
    request: {
      method: string;
      params?: JsonObject;
      meta?: JsonObject;
      withProgress?: boolean;
      repeats?: boolean;
    },
  ): OutgoingMessage {
    const { method, meta } = request;
    let { params } = request;
    if (params?._meta !== undefined) {
      const { _meta, ...others } = params;
      params = others;
    }
    const inside = params === undefined ? "" : fieldsText(params);
    const token = request.withProgress === true ? `"progressToken":${id}` : "";
    const given = meta === undefined ? "" : this.#metaText(meta);
    const envelope = given === "" || token === "" ? given + token : `${given},${token}`;
    const tail = envelope === "" ? "" : `${inside === "" ? "" : ","}"_meta":{${envelope}}`;
    return {
      text: `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":{${inside}${tail}}}`,
      id,
      method,
      params,
      revision: meta?.[META.PROTOCOL_VERSION] as string | undefined,
      once: request.repeats === false,
    };
  }

  /** The fields of a `_meta` as JSON, without the progress token of the caller, which is replaced. */
  #metaText(meta: JsonObject): string {
    if (meta === this.#lastMeta) return this.#lastText;
    const { progressToken: _token, ...others } = meta;
    const text = JSON.stringify(others).slice(1, -1);
    // Only an envelope is known not to change; the `_meta` of a caller may change.
    if (META.PROTOCOL_VERSION in meta) {
      this.#lastMeta = meta;
      this.#lastText = text;
    }
    return text;
  }
}

/** The fields of `params` as JSON. Tools that store files get long strings. */
function fieldsText(params: JsonObject): string {
  const args = params.arguments;
  if (isObject(args))
    for (const name in args) {
      const value = args[name];
      if (typeof value === "string" && value.length >= LONG_CHARS) return writeFields(params);
    }
  return JSON.stringify(params).slice(1, -1);
}

export function writeNotification(method: string, params: JsonObject | undefined): OutgoingMessage {
  return {
    text: JSON.stringify({ jsonrpc: "2.0", method, params }),
    id: undefined,
    method,
    params,
    revision: undefined,
  };
}

export function writeResponse(
  id: RequestId,
  outcome: { result: JsonObject } | { error: RpcErrorObject },
): OutgoingMessage {
  return {
    text: JSON.stringify({ jsonrpc: "2.0", id, ...outcome }),
    id,
    method: undefined,
    params: undefined,
    revision: undefined,
  };
}
