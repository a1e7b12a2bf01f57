// Console: serves the page, its sign-in, its API and its live feed beside the MCP routes of a gateway.

import {
  ControlSession,
  type ControlRequest,
  type GatewayFacts,
  type ReloadResult,
} from "../control/index.ts";
import { PortolanError } from "../errors/index.ts";
import type { Approvals, HttpRequest, HttpResponse, Site } from "../gateway/index.ts";
import type { OpenedWorkspace } from "../hub/index.ts";
import { APPS_CAPABILITY, type JsonObject } from "../model/index.ts";
import { ConsoleApi, readJson } from "./api.ts";
import { Apps } from "./apps/apps.ts";
import { type Assets, loadAssets, securityHeaders, sendAsset } from "./assets.ts";
import { LiveFeed } from "./live-feed.ts";
import { findForeignOrigin } from "./request-guard.ts";
import { sendProblem, sendValue } from "./responses.ts";
import { CallSeries } from "./series.ts";
import { cookieName, expiredCookie, readCookie, sessionCookie } from "./sign-in/cookie.ts";
import { Sessions } from "./sign-in/sessions.ts";
import { SignIn } from "./sign-in/sign-in.ts";

/** Methods that the program around the console provides, by name. */
export type ConsoleMethods = Readonly<Record<string, (params: JsonObject) => Promise<unknown>>>;

export interface ConsoleOptions {
  readonly workspace: OpenedWorkspace;
  readonly access: { readonly token: string; readonly key: Buffer; readonly file?: string };
  readonly facts: () => GatewayFacts;
  readonly reload: () => Promise<ReloadResult>;
  /** True if the gateway serves HTTPS: the cookie is then never sent without it. */
  readonly isTls: boolean;
  /** Calls that wait for a person; undefined while the gateway is starting. */
  readonly approvals: () => Pick<Approvals, "list" | "decide"> | undefined;
  readonly methods?: ConsoleMethods;
}

export interface Console extends Site {
  /** A link that signs in once, within five minutes. The code is in the fragment, which reaches no server and no log. */
  createLink(url: string): string;
}

const API = "/console/api/";

/** The methods of the control interface that the page uses. It cannot stop the gateway. */
const CONTROL_METHODS: ReadonlySet<string> = new Set([
  ...["snapshot", "request", "pins", "drivers", "events", "logs", "serverLogs"],
  ...["restart", "stopServer", "sandbox", "reload", "approvals", "decide"],
]);

export async function openConsole(options: ConsoleOptions): Promise<Console> {
  const { access, workspace } = options;
  const file = access.file?.replace(/\.json$/, ".console.json");
  const sessions = await Sessions.open({ key: access.key, file });
  return new ConsoleSite(options, sessions, new SignIn({ sessions, token: access.token }), workspace);
}

class ConsoleSite implements Console {
  readonly #options: ConsoleOptions;
  readonly #sessions: Sessions;
  readonly #signIn: SignIn;
  readonly #session: ControlSession;
  readonly #series = new CallSeries();
  readonly #feed: LiveFeed;
  readonly #apps: Apps;
  readonly #api: ConsoleApi;
  /** Loaded with the first request, because most gateways run without an open page. */
  #assets: Promise<Assets> | undefined;

  constructor(options: ConsoleOptions, sessions: Sessions, signIn: SignIn, workspace: OpenedWorkspace) {
    this.#options = options;
    this.#sessions = sessions;
    this.#signIn = signIn;
    const { facts, reload, approvals } = options;
    this.#feed = new LiveFeed({ workspace, facts, series: this.#series });
    this.#session = new ControlSession({
      ...{ workspace, facts, reload, id: "console", token: undefined, transport: "http" },
      ...{ approvals, way: "console" },
      recentEvents: () => this.#feed.recent,
      stop: () => {},
      appTools: true,
    });
    this.#apps = new Apps({ hub: workspace.hub, read: (server, uri) => this.#readApp(server, uri) });
    this.#api = new ConsoleApi((request, origin) => this.#answer(request, origin));
  }

  createLink(url: string): string {
    return `${url}/#code=${this.#signIn.createCode()}`;
  }

  handle(request: HttpRequest, response: HttpResponse, path: string): boolean {
    if (path.startsWith(API)) {
      this.#handleApi(request, response, path.slice(API.length)).catch(() => response.destroy());
      return true;
    }
    const isPage = path === "/" || path.startsWith("/assets/") || path === "/favicon.ico";
    if (isPage) this.#handlePage(request, response, path).catch(() => response.destroy());
    return isPage;
  }

  close(): void {
    this.#feed.close();
    this.#apps.close();
    this.#session.close();
  }

  async #handlePage(request: HttpRequest, response: HttpResponse, path: string): Promise<void> {
    if (request.method !== "GET" && request.method !== "HEAD")
      return sendProblem(response, 405, "METHOD_NOT_ALLOWED", "the console's pages support GET only");
    this.#assets ??= loadAssets();
    const assets = await this.#assets;
    const asset = assets.get(path);
    if (asset !== undefined) {
      const frameOrigin = path === "/" ? await this.#apps.frameOrigin(request.headers.host) : undefined;
      return sendAsset(request, response, path, asset, frameOrigin);
    }
    const isMissing = path === "/" && assets.size === 0;
    const text = isMissing ? "The console was not built. Run: npm run build\n" : "There is no such file.\n";
    response.writeHead(404, { ...securityHeaders(), "content-type": "text/plain; charset=utf-8" });
    response.end(text);
  }

  /** Host is checked before this. Then: the page that asks, then the session. */
  async #handleApi(request: HttpRequest, response: HttpResponse, name: string): Promise<void> {
    const { method = "", headers } = request;
    const foreign = findForeignOrigin(method, headers);
    if (foreign !== undefined) return this.#refuse(request, response, 403, foreign);
    const cookie = cookieName(headers.host);
    const id = readCookie(headers.cookie, cookie);
    if (name === "sign-in" && method === "POST") return this.#exchange(request, response, cookie);
    const isSignedIn = this.#sessions.isValid(id);
    if (name === "session" && method === "GET") return sendValue(response, { signedIn: isSignedIn });
    if (id === undefined || !isSignedIn) return sendProblem(response, 401, "AUTH_REQUIRED", "sign in first");
    if (name === "stream" && method === "GET")
      return this.#feed.open(response, headers["last-event-id"] as string | undefined);
    if (method !== "POST") return sendProblem(response, 405, "METHOD_NOT_ALLOWED", "use POST");
    if (name === "sign-out") {
      await this.#sessions.end(id);
      response.setHeader("set-cookie", expiredCookie(cookie));
      response.writeHead(204);
      response.end();
      return;
    }
    return this.#api.run(name, request, response);
  }

  async #exchange(request: HttpRequest, response: HttpResponse, cookie: string): Promise<void> {
    const given = await readJson(request).catch(() => ({}));
    const id = await this.#signIn.exchange(given);
    if (id === undefined) return this.#refuse(request, response, 401, "the code or token is not valid");
    response.setHeader("set-cookie", sessionCookie(cookie, id, this.#options.isTls));
    response.setHeader("cache-control", "no-store");
    response.writeHead(204);
    response.end();
  }

  #refuse(request: HttpRequest, response: HttpResponse, status: 401 | 403, reason: string): void {
    const code = status === 401 ? "AUTH_REQUIRED" : "FORBIDDEN";
    this.#options.workspace.events.emit({
      ...{ type: "gateway.refused", server: "gateway", code, reason: `console: ${reason}` },
      ...{ address: request.socket?.remoteAddress, path: (request.url ?? "").slice(0, 200) },
    });
    sendProblem(response, status, code, reason);
  }

  async #answer(request: ControlRequest, origin: string): Promise<unknown> {
    const { method, params } = request;
    if (method === "app") return this.#apps.open(String(params.server), String(params.tool), origin);
    if (method === "series") return this.#readSeries(params);
    const own = this.#options.methods?.[method];
    if (own !== undefined && Object.hasOwn(this.#options.methods ?? {}, method)) return own(params);
    if (CONTROL_METHODS.has(method)) return this.#session.answer(request);
    throw new PortolanError("NOT_SUPPORTED", `the console has no method ${method.slice(0, 80)}`);
  }

  /** The `ui://` resource of an app, read like any other resource. */
  async #readApp(server: string, uri: string): Promise<JsonObject> {
    const clientInfo = { name: "portolan-console", version: "1" };
    const params = {
      method: "resources/read",
      params: { uri },
      server,
      clientInfo,
      capabilities: APPS_CAPABILITY,
    };
    const { signal } = new AbortController();
    const result = await this.#session.answer({
      ...{ method: "request", params, signal },
      note: () => {},
      ask: () => Promise.resolve(undefined),
    });
    return result as JsonObject;
  }

  #readSeries({ server, tool }: JsonObject): unknown {
    const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
    return {
      points: this.#series.points(text(server), text(tool)),
      tools: tool === undefined ? this.#series.tools(text(server)) : [],
    };
  }
}
