// Transfers between a client and a registry: an HTTP request with limits, or a file of a static folder.

import { join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { readLimited } from "../../base/files/limited-read.ts";
import { boundedFetch, FetchError } from "../../base/net/bounded-fetch.ts";
import { isSecureUrl, publicPart } from "../../base/net/urls.ts";
import { PortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";

export interface TransferRequest {
  readonly method?: "GET" | "POST" | "PUT";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Readable;
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

export interface TransferResult {
  /** 200, 201 or 304. All other answers are errors. */
  readonly status: number;
  readonly bytes: Buffer;
  readonly etag: string | undefined;
}

export interface Transfer {
  /** The registry in messages, without secrets. */
  readonly label: string;
  readonly isFolder: boolean;
  urlOf(path: string): string;
  send(path: string, request: TransferRequest): Promise<TransferResult>;
}

const CONNECT_MS = 10_000;
const SILENCE_MS = 30_000;

export function createTransfer(base: URL, token: (() => Promise<string | undefined>) | undefined): Transfer {
  const root = base.href.endsWith("/") ? base.href : `${base.href}/`;
  const label = base.protocol === "file:" ? fileURLToPath(base) : publicPart(base).replace(/\/$/, "");
  if (base.protocol === "file:")
    return {
      label,
      isFolder: true,
      urlOf: (path) => new URL(path, root).href,
      send: (path, request) => readFolder(base, path, request),
    };
  return {
    label,
    isFolder: false,
    urlOf: (path) => new URL(path, root).href,
    send: async (path, { method = "GET", headers = {}, body, maxBytes, signal }) => {
      const isSecure = isSecureUrl(base);
      // A public registry can be read without a token, so it is left out where others could see it.
      const secret = method === "GET" && !isSecure ? undefined : await token?.();
      if (secret !== undefined && !isSecure) throw notSent(label);
      try {
        const response = await boundedFetch(new URL(path, root), {
          method,
          headers: {
            accept: "application/json, application/jsonl, */*",
            ...headers,
            ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
          },
          ...{ body, maxBytes, signal, silenceMs: SILENCE_MS },
          headersMs: method === "GET" ? CONNECT_MS : SILENCE_MS,
          // The user named the registry, which may be in a private network. Its index is signed.
          ...{ addresses: "any", allowPlaintext: true },
        });
        const { status } = response;
        const bytes = await response.bytes();
        if (status === 401 && !isSecure && (await token?.()) !== undefined) throw notSent(label);
        if (![200, 201, 304].includes(status)) throw answerError(status, bytes, label);
        return { status, bytes, etag: response.headers["etag"] };
      } catch (error) {
        throw error instanceof FetchError ? transferError(error, maxBytes, label) : error;
      }
    },
  };
}

function notSent(label: string): PortolanError {
  return new PortolanError(
    "FORBIDDEN",
    `The token was not sent to the registry ${label}, because the connection is not encrypted.`,
    { hint: "Use the https URL of the registry." },
  );
}

async function readFolder(
  base: URL,
  path: string,
  { method = "GET", maxBytes }: TransferRequest,
): Promise<TransferResult> {
  const folder = fileURLToPath(base);
  if (method !== "GET")
    throw new PortolanError("NOT_SUPPORTED", `The registry ${folder} is a folder and can only be read.`, {
      hint: "Use the URL of the registry. If this folder is the public/ folder of your own registry, start it: portolan registry serve <the folder that contains public/>",
    });
  try {
    return {
      status: 200,
      bytes: await readLimited(join(folder, ...path.split("/")), maxBytes),
      etag: undefined,
    };
  } catch (error) {
    throw new PortolanError(
      "FILE_FAILED",
      `${join(folder, path)} cannot be read: ${(error as Error).message}`,
      {
        hint: "Check the path of the registry: it must name the folder that contains index.jsonl. If it does, restore the file, or make it readable.",
        cause: error,
      },
    );
  }
}

function transferError(error: FetchError, maxBytes: number, label: string): PortolanError {
  if (error.kind === "too-large")
    return new PortolanError(
      "MESSAGE_TOO_LARGE",
      `The registry ${label} sends more than ${maxBytes} bytes.`,
      { hint: "Report this to the operator of the registry." },
    );
  return new PortolanError("HTTP_ERROR", `The registry ${label} cannot be reached: ${error.message}`, {
    hint: "Check the URL and the network.",
    cause: error,
  });
}

const TOKEN_HINT =
  "Set PORTOLAN_REGISTRY_TOKEN for the first registry of --registry or PORTOLAN_REGISTRY. If another registry needs a token, list it in portolan.yaml, with its field token.";

/** The registry's own error if the answer has one, otherwise the status. */
function answerError(status: number, bytes: Buffer, label: string): PortolanError {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString("utf8"));
  } catch {
    value = undefined;
  }
  const error = isObject(value) && isObject(value["error"]) ? value["error"] : {};
  const { message, hint, data } = error;
  const code =
    status === 401
      ? "AUTH_REQUIRED"
      : status === 403
        ? "FORBIDDEN"
        : status === 429
          ? "RATE_LIMITED"
          : undefined;
  const usual = status === 422 && error["code"] === "FILE_INVALID" ? "FILE_INVALID" : "INPUT_INVALID";
  return new PortolanError(
    code ?? (status < 500 && typeof message === "string" ? usual : "HTTP_ERROR"),
    typeof message === "string"
      ? message.slice(0, 20_000)
      : `The registry ${label} answered with the status ${status}.`,
    {
      hint: typeof hint === "string" ? hint.slice(0, 1_000) : status === 401 ? TOKEN_HINT : undefined,
      data: { ...(isObject(data) ? data : {}), status },
    },
  );
}
