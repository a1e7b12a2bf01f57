// Login pages of the gateway: the links for logins lead here. The person proves to be the caller that got the link, and then
// logs in at the server. Otherwise somebody could send the link to another person, and get access to that person's account.

import { isPortolanError, PortolanError, toPortolanError } from "../../errors/index.ts";
import type { OfferLogin } from "../../hub/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { type OnSecrets, type RegisteredClients, signIn } from "../../oauth/index.ts";
import type { NoteRefusal } from "../access/refusal-events.ts";
import type { AccessControl } from "../access/types.ts";
import type { HttpRequest, HttpResponse } from "../http/responses.ts";
import { LoginCookies } from "./cookies.ts";
import { readForm } from "./form.ts";
import { type LoginLink, LoginLinks } from "./login-links.ts";
import {
  donePage,
  failedPage,
  GONE,
  OTHER_BROWSER,
  type Page,
  PAGE_HEADERS,
  startPage,
  type StartPage,
} from "./pages.ts";
import { PendingAuthorizations } from "./pending-authorizations.ts";

export interface LoginFrontOptions {
  readonly access: () => AccessControl;
  readonly settings: () => GatewaySettings;
  /** The URL before `/mcp` under which browsers reach the gateway; undefined if it is not known. */
  readonly baseUrl: () => string | undefined;
  /** Signs cookies. */
  readonly key: Buffer;
  readonly refused?: NoteRefusal;
  readonly onSecrets: OnSecrets;
}

/** The part of a path after `/login/`. */
const CALLBACK = "callback";

export class LoginFront {
  readonly #options: LoginFrontOptions;
  readonly #links = new LoginLinks();
  readonly #pending = new PendingAuthorizations();
  readonly #clients: RegisteredClients = new Map();

  constructor(options: LoginFrontOptions) {
    this.#options = options;
  }

  /** Makes links for one caller. */
  offerTo(caller: string): OfferLogin {
    return (wanted) => {
      const base = this.#options.baseUrl();
      if (base === undefined) return undefined;
      return this.#links.make(caller, wanted, (id) => `${base}/login/${id}`);
    };
  }

  handle(request: HttpRequest, response: HttpResponse, name: string): void {
    this.#respond(request, response, name).catch((error: unknown) =>
      send(response, failedPage("The login failed", describe(error), 500)),
    );
  }

  close(): void {
    this.#links.close();
    this.#pending.close();
  }

  async #respond(request: HttpRequest, response: HttpResponse, name: string): Promise<void> {
    const { method, headers } = request;
    const base = this.#options.baseUrl();
    if (base === undefined) return send(response, GONE);
    const site: Site = { base, cookies: new LoginCookies(this.#options.key, new URL(base)) };
    if (name === CALLBACK && method === "GET") return await this.#comeBack(request, response, site);
    const link = name === CALLBACK ? undefined : this.#links.find(name);
    if (link === undefined) return send(response, GONE);
    const isProved = site.cookies.callerOf(headers.cookie) === link.caller;
    if (method === "GET") return send(response, this.#startPage(link, site, isProved));
    if (method !== "POST")
      return send(response, failedPage("Not allowed", "Open the link in a browser.", 405));
    // A page of another site must not be able to send the form, with a token of its choice.
    if (headers.origin !== new URL(base).origin)
      return send(
        response,
        failedPage("Not allowed", "The form must be sent from the page of the gateway.", 403),
      );
    const form = await readForm(request);
    if (form === undefined) return send(response, failedPage("Not allowed", "The form is not valid.", 400));
    if (isProved) return await this.#redirectToServer(response, link, site, []);
    if (form.get("proof") === "issuer") return await this.#redirectToIssuer(response, link, site);
    const token = form.get("token") ?? "";
    if (!(await this.#isTokenOf(request, token, link.caller)))
      return send(response, this.#startPage(link, site, false, `This is not the token of ${link.caller}.`));
    await this.#redirectToServer(response, link, site, [site.cookies.forCaller(link.caller)]);
  }

  #startPage(link: LoginLink, { base }: Site, isProved: boolean, problem?: string): Page {
    const { server, caller } = link;
    const settings = this.#options.settings();
    const issuer = settings.oauth?.issuer;
    const proof: StartPage["proof"] = isProved ? "proved" : proofOf(caller, settings);
    return startPage({ ...{ server, caller, proof, issuer, problem }, action: `${base}/login/${link.id}` });
  }

  async #isTokenOf(request: HttpRequest, token: string, caller: string): Promise<boolean> {
    const { access, refused } = this.#options;
    const result = await access().authenticate({ headers: { authorization: `Bearer ${token}` } });
    if ("refusal" in result) refused?.(request, result.refusal);
    return "caller" in result && result.caller.name === caller;
  }

  /** Sends the browser to the login page of the server. */
  async #redirectToServer(
    response: HttpResponse,
    link: LoginLink,
    site: Site,
    cookies: string[],
  ): Promise<void> {
    const { binding, header } = site.cookies.forAuthorization();
    const start = { kind: "login", binding, link } as const;
    try {
      const address = await this.#pending.begin(start, callbackOf(site), (page) => link.logIn(page));
      if (address !== undefined) return redirect(response, address, [...cookies, header]);
      this.#links.end(link);
      send(response, donePage(link.server));
    } catch (error) {
      send(response, failedPage(`The login at ${link.server} cannot begin`, describe(error), 502));
    }
  }

  /** Sends the browser to the issuer of the gateway, to learn who the person is. */
  async #redirectToIssuer(response: HttpResponse, link: LoginLink, site: Site): Promise<void> {
    const { settings, access, onSecrets } = this.#options;
    const { oauth } = settings();
    if (oauth === undefined) return send(response, GONE);
    const { issuer, clientId, clientSecret, scopes = [] } = oauth;
    const resource = oauth.resource ?? `${site.base}/mcp`;
    const { binding, header } = site.cookies.forAuthorization();
    const start = { kind: "identity", binding, link } as const;
    const work: Parameters<PendingAuthorizations["begin"]>[2] = async (openLoginPage) => {
      const client = { clientId, clientSecret };
      const options = { name: "the gateway", issuer, resource, scopes, client, openLoginPage, onSecrets };
      const token = await signIn(options, this.#clients);
      const result = await access().authenticate({ headers: { authorization: `Bearer ${token}` } });
      if ("refusal" in result)
        throw new PortolanError(
          "FORBIDDEN",
          `The gateway did not accept the token of the issuer: ${result.refusal.error.message}`,
          { hint: "Ask the operator of the gateway." },
        );
      if (result.caller.name === link.caller) return;
      throw new PortolanError(
        "FORBIDDEN",
        "This link belongs to another caller: you are signed in as a different person",
        {
          hint: "Repeat the call in your own client to get a link of your own.",
        },
      );
    };
    try {
      const address = await this.#pending.begin(start, callbackOf(site), work);
      if (address !== undefined) redirect(response, address, [header]);
    } catch (error) {
      send(response, failedPage("The sign-in cannot begin", describe(error), 502));
    }
  }

  /** An authorization server has sent the browser back. */
  async #comeBack(request: HttpRequest, response: HttpResponse, site: Site): Promise<void> {
    const answer = new URL(`${callbackOf(site)}${queryOf(request.url ?? "")}`);
    const binding = site.cookies.authorizationOf(request.headers.cookie);
    const authorization = this.#pending.take(answer.searchParams.get("state") ?? "", binding);
    if (authorization === undefined) return send(response, OTHER_BROWSER);
    const { link, kind } = authorization;
    authorization.answer(answer);
    try {
      await authorization.finished;
    } catch (error) {
      // Another link is needed only after a refusal at the server itself.
      if (kind === "login") this.#links.end(link, toPortolanError(error, { server: link.server }));
      return send(response, failedPage("The login failed", describe(error), 403));
    }
    if (kind === "identity")
      return redirect(response, new URL(`${site.base}/login/${link.id}`), [
        site.cookies.forCaller(link.caller),
      ]);
    this.#links.end(link);
    send(response, donePage(link.server));
  }
}

interface Site {
  /** The URL before `/mcp` and `/login`. */
  readonly base: string;
  readonly cookies: LoginCookies;
}

function callbackOf({ base }: Site): string {
  return `${base}/login/${CALLBACK}`;
}

function queryOf(url: string): string {
  const at = url.indexOf("?");
  return at === -1 ? "" : url.slice(at);
}

/**
 * A caller that is known by its OAuth token signs in at the issuer; one with a fixed token has that token. The issuer proves only
 * callers whose rule names a subject: others that a rule matches have the subject in their name.
 */
export function proofOf(caller: string, { oauth, callers = [] }: GatewaySettings): StartPage["proof"] {
  if (oauth === undefined) return "token";
  if (/(?:^|\|)oauth:/.test(caller)) return "issuer";
  const config = callers.find(({ name }) => name === caller);
  if (config?.oauth?.subject === undefined) return "token";
  return config.token === undefined && config.tokenSha256 === undefined ? "issuer" : "both";
}

function describe(error: unknown): string {
  if (!isPortolanError(error))
    return "The gateway had an internal error. Repeat the call in your client to get another link.";
  return `${error.message.replace(/\.$/, "")}. ${error.hint ?? ""}`.trim();
}

function send(response: HttpResponse, { status, html }: Page): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { ...PAGE_HEADERS, "content-length": Buffer.byteLength(html) });
  response.end(html);
}

/** 303, so that the browser does not send the form again. */
function redirect(response: HttpResponse, address: URL, cookies: readonly string[]): void {
  if (response.headersSent || response.destroyed) return;
  if (address.protocol !== "https:" && address.protocol !== "http:")
    return send(
      response,
      failedPage("The login cannot begin", "The address of the login page is not http or https.", 502),
    );
  const { "content-type": _type, ...headers } = PAGE_HEADERS;
  response.writeHead(303, { ...headers, location: address.href, "set-cookie": [...cookies] });
  response.end();
}
