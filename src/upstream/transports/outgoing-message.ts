// Messages on their way out: written as JSON once, with beside it what a transport must know of them.

import { type JsonObject, META, type RequestId, type RpcErrorObject } from "../../model/index.ts";

export interface Outgoing {
  readonly text: string;
  /** Absent in notifications. */
  readonly id: RequestId | undefined;
  /** Absent in answers. */
  readonly method: string | undefined;
  readonly params: JsonObject | undefined;
  /** The revision that the message itself declares; only modern ones do. */
  readonly revision: string | undefined;
  /** The wire must not send it again by itself. */
  readonly once?: boolean | undefined;
}

export function isRequest(message: Outgoing): boolean {
  return message.id !== undefined && message.method !== undefined;
}

/** The last envelope as JSON. Most clients have one that does not change; remembering more costs more than writing it. */
let lastMeta: JsonObject | undefined;
let lastText = "";

/** The insides of a `_meta` as JSON. A progress token in it is another's, and would stand there twice. */
function metaText(meta: JsonObject): string {
  if (meta === lastMeta) return lastText;
  const { progressToken: _token, ...others } = meta;
  const text = JSON.stringify(others).slice(1, -1);
  // Only an envelope is known not to change; what a caller gave is the caller's.
  if (META.PROTOCOL_VERSION in meta) {
    lastMeta = meta;
    lastText = text;
  }
  return text;
}

/** A request. `meta` takes the place of the `_meta` in the params; the progress token is the id. */
export function writeRequest(
  id: number,
  request: {
    method: string;
    params?: JsonObject | undefined;
    meta?: JsonObject | undefined;
    withProgress?: boolean | undefined;
    repeats?: boolean | undefined;
  },
): Outgoing {
  const { method, meta } = request;
  let { params } = request;
  if (params?._meta !== undefined) {
    const { _meta, ...others } = params;
    params = others;
  }
  const inside = params === undefined ? "" : JSON.stringify(params).slice(1, -1);
  const token = request.withProgress === true ? `"progressToken":${id}` : "";
  const given = meta === undefined ? "" : metaText(meta);
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

export function writeNotification(method: string, params: JsonObject | undefined): Outgoing {
  return {
    text: JSON.stringify({ jsonrpc: "2.0", method, params }),
    id: undefined,
    method,
    params,
    revision: undefined,
  };
}

export function writeAnswer(
  id: RequestId,
  outcome: { result: JsonObject } | { error: RpcErrorObject },
): Outgoing {
  return {
    text: JSON.stringify({ jsonrpc: "2.0", id, ...outcome }),
    id,
    method: undefined,
    params: undefined,
    revision: undefined,
  };
}
