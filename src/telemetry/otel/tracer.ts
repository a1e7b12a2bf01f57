// Spans of calls: SERVER spans for requests of clients, CLIENT spans for requests to servers, and the dispatch of the hub between them.

import {
  type Context,
  context as contexts,
  defaultTextMapGetter,
  defaultTextMapSetter,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  trace,
  type Tracer,
} from "@opentelemetry/api";
import { isObject, type JsonObject } from "../../model/index.ts";
import {
  type Attributes,
  clientAttributes,
  clientErrorType,
  methodName,
  serverAttributes,
  serverErrorType,
  spanName,
  targetAttributes,
  transportAttributes,
  withoutUndefined,
} from "../attributes.ts";
import type { CallTracer, PhaseStart, RequestStart, TracedCall, TracedPhase } from "../observers.ts";
import type { CallRecord, Phase } from "../record.ts";

export interface TracerOptions {
  readonly tracer: Tracer;
  readonly propagator: TextMapPropagator;
  /** Put the arguments and results of tool calls, and the variables of prompts, on spans. */
  readonly arguments: boolean;
  readonly results: boolean;
  /** Removes secrets. */
  readonly redact: <T>(value: T) => T;
}

export function createCallTracer(options: TracerOptions): CallTracer {
  return { begin: (start, id) => new SpanOfCall(start, id, options) };
}

const MAX_VALUE_CHARS = 16 * 1024;
const MAX_NAME_CHARS = 500;
const MAX_CONTEXT_CHARS = 8 * 1024;
const MAX_VARIABLES = 50;
const CONTEXT_KEYS = ["traceparent", "tracestate", "baggage"] as const;

class SpanOfCall implements TracedCall {
  readonly #options: TracerOptions;
  readonly #start: RequestStart;
  readonly #span: Span;
  readonly #context: Context;
  /** One clock for all spans of a call, so that the inner ones never end after the outer ones. */
  readonly #clock = Date.now() - performance.now();
  /** The context of the hub, once it dispatches the call. */
  #inner: Context;

  constructor(start: RequestStart, id: string, options: TracerOptions) {
    const { tracer, propagator } = options;
    const parent = propagator.extract(ROOT_CONTEXT, carrierOf(start.params), defaultTextMapGetter);
    this.#options = options;
    this.#start = start;
    this.#span = tracer.startSpan(
      spanName(start.method, targetOf(start)),
      {
        kind: SpanKind.SERVER,
        startTime: this.#now(),
        attributes: attributesOf(start, id),
        links: linksOf(start, parent, propagator),
      },
      parent,
    );
    this.#context = trace.setSpan(parent, this.#span);
    this.#inner = this.#context;
  }

  get ids(): TracedCall["ids"] {
    const { traceId, spanId } = this.#span.spanContext();
    return this.#span.isRecording() ? { traceId, spanId } : undefined;
  }

  begin(start: PhaseStart): TracedPhase {
    const { tracer, propagator } = this.#options;
    if (start.name === "hub") {
      const options = { kind: SpanKind.INTERNAL, startTime: this.#now() };
      const span = tracer.startSpan(`hub ${methodName(start.method)}`, options, this.#context);
      this.#inner = trace.setSpan(this.#context, span);
      return { meta: undefined, end: (phase) => endHub(span, phase, this.#now()) };
    }
    const name = spanName(start.method, start.target);
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, startTime: this.#now() }, this.#inner);
    const meta: Record<string, string> = {};
    propagator.inject(trace.setSpan(this.#inner, span), meta, defaultTextMapSetter);
    return { meta, end: (phase) => endClient(span, phase, this.#now()) };
  }

  end(record: CallRecord, result: JsonObject | undefined): void {
    const span = this.#span;
    if (span.isRecording()) {
      // A client can send any name; only names that a server has are good names for spans.
      if (record.server === undefined) span.updateName(methodName(record.method));
      span.setAttributes({
        ...serverAttributes(record),
        ...withoutUndefined({ "portolan.server": record.server, "portolan.driver": record.driver }),
        ...this.#values(record, result),
      });
      setStatus(span, serverErrorType(record), record.reason);
    }
    span.end(this.#now());
  }

  #now(): number {
    return this.#clock + performance.now();
  }

  /** Arguments and results, if the settings ask for them. */
  #values({ method, outcome }: CallRecord, result: JsonObject | undefined): Attributes {
    const { redact, arguments: wantsArguments, results } = this.#options;
    const args = this.#start.params?.arguments;
    const attributes: Attributes = {};
    if (wantsArguments && method === "tools/call")
      attributes["gen_ai.tool.call.arguments"] = textOf(redact(args ?? {}));
    if (wantsArguments && method === "prompts/get" && isObject(args))
      for (const [name, value] of Object.entries(args).slice(0, MAX_VARIABLES))
        attributes[`gen_ai.prompt.variable.${name}`] = textOf(redact(value));
    if (results && method === "tools/call" && outcome === "ok" && result !== undefined)
      attributes["gen_ai.tool.call.result"] = textOf(redact(result));
    return attributes;
  }
}

function endHub(span: Span, phase: Phase, now: number): void {
  span.setAttributes(withoutUndefined({ "portolan.server": phase.server, "portolan.tool": phase.target }));
  setStatus(span, clientErrorType(phase), phase.reason);
  span.end(now);
}

function endClient(span: Span, phase: Phase, now: number): void {
  if (span.isRecording()) {
    span.setAttributes({
      ...clientAttributes(phase),
      ...withoutUndefined({
        "jsonrpc.request.id": phase.requestId === undefined ? undefined : String(phase.requestId),
        "mcp.resource.uri": phase.method.startsWith("resources/") ? phase.target : undefined,
        "portolan.driver": phase.driver,
      }),
    });
    setStatus(span, clientErrorType(phase), phase.reason);
  }
  span.end(now);
}

function setStatus(span: Span, errorType: string | undefined, message: string | undefined): void {
  if (errorType !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message });
}

/** The attributes that are known at the start, so that a sampler can use them. */
function attributesOf(start: RequestStart, id: string): Attributes {
  const { method, params, requestId, revision, httpVersion, address, port, caller } = start;
  const uri = method.startsWith("resources/") ? params?.uri : undefined;
  return withoutUndefined({
    "mcp.method.name": methodName(method),
    ...targetAttributes(method, targetOf(start)),
    "jsonrpc.request.id": String(requestId),
    "mcp.resource.uri": typeof uri === "string" ? uri.slice(0, MAX_VALUE_CHARS) : undefined,
    "mcp.protocol.version": revision,
    ...transportAttributes(start.transport),
    "network.protocol.version": httpVersion,
    "client.address": address,
    "client.port": port,
    "portolan.caller": caller,
    "portolan.call.id": id,
  });
}

function targetOf({ method, params }: RequestStart): string | undefined {
  const hasName = method === "tools/call" || method === "prompts/get";
  return hasName && typeof params?.name === "string" ? params.name.slice(0, MAX_NAME_CHARS) : undefined;
}

/** The parent of a span is in the message. The context of the transport around it is only linked. */
function linksOf({ ambient }: RequestStart, parent: Context, propagator: TextMapPropagator): Link[] {
  const around =
    trace.getSpanContext(contexts.active()) ??
    (ambient && trace.getSpanContext(propagator.extract(ROOT_CONTEXT, ambient, defaultTextMapGetter)));
  if (around === undefined || around.spanId === trace.getSpanContext(parent)?.spanId) return [];
  return [{ context: around }];
}

function carrierOf(params: JsonObject | undefined): Record<string, string> {
  const carrier: Record<string, string> = {};
  const meta = params?._meta;
  if (!isObject(meta)) return carrier;
  for (const key of CONTEXT_KEYS) {
    const value = meta[key];
    if (typeof value === "string" && value.length <= MAX_CONTEXT_CHARS) carrier[key] = value;
  }
  return carrier;
}

function textOf(value: unknown): string {
  try {
    return (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, MAX_VALUE_CHARS);
  } catch {
    return "";
  }
}
