// Schema of the `gateway` section of portolan.yaml: where it listens, who may use it, and how much.

import { isHttpUrl, isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import { GATEWAY_DEFAULTS, type GatewayRate } from "../../model/index.ts";
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
/** Names that the gateway gives to callers with its own token, over stdio, and without a token. */
const RESERVED_NAMES: ReadonlySet<string> = new Set(["local", "stdio", "anyone"]);

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
    perSecond: number("requests in a second, on average").required(),
    burst: count(
      1,
      "How many may come at once after a silence. Default: the number of the rate, and at least 10.",
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
  rate: union("How many requests a caller may make, such as 100/s, 600/m, or {per_second: 10, burst: 50}.", [
    RATE_TEXT,
    RATE_BLOCK,
  ]),
  concurrency: count(1, "How many requests of a caller may run at the same time."),
};

const TOOL_RULES = object("", TOOL_RULE_FIELDS);

const CALLER = object(
  "",
  {
    name: text("what logs call this caller", { pattern: CALLER_NAME.source }).required(),
    token: text("Its bearer token; a ${NAME} reference, so that it stands elsewhere."),
    // Scalars are accepted, because a hash may consist of digits alone.
    tokenSha256: text("In place of the token: its SHA-256 in hex.", { scalars: true, pattern: SHA256.source })
      .key("token_sha256")
      .transform(checkHash),
    oauth: object("Which tokens of the OAuth issuer are this caller's; {} is any.", {
      subject: text("The claim sub.", { scalars: true }),
      scope: text("A scope that the token has, or several with spaces between."),
      claim: map("Claims by name; one that is a list must hold the value.", text("", { scalars: true })),
    }),
    allow: TOOL_RULES.describe("Only these tools are offered: every kind that is given must match."),
    deny: TOOL_RULES.describe("These tools are not offered, even when allowed: one match is enough."),
    limits: object("Limits of this caller.", CALLER_LIMITS),
  },
  {
    check({ name, token }, at) {
      if (name !== undefined && !CALLER_NAME.test(name))
        at.error(
          "name",
          `${quoted(name)} cannot be the name of a caller`,
          'Use up to 64 letters, digits, "_", "-", "." and "@".',
        );
      else if (name !== undefined && RESERVED_NAMES.has(name))
        at.error("name", `the gateway itself uses the name ${quoted(name)}`, "Choose another name.");
      const credentials = (["token", "tokenSha256", "oauth"] as const).map(at.entry);
      if (credentials.every((entry) => entry === undefined))
        at.diagnostics.add(
          at.node,
          `${toLabel(at.node.path)} says neither token nor token_sha256 nor oauth`,
          "Write how this caller shows who it is.",
        );
      if (at.entry("token") !== undefined && at.entry("tokenSha256") !== undefined)
        at.error("tokenSha256", "token_sha256 says the same as token", "Keep one of them.");
      if (token !== undefined && !token.includes("${"))
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
  const callers = nodeAt(gateway, "callers");
  for (const caller of callers?.kind === "list" ? callers.items : []) {
    const name = nodeAt(caller, "name");
    const written = name?.kind === "string" ? String(name.value) : "";
    const sameName = names.get(written);
    if (name !== undefined && CALLER_NAME.test(written) && !RESERVED_NAMES.has(written)) {
      if (sameName === undefined) names.set(written, name);
      else
        diagnostics.add(
          name,
          `the caller ${quoted(written)} is declared here and at line ${sameName.line}, column ${sameName.column}`,
          "Give one of the two another name.",
        );
    }
    const hash = nodeAt(caller, "token_sha256");
    const digits = hash !== undefined && "source" in hash ? hash.source.toLowerCase() : "";
    const sameHash = hashes.get(digits);
    if (hash !== undefined && SHA256.test(digits)) {
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
        "there is no issuer whose tokens this could be about",
        "Write gateway.oauth with an issuer.",
      );
  }
}

/** Keys are trusted because of where they come from, so that plain HTTP is accepted only on this machine. */
function checkUrl(secure: boolean) {
  return (url: string, node: TextNode, { diagnostics }: ReadContext): string => {
    const parsed = parseUrl(url);
    const label = toLabel(node.path);
    if (parsed === undefined || !isHttpUrl(parsed) || parsed.username !== "")
      diagnostics.add(node, `${label} is not a URL`, "Write an address that begins with https://.");
    else if (parsed.hash !== "" || (parsed.search !== "" && !label.endsWith("jwks_url")))
      diagnostics.add(node, `${label} has a part after its path`, "Leave out what begins with ? or #.");
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
  "The gateway: where it listens, who may use it, and how much of it.",
  {
    host: text(`The address to listen at (default ${host}).`),
    port: count(0, `The port to listen at; 0 is any free one (default ${port}).`),
    allowedHosts: words(
      "Names under which the gateway may be reached, with or without a port; *.name is every name below it.",
      HOST,
      "is not the name of a host",
      'Write a name such as tools.example.com, with a port if it matters, or "*.example.com".',
    ).transform(lowerCase),
    allowedOrigins: words(
      "Web pages that may use the gateway, such as https://app.example.com.",
      ORIGIN,
      "is not an origin",
      "Write the scheme, the host and nothing after it, such as https://app.example.com.",
    ).transform(lowerCase),
    tls: object("Serve HTTPS.", {
      cert: text("a file in PEM, relative to this folder").required(),
      key: text("a file in PEM, relative to this folder").required(),
    }),
    auth: oneOf("token: who calls must show one (the default); none: everyone who can reach it may use it.", [
      "token",
      "none",
    ]),
    oauth: object("Take the tokens of an OAuth issuer too.", {
      issuer: text("the URL that the issuer calls itself").required().transform(checkUrl(true)),
      audience: text("Whom tokens are made for (default: resource)."),
      jwksUrl: text("Where the issuer's keys are (default: as its metadata says).").transform(checkUrl(true)),
      scopes: words(
        "Scopes that every token must have.",
        SCOPE,
        "is not a scope",
        "Write one scope per entry, without spaces.",
      ),
      resource: text("The URL under which clients reach the gateway.").transform(checkUrl(false)),
      clientId: text("The gateway's own client at the issuer, for logins of callers at servers."),
      clientSecret: text("The secret of that client; write a reference such as ${NAME}."),
    }),
    publicUrl: text(
      "The URL under which browsers reach the gateway, before /mcp; links to logins use it.",
    ).transform(checkUrl(false)),
    console: oneOf(
      "local: browsers of this computer reach the console (the default); off: nobody; all: everybody who reaches the gateway.",
      ["local", "off", "all"],
    ),
    callers: list("Who else may use the gateway, and which tools they see.", CALLER),
    approval: list(
      "Calls that wait for a person before they run; the first rule that matches applies.",
      APPROVAL_RULE,
    ),
    limits: object("rate and concurrency hold for each caller that says nothing itself.", {
      ...CALLER_LIMITS,
      bodyBytes: count(1, `The largest request (default ${bodyBytes}).`),
      sessions: count(1, `Sessions of legacy clients, all together (default ${sessions}).`),
      sessionIdleMs: duration("A session that is silent for this long ends (default 30m).").key(
        "session_idle",
      ),
      suspended: count(
        1,
        `Calls of one caller that wait for an answer to a question (default ${suspended}).`,
      ),
      suspendedForMs: duration("How long such a call waits (default 10m).").key("suspended_for"),
    }),
    budgets: BUDGETS,
    loops: LOOPS,
    transports: object("Older ways to reach the gateway, beside Streamable HTTP.", {
      sse: flag("HTTP+SSE (default false)."),
      websocket: flag("WebSocket (default false)."),
    }),
    pageSize: count(1, `How many entries one page of a list has (default ${pageSize}).`),
    maxResultBytes: count(
      0,
      `The largest result that is passed on whole; 0 is any (default ${maxResultBytes}). A server may say its own.`,
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
          "Write the URL under which clients reach it, such as resource: https://tools.example.com/mcp.",
        );
      checkCallers(at.node, oauth !== undefined, at);
      checkBudgets(at.node, RESERVED_NAMES, at);
      checkApprovalCallers(at.node, RESERVED_NAMES, at);
      if (draft.auth !== "none") return;
      for (const name of ["oauth", "callers"] as const)
        if (at.entry(name) !== undefined)
          at.error(
            name,
            `gateway.${name} does not fit here: auth: none lets everyone in without a token`,
            `Take out auth: none, or ${name}.`,
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

/** The lists of tool patterns in the rules of callers, in approval rules and in budgets. */
export function toolsNamedByGateway(gateway: TextNode | undefined): TextNode[] {
  const listed = (name: string): readonly TextNode[] => {
    const node = nodeAt(gateway, name);
    if (node?.kind === "object") return node.entries.map(({ value }) => value);
    return node?.kind === "list" ? node.items : [];
  };
  const rules = listed("callers").flatMap((caller) =>
    ["allow", "deny"].flatMap((name) => nodeAt(caller, name) ?? []),
  );
  return [...rules, ...listed("approval"), ...listed("budgets")].flatMap((one) => nodeAt(one, "tools") ?? []);
}
