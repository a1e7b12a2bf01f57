// Allowed Host and Origin headers, so that no web page reaches the gateway under a name of its own (DNS rebinding).

import { bracketed, isLoopbackHost, isUnspecifiedAddress } from "../../base/net/addresses.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { wrongHost, wrongOrigin } from "./refusals.ts";
import type { Refusal } from "./types.ts";

interface HostPort {
  /** Lower case, without a trailing dot; IPv6 in brackets. */
  readonly name: string;
  readonly port: string | undefined;
}

export interface HostRules {
  check(host: string | undefined, origin: string | undefined): Refusal | undefined;
  /** For a request whose Host is allowed. */
  allowsOrigin(origin: string, host: string | undefined): boolean;
}

const LIST_OF_HOSTS =
  "gateway.allowed_hosts in portolan.yaml (in a program: settings.allowedHosts of openGateway())";
const HOST = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+)(?::(\d{1,5}))?$/i;
const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/(.+)$/i;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: "80", https: "443", ws: "80", wss: "443" };

export function createHostRules(settings: GatewaySettings, boundHost: string): HostRules {
  const bound = (parseHost(bracketed(boundHost)) ?? { name: "" }).name;
  const local = isLoopbackHost(bound);
  const everywhere = isUnspecifiedAddress(bound);
  const listed = settings.allowedHosts?.map(toHostTest) ?? [];
  const origins = new Set(settings.allowedOrigins?.map((origin) => origin.toLowerCase()));

  const allowsHost = (host: HostPort): boolean => {
    if (listed.some((matches) => matches(host))) return true;
    if (local) return isLoopbackHost(host.name);
    if (settings.allowedHosts !== undefined) return false;
    // A page that uses a name of its own still needs a token.
    if (settings.auth !== "none") return true;
    // DNS cannot redirect a literal address.
    return host.name === bound || (everywhere && (isAddress(host.name) || isLoopbackHost(host.name)));
  };

  const allowsOrigin = (origin: string, host: string | undefined): boolean => {
    const lower = origin.toLowerCase();
    if (origins.has(lower)) return true;
    const [, scheme = "", rest = ""] = ORIGIN.exec(lower) ?? [];
    const from = parseHost(rest);
    if (from === undefined || !(scheme === "http" || scheme === "https")) return false;
    if (local && isLoopbackHost(from.name)) return true;
    const to = parseHost(host ?? "");
    const usual = DEFAULT_PORTS[scheme];
    return from.name === to?.name && (from.port ?? usual) === (to.port ?? usual);
  };

  /** The last allowed Host, because a client sends the same one with every request. */
  let lastAllowed: string | undefined;
  return {
    allowsOrigin,
    check(host, origin) {
      if (origin === undefined && host !== undefined && host === lastAllowed) return undefined;
      const parsed = host === undefined ? undefined : parseHost(host);
      if (parsed === undefined || !allowsHost(parsed))
        return wrongHost(
          local
            ? `Use localhost in the URL, or add the host name to ${LIST_OF_HOSTS}.`
            : `The operator of the gateway can add the host name to ${LIST_OF_HOSTS}.`,
        );
      lastAllowed = host;
      return origin === undefined || allowsOrigin(origin, host) ? undefined : wrongOrigin();
    },
  };
}

function isAddress(name: string): boolean {
  return name.startsWith("[") || /^\d{1,3}(\.\d{1,3}){3}$/.test(name);
}

function parseHost(text: string): HostPort | undefined {
  const found = HOST.exec(text);
  if (found?.[1] === undefined) return undefined;
  return { name: found[1].toLowerCase().replace(/\.$/, ""), port: found[2] };
}

function toHostTest(entry: string): (host: HostPort) => boolean {
  const isWildcard = entry.startsWith("*.");
  const { name, port } = parseHost(isWildcard ? entry.slice(2) : entry) ?? { name: "", port: undefined };
  const suffix = `.${name}`;
  // A client sends no port if it is the default port of the scheme. The scheme is unknown here: a proxy may terminate TLS.
  const isDefault = port === "80" || port === "443";
  return (host) =>
    (port === undefined || port === host.port || (isDefault && host.port === undefined)) &&
    (isWildcard ? host.name.length > suffix.length && host.name.endsWith(suffix) : host.name === name);
}
