// Console: serves the page, its sign-in, its API and its live feed beside the MCP routes of a gateway.

import {
  ControlSession,
  type ControlRequest,
  type GatewayFacts,
  type ReloadResult,
} from "../control/index.ts";
import { PortolanError } from "../errors/index.ts";
import type { Approvals, HttpRequest, HttpResponse, NoteRefusal, Site } from "../gateway/index.ts";
import type { OpenedWorkspace } from "../hub/index.ts";
import { APPS_CAPABILITY, type JsonObject } from "../model/index.ts";
import { ConsoleApi, readJson, SIGN_IN_BODY } from "./api.ts";
import { Apps } from "./apps/apps.ts";
import { type Assets, loadAssets, securityHeaders, sendAsset } from "./assets.ts";
import { LiveFeed } from "./live-feed.ts";
import { findForeignOrigin, isLocal } from "./request-guard.ts";
import { sendProblem, sendValue } from "./responses.ts";
import { CallSeries } from "./series.ts";
import { cookieName, expiredCookie, readCookie, sessionCookie } from "./sign-in/cookie.ts";
import { Sessions } from "./sign-in/sessions.ts";
import { SignIn } from "./sign-in/sign-in.ts";

/** Methods that the program around the console provides, by name. */
export type ConsoleMethods = Readonly<Record<string, (params: JsonObject) => Promise<unknown>>>;

export interface ConsoleOptions {
  readonly workspace: OpenedWorkspace;
  /** `token` returns the gateway's own token that is in use. */
  readonly access: { readonly token: () => string; readonly key: Buffer; readonly file?: string };
  readonly facts: () => GatewayFacts;
  readonly reload: () => Promise<ReloadResult>;
  /** `local` serves only browsers of this computer. */
  readonly reach: "local" | "all";
  /** Calls that wait for a person; undefined while the gateway is starting. */
  readonly approvals: () => Pick<Approvals, "list" | "decide"> | undefined;
  readonly methods?: ConsoleMethods;
}

export interface Console extends Site {
  /** A link that signs in once, within five minutes. The code is in the fragment, which reaches no server and no log. */
  createLink(url: string): string;
}

const API = "/console/api/";
const MAX_SIGN_INS = 20;
const CHECK_SESSIONS_MS = 5_000;
const NOT_HERE =
  "The console opens only in a browser on the gateway's own computer, at localhost or 127.0.0.1, and not through a proxy. To allow other addresses, set gateway.console to all in portolan.yaml.";

/** The methods of the control interface that the page uses. It cannot stop the gateway. */
const CONTROL_METHODS: ReadonlySet<string> = new Set([
  ...["snapshot", "request", "pins", "drivers", "events", "logs", "serverLogs"],
  ...["restart", "stopServer", "sandbox", "reload", "approvals", "decide"],
]);

export async function openConsole(options: ConsoleOptions): Promise<Console> {
  const { access, workspace } = options;
  const file = access.file?.replace(/\.json$/, ".console.json");
  const { key, token } = access;
  const sessions = await Sessions.open({ key, token, file });
  return new ConsoleSite(options, sessions, new SignIn({ sessions, token }), workspace);
}

type Refuse = (status: 401 | 403, reason: string) => void;

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
  #signIns = 0;
  /** Running responses by session; the end of the session closes them. */
  readonly #open = new Map<HttpResponse, { readonly id: string; readonly close: () => void }>();
  #checking: NodeJS.Timeout | undefined;

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

  handle(request: HttpRequest, response: HttpResponse, path: string, refused: NoteRefusal): boolean {
    const isApi = path.startsWith(API);
    if (!isApi && path !== "/" && !path.startsWith("/assets/") && path !== "/favicon.ico") return false;
    const refuse: Refuse = (status, reason) => {
      const code = status === 401 ? "AUTH_REQUIRED" : "FORBIDDEN";
      refused(request, { status, headers: {}, error: { code, message: `console: ${reason}` } });
      sendProblem(response, status, code, reason);
    };
    if (this.#options.reach === "local" && !isLocal(request)) refuse(403, NOT_HERE);
    else if (isApi)
      this.#handleApi(request, response, path.slice(API.length), refuse).catch(() => response.destroy());
    else this.#handlePage(request, response, path).catch(() => response.destroy());
    return true;
  }

  close(): void {
    clearInterval(this.#checking);
    this.#feed.close();
    this.#apps.close();
    this.#session.close();
  }

  async #handlePage(request: HttpRequest, response: HttpResponse, path: string): Promise<void> {
    if (request.method !== "GET" && request.method !== "HEAD")
      return sendProblem(response, 405, "METHOD_NOT_ALLOWED", "the pages of the console support only GET");
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
  async #handleApi(
    request: HttpRequest,
    response: HttpResponse,
    name: string,
    refuse: Refuse,
  ): Promise<void> {
    const { method = "", headers } = request;
    const foreign = findForeignOrigin(method, headers);
    if (foreign !== undefined) return refuse(403, foreign);
    const cookie = cookieName(headers.host);
    const id = readCookie(headers.cookie, cookie);
    if (name === "sign-in" && method === "POST") return this.#exchange(request, response, cookie, refuse);
    const isSignedIn = this.#sessions.isValid(id);
    if (name === "session" && method === "GET")
      return sendValue(response, { signedIn: isSignedIn, acceptsToken: isLocal(request) });
    if (id === undefined || !isSignedIn)
      return sendProblem(response, 401, "AUTH_REQUIRED", "sign in to the console first");
    if (name === "stream" && method === "GET") {
      this.#endWithSession(id, response, () => response.end());
      return this.#feed.open(response, headers["last-event-id"] as string | undefined);
    }
    if (method !== "POST") return sendProblem(response, 405, "METHOD_NOT_ALLOWED", "use POST");
    if (name === "sign-out") {
      await this.#sessions.end(id);
      this.#closeEnded();
      response.setHeader("set-cookie", expiredCookie(cookie));
      response.writeHead(204);
      response.end();
      return;
    }
    // A page that is gone cancels its request.
    this.#endWithSession(id, response, () => response.destroy());
    return this.#api.run(name, request, response);
  }

  /** The response is closed when its session has ended or expired. */
  #endWithSession(id: string, response: HttpResponse, close: () => void): void {
    this.#open.set(response, { id, close });
    this.#checking ??= setInterval(() => this.#closeEnded(), CHECK_SESSIONS_MS).unref();
    response.on("close", () => {
      this.#open.delete(response);
      if (this.#open.size > 0) return;
      clearInterval(this.#checking);
      this.#checking = undefined;
    });
  }

  #closeEnded(): void {
    for (const { id, close } of this.#open.values()) if (!this.#sessions.isValid(id)) close();
  }

  async #exchange(
    request: HttpRequest,
    response: HttpResponse,
    cookie: string,
    refuse: Refuse,
  ): Promise<void> {
    if (this.#signIns >= MAX_SIGN_INS)
      return sendProblem(
        response,
        503,
        "LIMIT_REACHED",
        "too many browsers sign in at the same time; try again",
      );
    this.#signIns += 1;
    try {
      const given: JsonObject = await readJson(request, SIGN_IN_BODY).catch(() => ({}));
      const id = await this.#signIn.exchange(given, isLocal(request));
      if (id === undefined) return refuse(401, "the sign-in code or the token is not valid");
      // The origin was checked: the page was loaded by HTTPS, from the gateway or from a proxy before it.
      const isTls = request.headers.origin?.startsWith("https:") === true;
      response.setHeader("set-cookie", sessionCookie(cookie, id, isTls));
      response.setHeader("cache-control", "no-store");
      response.writeHead(204);
      response.end();
    } finally {
      this.#signIns -= 1;
    }
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
