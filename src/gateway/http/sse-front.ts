// The HTTP+SSE transport of 2024-11-05: one stream down, messages up by POST.

import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isRpcMessage, parseMessages, RPC } from "../../model/index.ts";
import type { Channels } from "../channels.ts";
import type { Duplex } from "../duplex.ts";
import { writeError } from "../messages.ts";
import type { Scope } from "../offer.ts";
import type { Visit } from "../types.ts";
import { readBody } from "./body.ts";
import { EventWriter } from "./event-writer.ts";
import { sendJson } from "./http-reply.ts";
import { basePath } from "./routes.ts";

interface Line {
  readonly visit: Visit;
  readonly duplex: Duplex;
  readonly writer: EventWriter;
}

export class SseFront {
  readonly #channels: Channels;
  readonly #lines = new Map<string, Line>();

  constructor(channels: Channels) {
    this.#channels = channels;
  }

  open(response: ServerResponse, visit: Visit, scope: Scope): void {
    const duplex = this.#channels.open(visit, (text) => writer.event(text, undefined, "message"));
    if (duplex === undefined) return sendJson(response, 503, TOO_MANY);
    const id = randomUUID();
    const writer = new EventWriter(response);
    this.#lines.set(id, { visit, duplex, writer });
    response.on("close", () => {
      this.#lines.delete(id);
      this.#channels.close(duplex);
    });
    writer.event(`${basePath(scope)}/messages?sessionId=${id}`, undefined, "endpoint");
  }

  receive(request: IncomingMessage, response: ServerResponse, visit: Visit, maxBytes: number): void {
    const id = new URLSearchParams((request.url ?? "").split("?")[1]).get("sessionId") ?? "";
    const line = this.#lines.get(id);
    if (
      line === undefined ||
      line.visit.principal.name !== visit.principal.name ||
      line.visit.offer !== visit.offer
    ) {
      request.resume();
      return sendJson(response, 404, NOT_FOUND);
    }
    readBody(request, maxBytes, (body) => {
      if ("tooLarge" in body) return void response.writeHead(413, { connection: "close" }).end();
      const messages = parseMessages(body.text);
      if (!messages.every(isRpcMessage)) return sendJson(response, 400, NOT_RPC);
      response.writeHead(202).end("Accepted");
      for (const message of messages) line.duplex.receive(message);
    });
  }

  close(): void {
    for (const { duplex, writer } of this.#lines.values()) {
      this.#channels.close(duplex);
      writer.end();
    }
    this.#lines.clear();
  }
}

const error = (message: string): string => writeError(null, { code: RPC.INVALID_REQUEST, message });
const TOO_MANY = error("There are too many connections; try again later");
const NOT_FOUND = error("There is no such session");
const NOT_RPC = error("The body is not a JSON-RPC message");
