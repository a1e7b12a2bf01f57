// The `gateway` section of portolan.yaml as settings: the model's words in place of the file's, and what a shape cannot check.

import type { GatewayOAuth, GatewaySettings } from "../../model/index.ts";
import { nodeAt, type Problems, quoted, type TextNode, toLabel } from "../text/index.ts";
import { toCallers } from "./gateway-callers.ts";
import type { CheckedGateway } from "./gateway-checked.ts";
import { toCallerLimits } from "./gateway-limits.ts";
import { HOST_PATTERN, ORIGIN_PATTERN, SCOPE_PATTERN } from "./gateway-shape.ts";

const HOST = new RegExp(HOST_PATTERN);
const ORIGIN = new RegExp(ORIGIN_PATTERN);
const SCOPE = new RegExp(SCOPE_PATTERN);
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::", "[::]"]);

/** Nothing when the section is not there, or has errors. */
export function toGatewaySettings(
  gateway: CheckedGateway | undefined,
  node: TextNode | undefined,
  problems: Problems,
): GatewaySettings | undefined {
  if (gateway === undefined || node?.kind !== "object") return undefined;
  checkPort(gateway, node, problems);
  checkHosts(gateway, node, problems);
  checkOAuth(gateway, node, problems);
  checkNobodyAsked(gateway, node, problems);
  const { tls, limits, transports } = gateway;
  const settings: GatewaySettings = definedOnly({
    host: gateway.host,
    port: gateway.port,
    allowedHosts: gateway.allowed_hosts?.map((host) => host?.toLowerCase() ?? ""),
    allowedOrigins: gateway.allowed_origins?.map((origin) => origin?.toLowerCase() ?? ""),
    tls: tls && { cert: tls.cert ?? "", key: tls.key ?? "" },
    auth: gateway.auth,
    oauth: toOAuth(gateway.oauth),
    callers: toCallers(gateway, node, problems),
    limits:
      limits &&
      definedOnly({
        ...toCallerLimits(limits, nodeAt(node, "limits"), problems),
        bodyBytes: limits.body_bytes,
        sessions: limits.sessions,
        sessionIdleMs: limits.session_idle,
        parked: limits.parked,
        parkedForMs: limits.parked_for,
      }),
    transports,
    pageSize: gateway.page_size,
    maxResultBytes: gateway.max_result_bytes,
  });
  return problems.within(node) ? undefined : settings;
}

function toOAuth(oauth: CheckedGateway["oauth"]): GatewayOAuth | undefined {
  if (oauth === undefined) return undefined;
  return definedOnly({
    issuer: oauth.issuer ?? "",
    audience: oauth.audience,
    jwksUrl: oauth.jwks_url,
    scopes: oauth.scopes?.map((scope) => scope ?? ""),
    resource: oauth.resource,
  });
}

function checkPort({ port }: CheckedGateway, node: TextNode, problems: Problems): void {
  const place = nodeAt(node, "port");
  if (port !== undefined && port > 65_535 && place !== undefined)
    problems.add(place, `gateway.port must be at most 65535, not ${port}`);
}

function checkHosts(gateway: CheckedGateway, node: TextNode, problems: Problems): void {
  for (const [index, host] of (gateway.allowed_hosts ?? []).entries()) {
    const place = nodeAt(node, "allowed_hosts", index);
    if (host === undefined || place === undefined || HOST.test(host)) continue;
    problems.add(
      place,
      `${quoted(host)} is not the name of a host`,
      'Write a name such as tools.example.com, with a port if it matters, or "*.example.com".',
    );
  }
  for (const [index, origin] of (gateway.allowed_origins ?? []).entries()) {
    const place = nodeAt(node, "allowed_origins", index);
    if (origin === undefined || place === undefined || ORIGIN.test(origin)) continue;
    problems.add(
      place,
      `${quoted(origin)} is not an origin`,
      "Write the scheme, the host and nothing after it, such as https://app.example.com.",
    );
  }
}

function checkOAuth({ oauth, host }: CheckedGateway, node: TextNode, problems: Problems): void {
  if (oauth === undefined) return;
  const place = nodeAt(node, "oauth");
  for (const key of ["issuer", "jwks_url", "resource"] as const)
    checkUrl(oauth[key], nodeAt(place, key), key !== "resource", problems);
  for (const [index, scope] of (oauth.scopes ?? []).entries()) {
    const scopePlace = nodeAt(place, "scopes", index);
    if (scope === undefined || scopePlace === undefined || SCOPE.test(scope)) continue;
    problems.add(scopePlace, `${quoted(scope)} is not a scope`, "Write one scope per entry, without spaces.");
  }
  if (place !== undefined && oauth.resource === undefined && EVERY_ADDRESS.has(host ?? ""))
    problems.add(
      place,
      "gateway.oauth needs resource: a gateway that listens at every address has no URL of its own",
      "Write the URL under which clients reach it, such as resource: https://tools.example.com/mcp.",
    );
}

/** What keys are trusted by must not come over a wire that anyone can write to. */
function checkUrl(
  url: string | undefined,
  place: TextNode | undefined,
  secure: boolean,
  problems: Problems,
): void {
  if (url === undefined || place === undefined) return;
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const label = toLabel(place.path);
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol) || parsed.username !== "")
    problems.add(place, `${label} is not a URL`, "Write an address that begins with https://.");
  else if (parsed.hash !== "" || (parsed.search !== "" && !label.endsWith("jwks_url")))
    problems.add(place, `${label} has a part after its path`, "Leave out what begins with ? or #.");
  else if (secure && parsed.protocol === "http:" && !isLoopback(parsed.hostname))
    problems.add(
      place,
      `${label} must begin with https://`,
      "http:// is only for an issuer on this computer.",
    );
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(\.\d{1,3}){3}$/.test(host);
}

function checkNobodyAsked(gateway: CheckedGateway, node: TextNode, problems: Problems): void {
  if (gateway.auth !== "none") return;
  for (const key of ["oauth", "callers"] as const) {
    const place = nodeAt(node, key);
    if (gateway[key] === undefined || place === undefined) continue;
    problems.add(
      place,
      `gateway.${key} does not fit here: with auth: none nobody is asked who they are`,
      `Take out auth: none, or ${key}.`,
    );
  }
}

export function definedOnly<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
}
