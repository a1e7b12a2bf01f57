// OTLP receiver for tests: takes spans and metrics by HTTP as protobuf, and decodes them with a small reader of its own, so that the
// test does not trust the library that encoded them.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly name: string;
  readonly kind: "internal" | "server" | "client" | "other";
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code: number; readonly message: string };
  readonly startNs: bigint;
  readonly endNs: bigint;
}

export interface ReceivedPoint {
  readonly metric: string;
  readonly unit: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly count: number;
  readonly sum: number;
  readonly bounds: readonly number[];
  readonly buckets: readonly number[];
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  /** The last value of each series. */
  points(): readonly ReceivedPoint[];
  readonly resources: Readonly<Record<string, unknown>>[];
  /** Headers of the requests. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>[];
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const points = new Map<string, ReceivedPoint>();
  const resources: Readonly<Record<string, unknown>>[] = [];
  const headers: OtlpReceiver["headers"] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const isProtobuf = request.headers["content-type"] === "application/x-protobuf";
    headers.push(request.headers);
    for (const group of read(Buffer.concat(chunks)).messages(1)) {
      resources.push(attributesOf(group.message(1), 1));
      for (const scope of group.messages(2))
        for (const item of scope.messages(2)) {
          if (request.url === "/v1/traces") spans.push(toSpan(item));
          else for (const point of toPoints(item)) points.set(keyOf(point), point);
        }
    }
    response.writeHead(isProtobuf ? 200 : 415, { "content-type": "application/x-protobuf" }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    resources,
    headers,
    points: () => [...points.values()],
  };
}

const keyOf = ({ metric, attributes }: ReceivedPoint): string => `${metric} ${JSON.stringify(attributes)}`;

const KINDS: Readonly<Record<number, ReceivedSpan["kind"]>> = { 1: "internal", 2: "server", 3: "client" };

function toSpan(span: Message): ReceivedSpan {
  const status = span.message(15);
  return {
    traceId: span.hex(1),
    spanId: span.hex(2),
    parentId: span.hex(4),
    name: span.text(5),
    kind: KINDS[span.number(6)] ?? "other",
    startNs: span.fixed(7),
    endNs: span.fixed(8),
    attributes: attributesOf(span, 9),
    links: span.messages(13).map((link) => ({ traceId: link.hex(1), spanId: link.hex(2) })),
    status: { code: status.number(3), message: status.text(2) },
  };
}

function toPoints(metric: Message): ReceivedPoint[] {
  return metric
    .message(9)
    .messages(1)
    .map((point) => ({
      metric: metric.text(1),
      unit: metric.text(3),
      attributes: attributesOf(point, 9),
      count: Number(point.fixed(4)),
      sum: point.double(5),
      buckets: point.packed(6).map((bytes) => Number(bytes.readBigUInt64LE())),
      bounds: point.packed(7).map((bytes) => bytes.readDoubleLE()),
    }));
}

function attributesOf(message: Message, field: number): Record<string, unknown> {
  return Object.fromEntries(message.messages(field).map((pair) => [pair.text(1), valueOf(pair.message(2))]));
}

function valueOf(value: Message): unknown {
  if (value.has(1)) return value.text(1);
  if (value.has(2)) return value.number(2) === 1;
  if (value.has(3)) return value.number(3);
  if (value.has(4)) return value.double(4);
  return value.has(5) ? value.message(5).messages(1).map(valueOf) : undefined;
}

/** The fields of a protobuf message, by number. */
class Message {
  readonly #fields: ReadonlyMap<number, (Buffer | bigint)[]>;

  constructor(fields: ReadonlyMap<number, (Buffer | bigint)[]>) {
    this.#fields = fields;
  }

  has(field: number): boolean {
    return this.#fields.has(field);
  }

  messages(field: number): Message[] {
    return this.#all(field).map((bytes) => read(bytes as Buffer));
  }

  message(field: number): Message {
    return this.messages(field)[0] ?? new Message(new Map());
  }

  text(field: number): string {
    return this.#bytes(field).toString("utf8");
  }

  hex(field: number): string {
    return this.#bytes(field).toString("hex");
  }

  number(field: number): number {
    return Number(this.#all(field)[0] ?? 0);
  }

  fixed(field: number): bigint {
    return this.has(field) ? this.#bytes(field).readBigUInt64LE() : 0n;
  }

  double(field: number): number {
    return this.has(field) ? this.#bytes(field).readDoubleLE() : 0;
  }

  /** A repeated field of eight bytes each, packed or not. */
  packed(field: number): Buffer[] {
    return this.#all(field).flatMap((value) => {
      const bytes = value as Buffer;
      return Array.from({ length: bytes.length / 8 }, (_, at) => bytes.subarray(at * 8, at * 8 + 8));
    });
  }

  #all(field: number): (Buffer | bigint)[] {
    return this.#fields.get(field) ?? [];
  }

  #bytes(field: number): Buffer {
    return (this.#all(field)[0] as Buffer | undefined) ?? Buffer.alloc(0);
  }
}

function read(bytes: Buffer): Message {
  const fields = new Map<number, (Buffer | bigint)[]>();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("the message ends inside of a number");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) throw new Error("the message ends inside of a field");
    return bytes.subarray(at, (at += length));
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const field = tag >> 3;
    const type = tag & 7;
    let value: Buffer | bigint;
    if (type === 0) value = varint();
    else if (type === 1) value = take(8);
    else if (type === 2) value = take(Number(varint()));
    else if (type === 5) value = take(4);
    else throw new Error(`field ${field} has the unknown type ${type}`);
    const values = fields.get(field) ?? [];
    fields.set(field, values);
    values.push(value);
  }
  return new Message(fields);
}
