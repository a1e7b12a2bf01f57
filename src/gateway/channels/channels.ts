// Channels: the clients with a two-way channel (WebSocket, HTTP+SSE), their number, and the intake of their messages.

import { isRpcMessage, RPC, type RequestId, type RpcMessage } from "../../model/index.ts";
import type { Refusal } from "../access/types.ts";
import { Duplex, type DuplexOptions } from "./duplex.ts";
import { type Intake, MAX_BATCH, type MessageCheck, type Parsed } from "../common/intake.ts";
import type { RequestContext } from "../common/types.ts";

export interface ChannelsOptions extends Pick<DuplexOptions, "modern" | "legacy"> {
  readonly max: number;
  readonly intake: Intake;
}

export interface Channel {
  readonly context: RequestContext;
  readonly duplex: Duplex;
}

/** The reason for refusing a message. */
export interface Rejection {
  readonly code: number;
  readonly message: string;
  /** The refusal of a limit of the caller. */
  readonly limit?: Refusal;
}

export class Channels {
  readonly #options: ChannelsOptions;
  readonly #open = new Set<Channel>();
  #stopping = false;

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  /** Undefined when there are too many channels. One caller may have at most half of them. */
  open(context: RequestContext, write: (text: string) => void): Channel | undefined {
    const { modern, legacy, max } = this.#options;
    const { name, limits } = context.caller;
    const own = [...this.#open].filter((channel) => channel.context.caller.name === name).length;
    if (this.#stopping || this.#open.size >= max || own >= Math.ceil(max / 2)) return undefined;
    const duplex = new Duplex({
      modern,
      legacy,
      context,
      write,
      startRequest: () => (this.#stopping ? STOPPING : limits.startRequests()?.error),
      endRequest: () => limits.endRequests(),
    });
    const channel = { context, duplex };
    this.#open.add(channel);
    return channel;
  }

  /** Check of a message that arrives in parts. */
  check(): MessageCheck {
    return this.#options.intake.check();
  }

  /**
   * Handles one message, or a batch, which only revision 2025-03-26 allows. The caller of this method has counted one message; the
   * others of a batch are counted here. `reserved` bytes are released when the message is handled. `accepted` is called once,
   * before the message is handled, with the reason if it is refused.
   */
  receive(
    { context, duplex }: Channel,
    bytes: Buffer,
    reserved: number,
    accepted: (rejection: Rejection | undefined) => void,
    weight?: number,
  ): void {
    const { name, limits } = context.caller;
    const parsed = (message: Parsed): void => {
      const messages = "error" in message ? message.error : toMessages(message.value);
      const rejection =
        "code" in messages ? messages : toRejection(limits.countMessages(messages.length - 1));
      accepted(rejection);
      if (rejection !== undefined || "code" in messages) return limits.releaseBytes(reserved);
      let left = messages.length;
      for (const one of messages)
        duplex.receive(one, () => {
          left -= 1;
          if (left === 0) limits.releaseBytes(reserved);
        });
    };
    this.#options.intake.parse(name, bytes, parsed, weight);
  }

  close(channel: Channel): void {
    this.#open.delete(channel);
    channel.duplex.close();
  }

  /** Refuses new requests. Resolves when the running ones have their response. */
  async drain(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#open].map(({ duplex }) => duplex.idle()));
  }
}

const STOPPING = { message: "The gateway is stopping" };

function toMessages(value: unknown): RpcMessage[] | Rejection {
  const messages = Array.isArray(value) ? (value as unknown[]) : [value];
  if (messages.length > 0 && messages.length <= MAX_BATCH && messages.every(isRpcMessage)) return messages;
  return {
    code: RPC.INVALID_REQUEST,
    message: `The message is not JSON-RPC, or it is a batch of more than ${MAX_BATCH} messages`,
  };
}

export function toRejection(limit: Refusal | undefined): Rejection | undefined {
  return limit && { code: RPC.INTERNAL, message: limit.error.message, limit };
}

/** Finds the id of a request in its first and last bytes, without parsing it. */
export function findRequestId(bytes: Buffer): RequestId | null {
  const head = bytes.toString("latin1", 0, EDGE_BYTES);
  const tail = bytes.toString("latin1", Math.max(0, bytes.length - EDGE_BYTES));
  const [, id] = ID_AT_FRONT.exec(head) ?? ID_AT_END.exec(tail) ?? [];
  return id === undefined ? null : (JSON.parse(id) as RequestId);
}

const EDGE_BYTES = 256;
const ID = String.raw`"id"\s{0,9}:\s{0,9}(\d{1,15}|"[\w.-]{1,100}")\s{0,9}`;
const VERSION = String.raw`"jsonrpc"\s{0,9}:\s{0,9}"2\.0"\s{0,9}`;
const ID_AT_FRONT = new RegExp(String.raw`^\s{0,9}\{\s{0,9}(?:${VERSION},\s{0,9})?${ID}[,}]`);
const ID_AT_END = new RegExp(String.raw`,\s{0,9}${ID}(?:,\s{0,9}${VERSION})?\}\s{0,9}$`);
