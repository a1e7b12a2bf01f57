// The front door of the gateway: by which name it was reached, from which page, and by whom.

import type { IncomingMessage } from "node:http";
import { isLoopbackHost, withPort } from "../../base/net/addresses.ts";
import { PortolanError, type Report } from "../../errors/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { corsHeaders } from "./cors.ts";
import { createHostRules } from "./hosts.ts";
import { createIssuerDoor, type IssuerDoor } from "./oauth.ts";
import { createPrincipal } from "./callers.ts";
import { badToken, type Challenge, noToken } from "./refusals.ts";
import { bearerOf, indexTokens, toHash } from "./bearer-tokens.ts";
import type { Admission, Door, Principal } from "./types.ts";

export type {
  Admission,
  Door,
  Gate,
  Principal,
  Refusal,
  ToolView,
  ViewedServer,
  ViewedTool,
} from "./types.ts";

export interface DoorOptions {
  /** References in the tokens of callers are resolved. */
  readonly settings: GatewaySettings;
  /** The gateway's own token: who has it is `local` and sees everything. */
  readonly token: string | undefined;
  readonly boundHost: string;
  readonly boundPort: () => number;
  readonly tls: boolean;
  /** Milliseconds, never going back. */
  readonly now?: (() => number) | undefined;
  readonly fetch?: typeof globalThis.fetch | undefined;
  readonly report: Report;
}

/** Throws CONFIG_INVALID for settings that name nobody, or two at once. */
export function createDoor(options: DoorOptions): Door {
  const { settings, boundHost } = options;
  const now = options.now ?? (() => performance.now());
  const hosts = createHostRules(settings, boundHost);
  const issuer = createIssuer(options, now);
  if (settings.auth === "none" && !isLoopbackHost(boundHost))
    options.report({
      code: "CONFIG_INVALID",
      severity: "warning",
      message: `everyone who can reach ${boundHost} may use the gateway, since auth is none`,
      hint: "Take auth: none out of portolan.yaml, or listen at 127.0.0.1.",
    });
  const admit = settings.auth === "none" ? admitAnyone(settings, now) : admitByToken(options, issuer, now);
  return {
    admit,
    greets: ({ headers }) => hosts.greets(headers.host, headers.origin),
    cors(request) {
      const { host, origin } = request.headers;
      return origin === undefined || !hosts.knowsOrigin(origin, host)
        ? undefined
        : corsHeaders(request, origin);
    },
    resourceMetadata: (path) => issuer?.metadata(path),
  };
}

function admitAnyone(settings: GatewaySettings, now: () => number): () => Admission {
  const admission = { principal: createPrincipal("anyone", {}, settings, now) };
  return () => admission;
}

function admitByToken(
  options: DoorOptions,
  issuer: IssuerDoor | undefined,
  now: () => number,
): Door["admit"] {
  const { settings, token, report } = options;
  const callers = new Map<string, Principal>();
  for (const caller of settings.callers ?? [])
    if (caller.token !== undefined || caller.tokenSha256 !== undefined)
      callers.set(caller.name, createPrincipal(caller.name, caller, settings, now));
  const local = { token, principal: createPrincipal("local", {}, settings, now) };
  const admissions = new Map(
    [...indexTokens(settings, local, callers, report)].map(([key, principal]) => [key, { principal }]),
  );
  const admitSubject = issuer?.open(callers);
  const challenge = (): Challenge => issuer?.challenge() ?? { scopes: [] };

  // Only the header is read: a token in a URL ends up in logs and histories.
  return ({ headers }: IncomingMessage) => {
    const bearer = bearerOf(headers.authorization);
    if (bearer === undefined) return { refusal: noToken(challenge()) };
    const key = toHash(bearer);
    const known = admissions.get(key);
    if (known !== undefined) return known;
    if (admitSubject !== undefined && bearer.split(".", 4).length === 3) return admitSubject(bearer, key);
    return { refusal: badToken(challenge(), "nobody has it") };
  };
}

function createIssuer(options: DoorOptions, now: () => number): IssuerDoor | undefined {
  const { settings, boundHost, boundPort, tls, report } = options;
  const { oauth } = settings;
  if (oauth === undefined) return undefined;
  if (oauth.resource === undefined && ["0.0.0.0", "::", "[::]"].includes(boundHost))
    throw new PortolanError(
      "CONFIG_INVALID",
      "gateway.oauth needs resource: the gateway listens at every address",
      {
        hint: "Write the URL under which clients reach it, such as resource: https://tools.example.com/mcp.",
      },
    );
  const resource = (): string =>
    oauth.resource ?? `${tls ? "https" : "http"}://${withPort(boundHost, boundPort())}/mcp`;
  const fetch = options.fetch ?? globalThis.fetch;
  return createIssuerDoor({ settings, oauth, resource, fetch, now, report });
}
