// A login page in the browser of this machine: its answer comes back to a port of the loopback interface, or is pasted by the person.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isLoopbackHost } from "../../base/net/addresses.ts";
import { parseUrl } from "../../base/net/urls.ts";
import { PortolanError } from "../../errors/index.ts";
import type { LoginPage, OpenLoginPage } from "./login-page.ts";

export interface LoopbackPageOptions {
  /**
   * Shows the address to the person: opens the browser, or prints it. Resolves to the address that the person pastes, or to undefined if
   * only the redirect is waited for. `signal` ends the question when the redirect arrives first.
   */
  readonly present: (address: URL, signal: AbortSignal) => Promise<string | undefined>;
  readonly signal?: AbortSignal;
  /** Default: ten minutes. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 10 * 60_000;
const PATH = "/callback";
const DONE = `<!doctype html><meta charset="utf-8"><title>Portolan</title>
<body style="font-family:system-ui;margin:4rem auto;max-width:30rem">
<h1>You can close this window.</h1><p>Portolan has received the answer. The terminal shows whether the login succeeded.</p>`;

export function createLoopbackPage(options: LoopbackPageOptions): OpenLoginPage {
  return async ({ server, redirectUri }) => {
    const wanted = redirectUri === undefined ? undefined : loopbackUrl(redirectUri, server);
    const listener = createServer();
    await listen(listener, wanted);
    const { port } = listener.address() as AddressInfo;
    const uri =
      wanted !== undefined && Number(wanted.port || 80) === port
        ? wanted.href
        : `http://127.0.0.1:${port}${PATH}`;
    return pageOf(listener, uri, server, options);
  };
}

function pageOf(
  listener: Server,
  redirectUri: string,
  server: string,
  options: LoopbackPageOptions,
): LoginPage {
  return {
    redirectUri,
    show: async (address, state) => {
      const over = new AbortController();
      const late = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
      const signals = [over.signal, late, ...(options.signal === undefined ? [] : [options.signal])];
      const signal = AbortSignal.any(signals);
      try {
        const redirected = waitForRedirect(listener, new URL(redirectUri), state);
        const pasted = options.present(address, over.signal).then((text) => {
          return text === undefined ? undefined : toAnswer(text, redirectUri, server);
        });
        const ended = new Promise<never>((_resolve, reject) => {
          signal.addEventListener("abort", () =>
            reject(late.aborted ? tooLate(server) : (signal.reason as Error)),
          );
        });
        return await Promise.race([redirected, pasted.then((answer) => answer ?? redirected), ended]);
      } finally {
        over.abort();
      }
    },
    close: async () => {
      listener.closeAllConnections();
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

/** Other programs of this machine can send requests here too; without the state of this login they are not heard. */
function waitForRedirect(listener: Server, redirectUri: URL, state: string): Promise<URL> {
  return new Promise((resolve) => {
    listener.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const url = parseUrl(request.url ?? "", redirectUri);
      const isAnswer =
        request.method === "GET" &&
        url?.pathname === redirectUri.pathname &&
        url.searchParams.get("state") === state;
      const headers = {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        connection: "close",
      };
      response.writeHead(isAnswer ? 200 : 404, headers).end(isAnswer ? DONE : "");
      if (isAnswer) resolve(url);
    });
  });
}

function toAnswer(text: string, redirectUri: string, server: string): URL {
  const url = parseUrl(text.trim());
  if (url !== undefined && (url.searchParams.has("code") || url.searchParams.has("error"))) return url;
  throw new PortolanError("INPUT_INVALID", "That is not the address that the browser was sent to.", {
    server,
    hint: `Copy the whole address from the browser after the login. It begins with ${redirectUri}`,
  });
}

/** A registered port that another program has taken is replaced: most authorization servers accept any port of this machine. */
async function listen(listener: Server, wanted: URL | undefined): Promise<void> {
  const port = wanted === undefined ? 0 : Number(wanted.port || 80);
  try {
    await listenAt(listener, port);
  } catch (error) {
    if (port === 0 || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    await listenAt(listener, 0);
  }
}

function listenAt(listener: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(port, "127.0.0.1", () => {
      listener.off("error", reject);
      resolve();
    });
  });
}

function loopbackUrl(text: string, server: string): URL {
  const url = parseUrl(text);
  if (url?.protocol === "http:" && isLoopbackHost(url.hostname)) return url;
  throw new PortolanError("CONFIG_INVALID", `the redirect URI ${text} is not an address of this machine`, {
    server,
    hint: "Set redirect_uri under auth in the config of the server, such as http://127.0.0.1:33418/callback.",
  });
}

function tooLate(server: string): PortolanError {
  return new PortolanError("TIMEOUT", "the login timed out", { server, hint: "Log in again." });
}
