// Bridge to an app: the messages of MCP Apps between the console and the frame of one app. The frame is not trusted.

import type { Json, JsonMap, ToolResult } from "../types.ts";

/** Answers the requests of the app. A rejected promise becomes an error response. */
export interface AppHost {
  /** Sends a request to the server of the app. */
  readonly request: (method: "tools/call" | "resources/read", params: JsonMap) => Promise<unknown>;
  /** Resolves to false if the person does not want to open the address. */
  readonly openLink: (url: string) => Promise<boolean>;
  readonly said: (kind: "message" | "context" | "log", params: JsonMap) => void;
  readonly resized: (height: number) => void;
  readonly ready: () => void;
  readonly closed: () => void;
  /** The tool of the app, the theme, and so on. */
  readonly context: () => JsonMap;
}

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: JsonMap;
}

const N = "ui/notifications/";
const MAX_RUNNING = 20;
const TEARDOWN_MS = 2_000;
const TEARDOWN_ID = "portolan-teardown";

export class AppBridge {
  readonly #frame: HTMLIFrameElement;
  readonly #origin: string;
  readonly #html: string;
  readonly #host: AppHost;
  readonly #listener = (event: MessageEvent<unknown>): void => this.#received(event);
  /** Notifications that wait until the app is initialized. */
  #waiting: { readonly method: string; readonly params: object }[] | undefined = [];
  #running = 0;
  #tornDown: (() => void) | undefined;

  /** `url` is the address of the frame, which is loaded now. */
  constructor(frame: HTMLIFrameElement, url: string, html: string, host: AppHost) {
    this.#frame = frame;
    this.#origin = new URL(url).origin;
    this.#html = html;
    this.#host = host;
    addEventListener("message", this.#listener);
    frame.src = url;
  }

  sendInput(input: JsonMap): void {
    this.#notify("tool-input", { arguments: input });
  }

  sendResult(result: ToolResult): void {
    this.#notify("tool-result", result);
  }

  sendCancelled(reason: string): void {
    this.#notify("tool-cancelled", { reason });
  }

  sendContext(changed: JsonMap): void {
    this.#notify("host-context-changed", changed);
  }

  /** Lets the app end its work: any answer is enough, and two seconds are. */
  async tearDown(): Promise<void> {
    if (this.#waiting === undefined) {
      this.#send({ id: TEARDOWN_ID, method: "ui/resource-teardown", params: {} });
      await new Promise<void>((resolve) => {
        this.#tornDown = resolve;
        setTimeout(resolve, TEARDOWN_MS);
      });
    }
    removeEventListener("message", this.#listener);
  }

  #notify(name: string, params: object): void {
    if (this.#waiting === undefined) this.#send({ method: N + name, params });
    else this.#waiting.push({ method: N + name, params });
  }

  #send(message: object): void {
    this.#frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, this.#origin);
  }

  #received({ source, origin, data }: MessageEvent<unknown>): void {
    if (source === null || source !== this.#frame.contentWindow || origin !== this.#origin) return;
    if (typeof data !== "object" || data === null) return;
    const { id, method, params } = data as Message;
    if (typeof method !== "string") {
      if (id === TEARDOWN_ID) this.#tornDown?.();
      return;
    }
    const given = typeof params === "object" && params !== null ? params : {};
    if (id === undefined) this.#notified(method, given);
    else void this.#requested(id, method, given);
  }

  #notified(method: string, params: JsonMap): void {
    switch (method) {
      case `${N}sandbox-proxy-ready`:
        this.#send({ method: `${N}sandbox-resource-ready`, params: { html: this.#html } });
        break;
      case `${N}initialized`: {
        const waiting = this.#waiting ?? [];
        this.#waiting = undefined;
        this.#host.ready();
        for (const message of waiting) this.#send(message);
        break;
      }
      case `${N}size-changed`:
        if (typeof params.height === "number") this.#host.resized(params.height);
        break;
      case `${N}request-teardown`:
        this.#host.closed();
        break;
      case "notifications/message":
        this.#host.said("log", params);
        break;
      default:
    }
  }

  async #requested(id: string | number, method: string, params: JsonMap): Promise<void> {
    if (this.#running >= MAX_RUNNING)
      return this.#send({ id, error: { code: -32_000, message: "too many requests are running" } });
    this.#running += 1;
    try {
      this.#send({ id, result: await this.#answer(method, params) });
    } catch (error) {
      const { message, rpcCode = -32_000 } = error as Error & { rpcCode?: number };
      this.#send({ id, error: { code: rpcCode, message } });
    } finally {
      this.#running -= 1;
    }
  }

  async #answer(method: string, params: JsonMap): Promise<unknown> {
    switch (method) {
      case "ui/initialize":
        return {
          protocolVersion: "2026-01-26",
          hostInfo: { name: "portolan-console", version: "1" },
          hostCapabilities: {
            ...{ openLinks: {}, serverTools: {}, serverResources: {}, logging: {} },
            ...{ message: { text: {} }, updateModelContext: { text: {}, structuredContent: {} } },
          },
          hostContext: this.#host.context(),
        };
      case "tools/call":
      case "resources/read":
        return this.#host.request(method, params);
      case "ui/open-link":
        return typeof params.url === "string" && (await this.#host.openLink(params.url))
          ? {}
          : { isError: true };
      case "ui/message":
        this.#host.said("message", params);
        return {};
      case "ui/update-model-context":
        this.#host.said("context", params);
        return {};
      case "ui/request-display-mode":
        return { mode: "inline" satisfies Json };
      case "ping":
        return {};
      default:
        throw Object.assign(new Error(`the console does not support ${method.slice(0, 100)}`), {
          rpcCode: -32_601,
        });
    }
  }
}
