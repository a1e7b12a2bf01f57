// Login in a browser: shows the login page, and waits for its redirect to a random local URL.

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isSecureUrl } from "../../base/net/urls.ts";
import type { PageResult, RunOptions } from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";

/** The person who can log in at this program. */
export interface Person {
  /** True when stdin and stdout are a terminal on which programs may be run. */
  readonly terminal: boolean;
  say(text: string): void;
  /** Shows a page in a browser; false when there is none. */
  show(url: string): Promise<boolean>;
  /** Asks the person to confirm that a step is done; undefined without an answer. */
  confirm?(text: string, signal: AbortSignal): Promise<boolean | undefined>;
}

const CALLBACK = "{callback_url}";
const LONGEST_MS = 300_000;

export async function showLogin(
  person: Person | undefined,
  address: string,
  { driver, signal, needsCallback }: RunOptions & { readonly needsCallback: boolean },
): Promise<PageResult> {
  if (person === undefined)
    throw new PortolanError(
      "AUTH_REQUIRED",
      `the login at ${address} needs a user with a browser, and this process has none`,
      {
        server: driver.id,
        hint: `Log in from a terminal: portolan login ${driver.id}`,
      },
    );
  if (!isSecureUrl(new URL(address)))
    throw new PortolanError("AUTH_REQUIRED", `the login page ${address} was not opened: it is not https`, {
      server: driver.id,
      hint: `Use an https address: correct auth.login.url in ${driver.origin.file}, or the code of the driver.`,
    });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_MS)]);
  if (needsCallback) return withCallback(person, address, limit);
  await present(person, new URL(address).href);
  if (driver.auth?.login?.completesWhen !== undefined) return { ok: true };
  const done = await person.confirm?.(`Are you logged in to ${driver.name} now?`, limit);
  if (done === undefined)
    throw new PortolanError(
      "AUTH_REQUIRED",
      `Portolan cannot tell when the login at ${address} is complete: the driver has no completes_when, and no user can confirm it`,
      { server: driver.id, hint: `Log in from a terminal: portolan login ${driver.id}` },
    );
  return done ? { ok: true } : { ok: false, reason: "user_cancelled" };
}

async function present(person: Person, url: string): Promise<void> {
  person.say(`Log in on this page: ${url}`);
  if (!(await person.show(url).catch(() => false)))
    person.say("No browser could be opened. Open the page yourself.");
}

/** Passes the local callback URL to the page, in place of `{callback_url}` or as `redirect_uri`. */
async function withCallback(person: Person, address: string, signal: AbortSignal): Promise<PageResult> {
  const server = createServer();
  const path = `/${randomBytes(32).toString("base64url")}`;
  server.listen(0, "127.0.0.1");
  await once(server, "listening", { signal });
  try {
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const back = `http://${host}${path}`;
    const page = new URL(address.replace(CALLBACK, encodeURIComponent(back)));
    if (!address.includes(CALLBACK)) page.searchParams.set("redirect_uri", back);
    const coming = comesBack(server, { host, path, origin: page.origin }, signal);
    // A timeout is handled by the signal.
    coming.catch(() => {});
    await present(person, page.href);
    return await coming;
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

interface Expected {
  readonly host: string;
  readonly path: string;
  readonly origin: string;
}

/** Accepts the first valid request only. */
function comesBack(server: Server, expected: Expected, signal: AbortSignal): Promise<PageResult> {
  return new Promise((resolve) => {
    const late = (): void =>
      resolve({
        ok: false,
        reason: "callback_failed",
        message: "the login page did not redirect back in time",
      });
    if (signal.aborted) late();
    signal.addEventListener("abort", late, { once: true });
    let used = false;
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const url = new URL(request.url ?? "/", `http://${expected.host}`);
      if (used || !isRight(request, url, expected)) return answer(response, 404, "There is nothing here.");
      used = true;
      const result = resultOf(url);
      response.once("finish", () => resolve(result));
      response.once("close", () => resolve(result));
      answer(response, 200, result.ok ? "Logged in. You can close this page." : "The login did not succeed.");
    });
  });
}

/** True for a browser navigation to the secret path, and false for a request by a script of another page. */
function isRight({ method, headers }: IncomingMessage, url: URL, { host, path, origin }: Expected): boolean {
  if (method !== "GET" || headers.host !== host || url.pathname !== path) return false;
  if (headers.origin !== undefined && headers.origin !== origin) return false;
  const mode = headers["sec-fetch-mode"];
  return mode === undefined || mode === "navigate";
}

/** Codes and tokens in the address are for the login command or the code of the driver; Portolan itself only reads the error. */
function resultOf(callback: URL): PageResult {
  const { searchParams: answers } = callback;
  const error = answers.get("error");
  if (error === null) return { ok: true, callback };
  if (error === "access_denied") return { ok: false, reason: "user_cancelled" };
  const said = (answers.get("error_description") || error).replace(/[\p{Cc}\p{Cf}]/gu, " ").slice(0, 200);
  return {
    ok: false,
    reason: "callback_failed",
    message: `the login page redirected back with an error: ${said}`,
  };
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'",
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(`${text}\n`);
}
