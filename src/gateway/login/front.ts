// Login pages of the gateway: the link of an offered login leads here. The person proves to be the caller that got the link, and then
// logs in at the server. Otherwise somebody could send the link to another person, and get access to that person's account.

import { isPortolanError, PortolanError, toPortolanError } from "../../errors/index.ts";
import type { OfferLogin } from "../../hub/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { type RegisteredClients, signIn } from "../../oauth/index.ts";
import type { NoteRefusal } from "../access/refusal-events.ts";
import type { AccessControl } from "../access/types.ts";
import type { HttpRequest, HttpResponse } from "../http/responses.ts";
import { LoginCookies } from "./cookies.ts";
import { readForm } from "./form.ts";
import { type Offer, Offers } from "./offers.ts";
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
import { Visits } from "./visits.ts";

export interface LoginFrontOptions {
  readonly access: () => AccessControl;
  readonly settings: () => GatewaySettings;
  /** The URL before `/mcp` under which browsers reach the gateway; undefined if it is not known. */
  readonly baseUrl: () => string | undefined;
  /** Signs cookies. */
  readonly key: Buffer;
  readonly refused?: NoteRefusal;
  readonly onSecret: (value: string) => void;
}

/** The part of a path after `/login/`. */
const CALLBACK = "callback";

export class LoginFront {
  readonly #options: LoginFrontOptions;
  readonly #offers = new Offers();
  readonly #visits = new Visits();
  readonly #clients: RegisteredClients = new Map();

  constructor(options: LoginFrontOptions) {
    this.#options = options;
  }

  /** Offers logins to one caller. */
  offerTo(caller: string): OfferLogin {
    return (wanted) => {
      const base = this.#options.baseUrl();
      if (base === undefined) return undefined;
      return this.#offers.make(caller, wanted, (id) => `${base}/login/${id}`);
    };
  }

  handle(request: HttpRequest, response: HttpResponse, name: string): void {
    this.#respond(request, response, name).catch((error: unknown) =>
      send(response, failedPage("The login failed", describe(error), 500)),
    );
  }

  close(): void {
    this.#offers.close();
    this.#visits.close();
  }

  async #respond(request: HttpRequest, response: HttpResponse, name: string): Promise<void> {
    const { method, headers } = request;
    const base = this.#options.baseUrl();
    if (base === undefined) return send(response, GONE);
    const site: Site = { base, cookies: new LoginCookies(this.#options.key, new URL(base)) };
    if (name === CALLBACK && method === "GET") return await this.#comeBack(request, response, site);
    const offer = name === CALLBACK ? undefined : this.#offers.find(name);
    if (offer === undefined) return send(response, GONE);
    const isProved = site.cookies.callerOf(headers.cookie) === offer.caller;
    if (method === "GET") return send(response, this.#startPage(offer, site, isProved));
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
    if (isProved) return await this.#visitServer(response, offer, site, []);
    if (form.get("proof") === "issuer") return await this.#visitIssuer(response, offer, site);
    const token = form.get("token") ?? "";
    if (!(await this.#isTokenOf(request, token, offer.caller)))
      return send(response, this.#startPage(offer, site, false, `This is not the token of ${offer.caller}.`));
    await this.#visitServer(response, offer, site, [site.cookies.forCaller(offer.caller)]);
  }

  #startPage(offer: Offer, { base }: Site, isProved: boolean, problem?: string): Page {
    const { server, caller } = offer;
    const issuer = this.#options.settings().oauth?.issuer;
    const proof: StartPage["proof"] = isProved ? "proved" : proofOf(caller, issuer);
    return startPage({ ...{ server, caller, proof, issuer, problem }, action: `${base}/login/${offer.id}` });
  }

  async #isTokenOf(request: HttpRequest, token: string, caller: string): Promise<boolean> {
    const { access, refused } = this.#options;
    const result = await access().authenticate({ headers: { authorization: `Bearer ${token}` } });
    if ("refusal" in result) refused?.(request, result.refusal);
    return "caller" in result && result.caller.name === caller;
  }

  /** Sends the browser to the login page of the server. */
  async #visitServer(response: HttpResponse, offer: Offer, site: Site, cookies: string[]): Promise<void> {
    const { binding, header } = site.cookies.forVisit();
    const start = { kind: "login", binding, offer } as const;
    try {
      const address = await this.#visits.begin(start, callbackOf(site), (page) => offer.logIn(page));
      if (address !== undefined) return redirect(response, address, [...cookies, header]);
      this.#offers.end(offer);
      send(response, donePage(offer.server));
    } catch (error) {
      send(response, failedPage(`The login at ${offer.server} cannot begin`, describe(error), 502));
    }
  }

  /** Sends the browser to the issuer of the gateway, to learn who the person is. */
  async #visitIssuer(response: HttpResponse, offer: Offer, site: Site): Promise<void> {
    const { settings, access, onSecret } = this.#options;
    const { oauth } = settings();
    if (oauth === undefined) return send(response, GONE);
    const { issuer, clientId, clientSecret, scopes = [] } = oauth;
    const resource = oauth.resource ?? `${site.base}/mcp`;
    const { binding, header } = site.cookies.forVisit();
    const start = { kind: "identity", binding, offer } as const;
    const work: Parameters<Visits["begin"]>[2] = async (openLoginPage) => {
      const client = { clientId, clientSecret };
      const options = { name: "the gateway", issuer, resource, scopes, client, openLoginPage, onSecret };
      const token = await signIn(options, this.#clients);
      const result = await access().authenticate({ headers: { authorization: `Bearer ${token}` } });
      if ("caller" in result && result.caller.name === offer.caller) return;
      throw new PortolanError(
        "FORBIDDEN",
        "You are signed in as another person than the one who got this link.",
        {
          hint: "Ask for a link of your own in your client.",
        },
      );
    };
    try {
      const address = await this.#visits.begin(start, callbackOf(site), work);
      if (address !== undefined) redirect(response, address, [header]);
    } catch (error) {
      send(response, failedPage("The sign-in cannot begin", describe(error), 502));
    }
  }

  /** An authorization server has sent the browser back. */
  async #comeBack(request: HttpRequest, response: HttpResponse, site: Site): Promise<void> {
    const answer = new URL(`${callbackOf(site)}${queryOf(request.url ?? "")}`);
    const binding = site.cookies.visitOf(request.headers.cookie);
    const visit = this.#visits.take(answer.searchParams.get("state") ?? "", binding);
    if (visit === undefined) return send(response, OTHER_BROWSER);
    const { offer, kind } = visit;
    visit.answer(answer);
    try {
      await visit.finished;
    } catch (error) {
      // Another link is needed only after a refusal at the server itself.
      if (kind === "login") this.#offers.end(offer, toPortolanError(error, { server: offer.server }));
      return send(response, failedPage("The login failed", describe(error), 403));
    }
    if (kind === "identity")
      return redirect(response, new URL(`${site.base}/login/${offer.id}`), [
        site.cookies.forCaller(offer.caller),
      ]);
    this.#offers.end(offer);
    send(response, donePage(offer.server));
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

/** A caller that is known by its OAuth token signs in at the issuer; one with a fixed token has that token. */
function proofOf(caller: string, issuer: string | undefined): StartPage["proof"] {
  if (issuer === undefined || caller === "local") return "token";
  return /(?:^|\|)oauth:/.test(caller) ? "issuer" : "both";
}

function describe(error: unknown): string {
  if (!isPortolanError(error)) return "Something went wrong in the gateway; its log has the reason.";
  return `${error.message}. ${error.hint ?? ""}`.trim();
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
    return send(response, failedPage("The login cannot begin", "The login page has no web address.", 502));
  const { "content-type": _type, ...headers } = PAGE_HEADERS;
  response.writeHead(303, { ...headers, location: address.href, "set-cookie": [...cookies] });
  response.end();
}
