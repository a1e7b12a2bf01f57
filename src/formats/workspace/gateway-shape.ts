// The shape of the `gateway` section of portolan.yaml.

import { GATEWAY_DEFAULTS } from "../../model/index.ts";
import type { ObjectShape, Shape } from "../text/index.ts";

const TRAITS = ["read-only", "destructive", "idempotent", "open-world"].flatMap((trait) => [
  trait,
  `not-${trait}`,
]);

export const RATE_PATTERN = "^\\d+(\\.\\d+)?\\s*/\\s*(s|m|h)$";
export const HOST_PATTERN = "^(\\*\\.)?([A-Za-z0-9_.-]+|\\[[0-9A-Fa-f:.]+\\])(:\\d+)?$";
export const ORIGIN_PATTERN = "^[A-Za-z][A-Za-z0-9+.-]*://[^/?#@\\s]+$";
export const CALLER_PATTERN = "^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}$";
export const SHA256_PATTERN = "^[0-9A-Fa-f]{64}$";
/** What RFC 6749 lets a scope hold, which is also safe between quotes in a header. */
export const SCOPE_PATTERN = "^[\\x21\\x23-\\x5B\\x5D-\\x7E]+$";

const words = (description: string, pattern?: string): Shape => ({
  type: "list",
  items: { type: "string", ...(pattern === undefined ? {} : { pattern }) },
  description,
});
const count = (minimum: number, description: string): Shape => ({
  type: "number",
  integer: true,
  minimum,
  description,
});

const CALLER_LIMITS: Readonly<Record<string, Shape>> = {
  rate: {
    type: "union",
    options: [
      { type: "string", pattern: RATE_PATTERN },
      {
        type: "object",
        fields: {
          per_second: { type: "number", required: true, description: "requests in a second, on average" },
          burst: count(1, "How many may come at once after a silence."),
        },
      },
    ],
    description: "How many requests a caller may make, such as 100/s, 600/m, or {per_second: 10, burst: 50}.",
  },
  concurrency: count(1, "How many requests of a caller may run at the same time."),
};

const rules = (description: string): ObjectShape => ({
  type: "object",
  description,
  fields: {
    tools: words("Names that the gateway offers, or alias.tool; * stands for anything."),
    servers: words("Aliases of servers."),
    tags: words("Tags of servers."),
    annotations: {
      type: "list",
      items: { type: "string", enum: TRAITS },
      description: "What the server itself says about its tools.",
    },
  },
});

const CALLER: ObjectShape = {
  type: "object",
  fields: {
    name: {
      type: "string",
      pattern: CALLER_PATTERN,
      required: true,
      description: "what logs call this caller",
    },
    token: {
      type: "string",
      description: "Its bearer token; a ${NAME} reference, so that it stands elsewhere.",
    },
    token_sha256: {
      type: "string",
      // One of digits only is still a text.
      scalars: true,
      pattern: SHA256_PATTERN,
      description: "In place of the token: its SHA-256 in hex.",
    },
    oauth: {
      type: "object",
      description: "Which tokens of the OAuth issuer are this caller's; {} is any.",
      fields: {
        subject: { type: "string", scalars: true, description: "The claim sub." },
        scope: { type: "string", description: "A scope that the token has, or several with spaces between." },
        claim: {
          type: "map",
          values: { type: "string", scalars: true },
          description: "Claims by name; one that is a list must hold the value.",
        },
      },
    },
    allow: rules("Only these tools are offered: every kind that is given must match."),
    deny: rules("These tools are not offered, even when allowed: one match is enough."),
    limits: { type: "object", description: "What holds for this caller.", fields: CALLER_LIMITS },
  },
};

const { host, port, bodyBytes, sessions, parked, pageSize, maxResultBytes } = GATEWAY_DEFAULTS;

export const GATEWAY_SHAPE: ObjectShape = {
  type: "object",
  description: "The gateway: where it listens, who may use it, and how much of it.",
  fields: {
    host: { type: "string", description: `The address to listen at (default ${host}).` },
    port: count(0, `The port to listen at; 0 is any free one (default ${port}).`),
    allowed_hosts: words(
      "Names under which the gateway may be reached, with or without a port; *.name is every name below it.",
      HOST_PATTERN,
    ),
    allowed_origins: words(
      "Web pages that may use the gateway, such as https://app.example.com.",
      ORIGIN_PATTERN,
    ),
    tls: {
      type: "object",
      description: "Serve HTTPS.",
      fields: {
        cert: { type: "string", required: true, description: "a file in PEM, relative to this folder" },
        key: { type: "string", required: true, description: "a file in PEM, relative to this folder" },
      },
    },
    auth: {
      type: "string",
      enum: ["token", "none"],
      description:
        "token: who calls must show one (the default); none: everyone who can reach it may use it.",
    },
    oauth: {
      type: "object",
      description: "Take the tokens of an OAuth issuer too.",
      fields: {
        issuer: { type: "string", required: true, description: "the URL that the issuer calls itself" },
        audience: { type: "string", description: "Whom tokens are made for (default: resource)." },
        jwks_url: {
          type: "string",
          description: "Where the issuer's keys are (default: as its metadata says).",
        },
        scopes: words("Scopes that every token must have.", SCOPE_PATTERN),
        resource: { type: "string", description: "The URL under which clients reach the gateway." },
      },
    },
    callers: {
      type: "list",
      items: CALLER,
      description: "Who else may use the gateway, and which tools they see.",
    },
    limits: {
      type: "object",
      description: "rate and concurrency hold for each caller that says nothing itself.",
      fields: {
        ...CALLER_LIMITS,
        body_bytes: count(1, `The largest request (default ${bodyBytes}).`),
        sessions: count(1, `Sessions of legacy clients, all together (default ${sessions}).`),
        session_idle: {
          type: "duration",
          description: "A session that is silent for this long ends (default 30m).",
        },
        parked: count(1, `Calls of one caller that wait for an answer to a question (default ${parked}).`),
        parked_for: { type: "duration", description: "How long such a call waits (default 10m)." },
      },
    },
    transports: {
      type: "object",
      description: "Older ways to reach the gateway, beside Streamable HTTP.",
      fields: {
        sse: { type: "boolean", description: "HTTP+SSE (default false)." },
        websocket: { type: "boolean", description: "WebSocket (default false)." },
      },
    },
    page_size: count(1, `How many entries one page of a list has (default ${pageSize}).`),
    max_result_bytes: count(
      0,
      `The largest result that is passed on whole; 0 is any (default ${maxResultBytes}). A server may say its own.`,
    ),
  },
};
