// Which Host and Origin the gateway answers to, so that no web page reaches it by a name of its own (DNS rebinding).

import { bracketed, isLoopbackHost } from "../../base/net/addresses.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { wrongHost, wrongOrigin } from "./refusals.ts";
import type { Refusal } from "./types.ts";

interface HostPort {
  /** In lower case, without a dot at the end; IPv6 in brackets. */
  readonly name: string;
  readonly port: string | undefined;
}

export interface HostRules {
  greets(host: string | undefined, origin: string | undefined): Refusal | undefined;
  /** Of a request whose Host is right. */
  knowsOrigin(origin: string, host: string | undefined): boolean;
}

const HOST = /^(\[[0-9a-f:.]+\]|[^\s:/?#@[\]]+)(?::(\d{1,5}))?$/i;
const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/(.+)$/i;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: "80", https: "443", ws: "80", wss: "443" };

export function createHostRules(settings: GatewaySettings, boundHost: string): HostRules {
  const bound = (parseHost(bracketed(boundHost)) ?? { name: "" }).name;
  const local = isLoopbackHost(bound);
  const everywhere = bound === "0.0.0.0" || bound === "[::]";
  const listed = settings.allowedHosts?.map(toHostTest) ?? [];
  const origins = new Set(settings.allowedOrigins?.map((origin) => origin.toLowerCase()));

  const knowsHost = (host: HostPort): boolean => {
    if (listed.some((matches) => matches(host))) return true;
    if (local) return isLoopbackHost(host.name);
    if (settings.allowedHosts !== undefined) return false;
    // Whoever came by a name of their own still needs a token.
    if (settings.auth !== "none") return true;
    // No name server can make an address mean another one.
    return host.name === bound || (everywhere && (isAddress(host.name) || isLoopbackHost(host.name)));
  };

  const knowsOrigin = (origin: string, host: string | undefined): boolean => {
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

  /** The same client says the same with every request. */
  let welcome: string | undefined;
  return {
    knowsOrigin,
    greets(host, origin) {
      if (origin === undefined && host !== undefined && host === welcome) return undefined;
      const parsed = host === undefined ? undefined : parseHost(host);
      if (parsed === undefined || !knowsHost(parsed))
        return wrongHost(
          local
            ? "Use localhost, or add the name to gateway.allowed_hosts."
            : "Whoever runs the gateway can add the name to gateway.allowed_hosts.",
        );
      welcome = host;
      return origin === undefined || knowsOrigin(origin, host) ? undefined : wrongOrigin();
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
  const below = entry.startsWith("*.");
  const { name, port } = parseHost(below ? entry.slice(2) : entry) ?? { name: "", port: undefined };
  const suffix = `.${name}`;
  return (host) =>
    (port === undefined || port === host.port) &&
    (below ? host.name.length > suffix.length && host.name.endsWith(suffix) : host.name === name);
}
