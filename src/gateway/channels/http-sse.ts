// HTTP+SSE transport of revision 2024-11-05: one event stream to the client, and a POST request per message from it.

import { randomUUID } from "node:crypto";
import type { AuthenticatedCaller } from "../access/types.ts";
import { RPC } from "../../model/index.ts";
import type { Channel, Channels, Rejection } from "./channels.ts";
import { writeError } from "../common/messages.ts";
import type { Scope } from "../common/view.ts";
import type { RequestContext } from "../common/types.ts";
import { readBody } from "../http/body.ts";
import { EventWriter } from "../http/event-writer.ts";
import { basePath } from "../http/routes.ts";
import { type HttpResponse, refuse, sendJson, sendRpcError } from "../http/responses.ts";

interface OpenStream {
  readonly channel: Channel;
  readonly writer: EventWriter;
}

export interface HttpSseFrontOptions {
  readonly channels: Channels;
  readonly maxMessageBytes: number;
  /** The path before the routes of the gateway, such as `/tools`. */
  readonly path: string;
}

export class HttpSseFront {
  readonly #options: HttpSseFrontOptions;
  readonly #streams = new Map<string, OpenStream>();

  constructor(options: HttpSseFrontOptions) {
    this.#options = options;
  }

  open(response: HttpResponse, context: RequestContext, scope: Scope): void {
    const { channels } = this.#options;
    const channel = channels.open(context, (text) => writer.event(text, undefined, "message"));
    if (channel === undefined) return sendJson(response, 503, TOO_MANY);
    const id = randomUUID();
    const writer = new EventWriter(response);
    this.#streams.set(id, { channel, writer });
    response.on("close", () => {
      this.#streams.delete(id);
      channels.close(channel);
    });
    writer.event(`${this.#options.path}${basePath(scope)}/messages?sessionId=${id}`, undefined, "endpoint");
  }

  receive(response: HttpResponse, context: RequestContext): void {
    const { channels, maxMessageBytes } = this.#options;
    const { caller, view } = context;
    const id = new URLSearchParams((response.req.url ?? "").split("?")[1]).get("sessionId") ?? "";
    const channel = this.#streams.get(id)?.channel;
    if (channel?.context.caller.name !== caller.name || channel.context.view !== view)
      return sendJson(response, 404, NOT_FOUND);
    const check = channels.check();
    readBody(response, { maxBytes: maxMessageBytes, limits: caller.limits, check }, (body) => {
      if ("refusal" in body) return refuse(response, body.refusal);
      const accepted = (rejection: Rejection | undefined): void => {
        if (rejection === undefined) response.writeHead(202).end("Accepted");
        else if (rejection.limit !== undefined) refuse(response, rejection.limit);
        else sendRpcError(response, 400, rejection.code, rejection.message);
      };
      channels.receive(channel, body.bytes, body.reserved, accepted, check.weight);
    });
  }

  /** Ends the streams of some callers. */
  endStreams(isMeant: (caller: AuthenticatedCaller) => boolean): void {
    for (const { channel, writer } of this.#streams.values())
      if (isMeant(channel.context.caller)) writer.end();
  }

  close(): void {
    for (const { channel, writer } of this.#streams.values()) {
      this.#options.channels.close(channel);
      writer.end();
    }
    this.#streams.clear();
  }
}

const error = (message: string): string => writeError(null, { code: RPC.INVALID_REQUEST, message });
const TOO_MANY = error("The gateway has too many connections; try again later");
const NOT_FOUND = error("Session not found");
