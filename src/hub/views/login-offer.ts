// Login during a request: the caller gets a link by URL elicitation, and the request is repeated when the login is done. A client
// without URL elicitation gets the link in the error.

import { PortolanError } from "../../errors/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import type { OpenLoginPage } from "../../oauth/index.ts";
import type { Call } from "../../upstream/index.ts";
import type { Member } from "../member/member.ts";
import { type NeededLogin, toNeededLogin } from "../processes/log-in.ts";

/** A login that waits for the caller to open its link. */
export interface LoginOffer {
  /** Identifies the elicitation. */
  readonly id: string;
  readonly url: string;
  /** Resolves when the login is done. Rejects when it failed, or nobody finished it in time. */
  readonly done: Promise<void>;
}

export interface LoginWanted {
  /** Alias of the server. */
  readonly server: string;
  readonly logIn: (openLoginPage: OpenLoginPage) => Promise<void>;
}

/** Undefined if there is no page to which a link could lead. */
export type OfferLogin = (wanted: LoginWanted) => LoginOffer | undefined;

interface LoginContext {
  readonly offerLogin: OfferLogin;
  /** Sends the request again. */
  readonly attempt: () => Promise<JsonObject>;
  readonly memberOf: (alias: string) => Member | undefined;
}

/** Prefix of the ids of these elicitations. */
const LOGIN_ID = "login-";
/** How long a request waits for a login at a time: less than the time after which common clients give up. */
const WAIT_MS = 40_000;
/** JSON-RPC code of legacy revisions for a request that needs a URL elicitation. */
const URL_ELICITATION_REQUIRED = -32_042;
/** A request may need a new start, a login to start the server, and another one with more scopes. */
const MAX_ROUNDS = 3;

/** Handles the error of a request: throws it unless a login of the caller repairs it. */
export async function repeatAfterLogin(
  thrown: unknown,
  call: Call,
  context: LoginContext,
): Promise<JsonObject> {
  let error = thrown;
  let wasRetried = false;
  for (let round = 0; ; round += 1) {
    const needed = toNeededLogin(error);
    const member = needed === undefined ? undefined : context.memberOf(needed.server);
    if (needed === undefined || member === undefined || round >= MAX_ROUNDS) throw error;
    // The login may have been made elsewhere since the start of the server failed.
    wasRetried = needed.isOld && !wasRetried;
    if (wasRetried) await member.retry();
    else await logIn(needed, member, call, context, error);
    try {
      return await context.attempt();
    } catch (next) {
      error = next;
    }
  }
}

/** Resolves when the caller has logged in. */
async function logIn(
  { server, scope }: NeededLogin,
  member: Member,
  call: Call,
  { offerLogin }: LoginContext,
  error: unknown,
): Promise<void> {
  const offer = offerLogin({ server, logIn: (page) => member.logIn(page, scope) });
  if (offer === undefined) throw error;
  const { caller, onServerRequest, signal = new AbortController().signal } = call;
  const elicitation = caller?.capabilities.elicitation;
  if (!isObject(elicitation) || !isObject(elicitation.url)) throw linkError(server, offer);
  const isModern = caller?.era === "modern";
  for (let isRepeated = false; ; isRepeated = true) {
    const message = isRepeated
      ? `The login at ${server} is not finished yet. Finish it in the browser.`
      : `${server} requires a login. Open the page in a browser, and log in there.`;
    const params = { mode: "url", message, url: offer.url };
    const identified = { ...params, elicitationId: offer.id };
    if (!isModern && (onServerRequest === undefined || isRepeated))
      throw elicitationRequired(server, identified, offer, call);
    const answer = await onServerRequest?.({
      ...{ id: `${LOGIN_ID}${server}`, method: "elicitation/create", signal },
      params: isModern ? params : identified,
    });
    if (answer === undefined) throw linkError(server, offer);
    // Programs without a person decline too, and their users need the link.
    if (answer.action !== "accept") throw linkError(server, offer, ", which was declined");
    if (!(await isDone(offer, signal))) continue;
    call.onElicitationComplete?.(offer.id);
    return;
  }
}

/** False if the login takes longer than a request should. */
async function isDone({ done }: LoginOffer, signal: AbortSignal): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => {};
  const late = new Promise<false>((resolve, reject) => {
    timer = setTimeout(() => resolve(false), WAIT_MS);
    onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

/** The link in the message too, because many clients show nothing else of an error. */
function linkError(server: string, { url }: LoginOffer, more = ""): PortolanError {
  return new PortolanError("AUTH_REQUIRED", `${server} requires a login${more}: open ${url} in a browser`, {
    server,
    hint: "Log in on that page, then repeat the call.",
    data: { login: { server, url } },
  });
}

function elicitationRequired(
  server: string,
  elicitation: JsonObject,
  offer: LoginOffer,
  { onElicitationComplete }: Call,
): PortolanError {
  // The client repeats the request when it learns that the login is done.
  offer.done.then(
    () => onElicitationComplete?.(offer.id),
    () => {},
  );
  return new PortolanError("AUTH_REQUIRED", `${server} requires a login: open ${offer.url} in a browser`, {
    server,
    hint: "Log in on that page, then repeat the call.",
    data: { rpcCode: URL_ELICITATION_REQUIRED, rpcData: { elicitations: [elicitation] } },
  });
}
