// The clients that have a channel of their own (WebSocket, HTTP+SSE): how many there may be, what they may send, how they end.

import { isRpcMessage, RPC, type RequestId, type RpcMessage } from "../../model/index.ts";
import type { Refusal } from "../access/access-control.ts";
import { Duplex, type DuplexOptions } from "./duplex.ts";
import { type Intake, MAX_BATCH, type MessageCheck, type Parsed } from "../common/intake.ts";
import type { Visit } from "../common/types.ts";

export interface ChannelsOptions extends Pick<DuplexOptions, "modern" | "legacy"> {
  readonly max: number;
  readonly intake: Intake;
}

export interface Channel {
  readonly visit: Visit;
  readonly duplex: Duplex;
}

/** Why messages were not taken, for the client. */
export interface NotTaken {
  readonly code: number;
  readonly message: string;
  /** The limit of the caller that it would pass. */
  readonly limit?: Refusal | undefined;
}

export class Channels {
  readonly #options: ChannelsOptions;
  readonly #open = new Set<Channel>();
  #stopping = false;

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  /** Nothing when there are too many already. No caller may have more than half of them. */
  open(visit: Visit, write: (text: string) => void): Channel | undefined {
    const { modern, legacy, max } = this.#options;
    const { name, gate } = visit.principal;
    const own = [...this.#open].filter((channel) => channel.visit.principal.name === name).length;
    if (this.#stopping || this.#open.size >= max || own >= Math.ceil(max / 2)) return undefined;
    const duplex = new Duplex({
      modern,
      legacy,
      visit,
      write,
      enter: () => (this.#stopping ? STOPPING : gate.enter()?.error),
      leave: () => gate.leave(),
    });
    const channel = { visit, duplex };
    this.#open.add(channel);
    return channel;
  }

  /** For a message that arrives in parts. */
  check(): MessageCheck {
    return this.#options.intake.check();
  }

  /**
   * Takes one message, or a batch as 2025-03-26 allowed, that was counted before: what more a batch holds is counted here. `held` is
   * what the caller's gate holds for it. Says once whether it was taken, before anything is done for it.
   */
  receive(
    { visit, duplex }: Channel,
    bytes: Buffer,
    held: number,
    taken: (refused: NotTaken | undefined) => void,
    weight?: number,
  ): void {
    const { name, gate } = visit.principal;
    const parsed = (message: Parsed): void => {
      const messages = "problem" in message ? message.problem : toMessages(message.value);
      const refused = "code" in messages ? messages : toNotTaken(gate.count(messages.length - 1));
      taken(refused);
      if (refused !== undefined || "code" in messages) return gate.release(held);
      let left = messages.length;
      for (const one of messages)
        duplex.receive(one, () => {
          left -= 1;
          if (left === 0) gate.release(held);
        });
    };
    this.#options.intake.parse(name, bytes, parsed, weight);
  }

  close(channel: Channel): void {
    this.#open.delete(channel);
    channel.duplex.close();
  }

  /** No more requests are taken. Resolves when those under way are answered. */
  async drain(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#open].map(({ duplex }) => duplex.idle()));
  }
}

const STOPPING = { message: "The gateway is stopping" };

function toMessages(value: unknown): RpcMessage[] | NotTaken {
  const messages = Array.isArray(value) ? (value as unknown[]) : [value];
  if (messages.length > 0 && messages.length <= MAX_BATCH && messages.every(isRpcMessage)) return messages;
  return { code: RPC.INVALID_REQUEST, message: "That is not a JSON-RPC message" };
}

export function toNotTaken(limit: Refusal | undefined): NotTaken | undefined {
  return limit && { code: RPC.INTERNAL, message: limit.error.message, limit };
}

/** The id of a request of which only the first and last bytes are read: it stands at the front or at the end. */
export function idAtEdges(bytes: Buffer): RequestId | null {
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
