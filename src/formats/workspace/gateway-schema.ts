// Schema of the `gateway` section of portolan.yaml: where it listens, who may use it, and how much.

import { isHttpUrl, isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import { BUILT_IN_CALLERS, GATEWAY_DEFAULTS, type GatewayRate, LOG_FORMATS } from "../../model/index.ts";
import { BUDGETS, checkBudgets, LOOPS } from "./budget-schema.ts";
import { nodeAt, type Place, quoted, type TextNode, toLabel } from "../document/index.ts";
import {
  duration,
  flag,
  integer,
  list,
  map,
  number,
  object,
  oneOf,
  type ReadContext,
  type Schema,
  text,
  union,
} from "../schema-builder/index.ts";
import { APPROVAL_RULE, checkApprovalCallers, TOOL_RULE_FIELDS } from "./approval-schema.ts";

const RATE = /^\d+(\.\d+)?\s*\/\s*(s|m|h)$/;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };
const HOST = /^(\*\.)?([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:\d+)?$/;
const ORIGIN = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#@\s]+$/;
const CALLER_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}$/;
const SHA256 = /^[0-9A-Fa-f]{64}$/;
/** The characters that RFC 6749 allows in a scope; they are also safe between quotes in a header. */
const SCOPE = /^[\x21\x23-\x5B\x5D-\x7E]+$/;
const EVERY_ADDRESS: ReadonlySet<string> = new Set(["0.0.0.0", "::", "[::]"]);

const count = (minimum: number, description: string): Schema<number> => integer(description, { minimum });

/** Texts of one form. `what` and `hint` say what is wrong with any other. */
function words(description: string, form: RegExp, what: string, hint: string): Schema<readonly string[]> {
  const item = text("", { pattern: form.source.replaceAll("\\/", "/") }).transform(
    (written, node, { diagnostics }) => {
      if (form.test(written)) return written;
      diagnostics.add(node, `${quoted(written)} ${what}`, hint);
      return undefined;
    },
  );
  return list(description, item);
}

const lowerCase = (texts: readonly string[]): readonly string[] => texts.map((one) => one.toLowerCase());

/** A client connects with up to five requests at once: a smaller burst would lock it out at any low rate. */
const MIN_DEFAULT_BURST = 10;
const defaultBurst = (times: number): number => Math.max(MIN_DEFAULT_BURST, Math.ceil(times));

const RATE_TEXT = text("", { pattern: RATE.source.replaceAll("\\/", "/") }).transform(
  (written, node, { diagnostics }): GatewayRate | undefined => {
    const [amount = "", unit = ""] = RATE.test(written) ? written.split("/").map((part) => part.trim()) : [];
    const times = Number(amount);
    // All 600 requests of `600/m` may come at the start of the minute.
    if (times > 0) return { perSecond: times / (SECONDS[unit] ?? 1), burst: defaultBurst(times) };
    diagnostics.add(
      node,
      `${toLabel(node.path)} must say how many requests in which time, not ${quoted(written)}`,
      "Write for example 100/s, 600/m or 1000/h.",
    );
    return undefined;
  },
);

const RATE_BLOCK = object(
  "",
  {
    perSecond: number("Average number of requests per second.").required(),
    burst: count(
      1,
      "Maximum number of requests at once after a pause. Default: per_second, and at least 10.",
    ),
  },
  {
    check({ perSecond }, at) {
      if (perSecond !== undefined && perSecond <= 0)
        at.error("perSecond", `${toLabel(at.node.path)}.per_second must be more than 0`);
    },
  },
).transform(({ perSecond, burst }): GatewayRate => ({
  perSecond,
  burst: burst ?? defaultBurst(perSecond),
}));

const CALLER_LIMITS = {
  rate: union(
    "Maximum request rate of a caller, such as 100/s, 600/m, or {per_second: 10, burst: 50}. Requests above it get HTTP 429. Default: no limit.",
    [RATE_TEXT, RATE_BLOCK],
  ),
  concurrency: count(
    1,
    "Maximum number of requests of a caller that run at the same time. Further requests get HTTP 429. Default: no limit.",
  ),
};

const TOOL_RULES = object("", TOOL_RULE_FIELDS);

// Scalars are accepted, because a hash may consist of digits alone.
const TOKEN_HASH = text("", { scalars: true, pattern: SHA256.source }).transform(checkHash);

const CALLER = object(
  "",
  {
    name: text("Name of the caller, used in logs and in other rules.", {
      pattern: CALLER_NAME.source,
    }).required(),
    token: union(
      "Bearer token of the caller, or a list of tokens that are valid at the same time. Use references such as ${NAME}, so that this file does not contain the tokens.",
      [text(), list("", text(), { minItems: 1 })],
    ),
    tokenSha256: union(
      "SHA-256 of the bearer token, as 64 hexadecimal digits, or a list of them. Use it in place of token.",
      [TOKEN_HASH, list("", TOKEN_HASH, { minItems: 1 })],
    ).key("token_sha256"),
    oauth: object(
      "OAuth tokens of gateway.oauth that identify this caller: all given fields must match. {} matches every token.",
      {
        subject: text("Value of the claim sub.", { scalars: true }),
        scope: text("Scopes that the token must have, separated by spaces."),
        claim: map(
          "Required values of claims, by claim name. A claim that is a list must contain the value.",
          text("", { scalars: true }),
        ),
      },
    ),
    allow: TOOL_RULES.describe(
      "Tools that the caller sees. For each field in the rule, the tool must match at least one entry. Default: all tools.",
    ),
    deny: TOOL_RULES.describe(
      "Tools that the caller does not see, even if allow permits them. A match with one entry of any field is enough.",
    ),
    limits: object(
      "Limits of this caller. A limit that is set here replaces the one in gateway.limits.",
      CALLER_LIMITS,
    ),
  },
  {
    check({ name, token }, at) {
      if (name !== undefined && !CALLER_NAME.test(name))
        at.error(
          "name",
          `${quoted(name)} cannot be the name of a caller`,
          'Use up to 64 letters, digits, "_", "-", "." and "@". Begin with a letter, a digit or "_".',
        );
      else if (name !== undefined && BUILT_IN_CALLERS.has(name))
        at.error("name", `the gateway itself uses the name ${quoted(name)}`, "Choose another name.");
      const credentials = (["token", "tokenSha256", "oauth"] as const).map(at.entry);
      if (credentials.every((entry) => entry === undefined))
        at.diagnostics.add(
          at.node,
          `${toLabel(at.node.path)} has neither token nor token_sha256 nor oauth`,
          "Add one of them: it identifies the caller.",
        );
      if (at.entry("token") !== undefined && at.entry("tokenSha256") !== undefined)
        at.error("tokenSha256", "a caller cannot have both token and token_sha256", "Keep one of them.");
      if ([token ?? []].flat().some((one) => !one.includes("${")))
        at.warn(
          "token",
          "the token is written out, so everyone who can read this file has it",
          "Write ${NAME} and set the secret NAME, or write token_sha256.",
        );
    },
  },
);

function checkHash(hash: string, node: TextNode, { diagnostics }: ReadContext): string | undefined {
  if (SHA256.test(hash)) return hash.toLowerCase();
  diagnostics.add(
    node,
    "token_sha256 must be 64 hexadecimal digits",
    'Make it with: printf %s "$TOKEN" | sha256sum.',
  );
  return undefined;
}

/** Reports two callers with one name or one token, and OAuth rules without an issuer. */
function checkCallers(gateway: TextNode, hasIssuer: boolean, { diagnostics }: ReadContext): void {
  const names = new Map<string, Place>();
  const hashes = new Map<string, Place>();
  const tokens = new Map<string, Place & { readonly caller: string }>();
  const callers = nodeAt(gateway, "callers");
  for (const caller of callers?.kind === "list" ? callers.items : []) {
    const name = nodeAt(caller, "name");
    const written = name?.kind === "string" ? String(name.value) : "";
    const sameName = names.get(written);
    if (name !== undefined && CALLER_NAME.test(written) && !BUILT_IN_CALLERS.has(written)) {
      if (sameName === undefined) names.set(written, name);
      else
        diagnostics.add(
          name,
          `the caller ${quoted(written)} is declared here and at line ${sameName.line}, column ${sameName.column}`,
          "Give one of the two another name.",
        );
    }
    for (const token of itemsOf(nodeAt(caller, "token"))) {
      const reference = token.kind === "string" ? String(token.value) : "";
      const same = tokens.get(reference);
      if (reference === "") continue;
      if (same === undefined) tokens.set(reference, { ...token, caller: written });
      // A repetition in one caller is harmless.
      else if (same.caller !== written)
        diagnostics.add(
          token,
          `the same token is already at line ${same.line}, column ${same.column}`,
          "Give each caller a token of its own.",
        );
    }
    for (const hash of itemsOf(nodeAt(caller, "token_sha256"))) {
      const digits = "source" in hash ? hash.source.toLowerCase() : "";
      const sameHash = hashes.get(digits);
      if (!SHA256.test(digits)) continue;
      if (sameHash === undefined) hashes.set(digits, hash);
      else
        diagnostics.add(
          hash,
          `the same token_sha256 is already at line ${sameHash.line}, column ${sameHash.column}`,
          "Give each caller a token of its own.",
        );
    }
    const oauth = nodeAt(caller, "oauth");
    if (oauth !== undefined && oauth.kind !== "null" && !hasIssuer)
      diagnostics.add(
        oauth,
        "oauth of a caller has no effect without gateway.oauth",
        "Add gateway.oauth with an issuer.",
      );
  }
}

function itemsOf(node: TextNode | undefined): readonly TextNode[] {
  return node?.kind === "list" ? node.items : [node ?? []].flat();
}

/** Keys are trusted because of where they come from, so that plain HTTP is accepted only on this machine. */
function checkUrl(secure: boolean) {
  return (url: string, node: TextNode, { diagnostics }: ReadContext): string => {
    const parsed = parseUrl(url);
    const label = toLabel(node.path);
    if (parsed === undefined || !isHttpUrl(parsed))
      diagnostics.add(node, `${label} is not a URL`, "Write an address that begins with https://.");
    else if (parsed.username !== "")
      diagnostics.add(node, `${label} contains a user name`, "Remove the part before the @, and the @.");
    else if (parsed.hash !== "" || (parsed.search !== "" && !label.endsWith("jwks_url")))
      diagnostics.add(
        node,
        `${label} contains a query or a fragment`,
        "Remove the part that begins with ? or #.",
      );
    else if (secure && !isSecureUrl(parsed))
      diagnostics.add(
        node,
        `${label} must begin with https://`,
        "http:// is only for an issuer on this computer.",
      );
    return url;
  };
}

const { host, port, bodyBytes, sessions, suspended, pageSize, maxResultBytes } = GATEWAY_DEFAULTS;

/** A gateway with an error in it is not used at all: half of the access rules is worse than none. */
export const GATEWAY = object(
  "Settings of the gateway (portolan serve): address, access control, limits.",
  {
    host: text(`Host name or IP address to listen on. Default: ${host}.`),
    port: count(0, `TCP port to listen on. 0: any free port. Default: ${port}.`),
    allowedHosts: words(
      "Host names that the gateway accepts in the Host header, with or without a port. *.example.com matches all subdomains.",
      HOST,
      "is not the name of a host",
      'Write a name such as tools.example.com, with a port if it matters, or "*.example.com".',
    ).transform(lowerCase),
    allowedOrigins: words(
      "Origins of web pages that can use the gateway, such as https://app.example.com.",
      ORIGIN,
      "is not an origin",
      "Write the scheme, the host and nothing after it, such as https://app.example.com.",
    ).transform(lowerCase),
    tls: object("Certificate and key, to serve HTTPS. Default: plain HTTP.", {
      cert: text("Path of the certificate file (PEM), relative to the folder of this file.").required(),
      key: text("Path of the private key file (PEM), relative to the folder of this file.").required(),
    }),
    auth: oneOf(
      "Authentication of callers. token (default): each request needs a bearer token. none: everyone who can reach the gateway can use it.",
      ["token", "none"],
    ),
    oauth: object("OAuth issuer whose tokens the gateway accepts, in addition to its own token.", {
      issuer: text("Issuer URL, as in the issuer's metadata and the claim iss.")
        .required()
        .transform(checkUrl(true)),
      audience: text("Required audience (claim aud) of tokens. Default: resource."),
      jwksUrl: text(
        "URL of the issuer's JSON Web Key Set. Default: jwks_uri of the issuer's metadata.",
      ).transform(checkUrl(true)),
      scopes: words(
        "Scopes that every token must have. Default: none.",
        SCOPE,
        "is not a scope",
        "Write one scope per entry, without spaces.",
      ),
      resource: text(
        "URL of the gateway's MCP endpoint, as clients use it. Default: the address that the gateway listens on.",
      ).transform(checkUrl(false)),
      clientId: text(
        "OAuth client ID of the gateway at the issuer, for the sign-in of people who open a login link. Default: the gateway registers itself as a client.",
      ),
      clientSecret: text("OAuth client secret of client_id. Use a reference such as ${NAME}."),
    }),
    publicUrl: text(
      "URL of the gateway as browsers reach it, without /mcp. Login links begin with it.",
    ).transform(checkUrl(false)),
    logFormat: oneOf(
      "Form of the log of portolan serve, which the option --log-format overrides. Default: pretty at a terminal, text otherwise.",
      LOG_FORMATS,
    ),
    console: oneOf(
      "Access to the web console. local (default): from browsers on this computer. all: from every address that can reach the gateway. off: no console.",
      ["local", "off", "all"],
    ),
    callers: list(
      "Callers with their own credentials, in addition to the gateway's own token. Each sees only the tools that its rules allow.",
      CALLER,
    ),
    approval: list(
      "Rules for calls that wait until a person approves them. The first rule that matches a call applies.",
      APPROVAL_RULE,
    ),
    limits: object(
      "Limits of the gateway. rate and concurrency apply to each caller that does not set them itself.",
      {
        ...CALLER_LIMITS,
        bodyBytes: count(1, `Maximum size of a request body, in bytes. Default: ${bodyBytes}.`),
        sessions: count(
          1,
          `Maximum number of open sessions of clients of the legacy protocol era. Default: ${sessions}.`,
        ),
        sessionIdleMs: duration(
          "The gateway ends a session after this time without a request, unless a call runs or a stream is open. Default: 30m.",
        ).key("session_idle"),
        suspended: count(
          1,
          `Maximum number of calls of one caller that wait for the client's answer to a server request. Default: ${suspended}.`,
        ),
        suspendedForMs: duration(
          "Maximum time that a call waits for the client's answer to a server request. Default: 10m.",
        ).key("suspended_for"),
      },
    ),
    budgets: BUDGETS,
    loops: LOOPS,
    transports: object("Transports that the gateway serves in addition to Streamable HTTP.", {
      sse: flag("If true, serve HTTP+SSE. Default: false."),
      websocket: flag("If true, serve WebSocket. Default: false."),
    }),
    pageSize: count(
      1,
      `Maximum number of entries in one page of a list, such as tools/list. Default: ${pageSize}.`,
    ),
    maxResultBytes: count(
      0,
      `Maximum size of a tool result that the gateway passes on completely, in bytes. 0: no limit. Default: ${maxResultBytes}. max_result_bytes of a server overrides it.`,
    ),
  },
  {
    check(draft, at) {
      if (draft.port !== undefined && draft.port > 65_535)
        at.error("port", `gateway.port must be at most 65535, not ${draft.port}`);
      const oauth = at.entry("oauth");
      if (
        oauth !== undefined &&
        isAbsent(nodeAt(oauth.value, "resource")) &&
        EVERY_ADDRESS.has(draft.host ?? "")
      )
        at.error(
          "oauth",
          "gateway.oauth needs resource: a gateway that listens at every address has no URL of its own",
          "Write the URL under which clients reach the gateway, such as resource: https://tools.example.com/mcp.",
        );
      checkCallers(at.node, oauth !== undefined, at);
      checkBudgets(at.node, BUILT_IN_CALLERS, at);
      checkApprovalCallers(at.node, BUILT_IN_CALLERS, at);
      if (draft.auth !== "none") return;
      for (const name of ["oauth", "callers"] as const)
        if (at.entry(name) !== undefined)
          at.error(
            name,
            `gateway.${name} cannot be combined with auth: none, which lets everyone in without a token`,
            `Remove auth: none, or remove ${name}.`,
          );
    },
  },
);

function isAbsent(node: TextNode | undefined): boolean {
  return node === undefined || node.kind === "null";
}

/** The nodes of the access rules that name servers. They are checked once all servers are known. */
export function serversNamedByGateway(gateway: TextNode | undefined): TextNode[] {
  const itemsOf = (name: string): readonly TextNode[] => {
    const list = nodeAt(gateway, name);
    return list?.kind === "list" ? list.items : [];
  };
  const ofCallers = itemsOf("callers").flatMap((caller) =>
    ["allow", "deny"].flatMap((rules) => nodeAt(caller, rules, "servers") ?? []),
  );
  return [...ofCallers, ...itemsOf("approval").flatMap((rule) => nodeAt(rule, "servers") ?? [])];
}

/** The lists of tool patterns in the rules of callers, in approval rules, in budgets and in `loops.except`. */
export function toolsNamedByGateway(gateway: TextNode | undefined): TextNode[] {
  const listed = (name: string): readonly TextNode[] => {
    const node = nodeAt(gateway, name);
    if (node?.kind === "object") return node.entries.map(({ value }) => value);
    return node?.kind === "list" ? node.items : [];
  };
  const rules = listed("callers").flatMap((caller) =>
    ["allow", "deny"].flatMap((name) => nodeAt(caller, name) ?? []),
  );
  const ruled = [...rules, ...listed("approval"), ...listed("budgets")];
  return [
    ...ruled.flatMap((one) => nodeAt(one, "tools") ?? []),
    ...[nodeAt(gateway, "loops", "except") ?? []].flat(),
  ];
}
