// Observation of a request to a server: what is known about it, and the trace context that it carries.

import { parseUrl, portOf } from "../../base/net/urls.ts";
import type { JsonObject, ServerDefinition } from "../../model/index.ts";
import type { PhaseStart } from "../../telemetry/index.ts";
import type { Description } from "../upstream.ts";

/** The host and port of a server behind a URL. */
export function addressOf({ endpoint }: ServerDefinition): Pick<PhaseStart, "address" | "port"> {
  const url = "url" in endpoint && typeof endpoint.url === "string" ? parseUrl(endpoint.url) : undefined;
  return { address: url?.hostname, port: url && portOf(url) };
}

export function describeUpstream(
  { era, revision, transport }: Description,
  { address, port }: ReturnType<typeof addressOf>,
  method: string,
  params: JsonObject | undefined,
): PhaseStart {
  const target = params?.name ?? params?.uri;
  return {
    name: "upstream",
    method,
    target: typeof target === "string" ? target : undefined,
    transport,
    era,
    revision,
    address,
    port,
  };
}

/** Our own span is the parent of the server's, so that it replaces the context that the client sent. */
export function withTrace(
  meta: JsonObject | undefined,
  trace: Readonly<Record<string, string>> | undefined,
): JsonObject | undefined {
  if (trace?.traceparent === undefined) return meta;
  const { traceparent: _parent, tracestate: _state, baggage: _baggage, ...others } = meta ?? {};
  return { ...others, ...trace };
}
