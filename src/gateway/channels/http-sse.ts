// The HTTP+SSE transport of 2024-11-05: one stream down, messages up by POST.

import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { RPC } from "../../model/index.ts";
import type { Channel, Channels, NotTaken } from "./channels.ts";
import { writeError } from "../common/messages.ts";
import type { Scope } from "../common/view.ts";
import type { Visit } from "../common/types.ts";
import { readBody } from "../http/body.ts";
import { EventWriter } from "../http/event-writer.ts";
import { refuse, sendRpc } from "../http/refusals.ts";
import { basePath } from "../http/routes.ts";
import { sendJson } from "../http/responses.ts";

interface Line {
  readonly channel: Channel;
  readonly writer: EventWriter;
}

export interface SseFrontOptions {
  readonly channels: Channels;
  readonly maxMessageBytes: number;
}

export class SseFront {
  readonly #options: SseFrontOptions;
  readonly #lines = new Map<string, Line>();

  constructor(options: SseFrontOptions) {
    this.#options = options;
  }

  open(response: ServerResponse, visit: Visit, scope: Scope): void {
    const { channels } = this.#options;
    const channel = channels.open(visit, (text) => writer.event(text, undefined, "message"));
    if (channel === undefined) return sendJson(response, 503, TOO_MANY);
    const id = randomUUID();
    const writer = new EventWriter(response);
    this.#lines.set(id, { channel, writer });
    response.on("close", () => {
      this.#lines.delete(id);
      channels.close(channel);
    });
    writer.event(`${basePath(scope)}/messages?sessionId=${id}`, undefined, "endpoint");
  }

  receive(response: ServerResponse, visit: Visit): void {
    const { channels, maxMessageBytes } = this.#options;
    const { principal, offer } = visit;
    const id = new URLSearchParams((response.req.url ?? "").split("?")[1]).get("sessionId") ?? "";
    const channel = this.#lines.get(id)?.channel;
    if (channel?.visit.principal.name !== principal.name || channel.visit.offer !== offer)
      return sendJson(response, 404, NOT_FOUND);
    const check = channels.check();
    readBody(response, { maxBytes: maxMessageBytes, gate: principal.gate, check }, (body) => {
      if ("refusal" in body) return refuse(response, body.refusal);
      const taken = (refused: NotTaken | undefined): void => {
        if (refused === undefined) response.writeHead(202).end("Accepted");
        else if (refused.limit !== undefined) refuse(response, refused.limit);
        else sendRpc(response, 400, refused.code, refused.message);
      };
      channels.receive(channel, body.bytes, body.held, taken, check.weight);
    });
  }

  close(): void {
    for (const { channel, writer } of this.#lines.values()) {
      this.#options.channels.close(channel);
      writer.end();
    }
    this.#lines.clear();
  }
}

const error = (message: string): string => writeError(null, { code: RPC.INVALID_REQUEST, message });
const TOO_MANY = error("There are too many connections; try again later");
const NOT_FOUND = error("There is no such session");
