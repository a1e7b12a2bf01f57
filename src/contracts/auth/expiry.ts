// Detects from a failure that a login has expired, by the sign that the driver declares.

import { type PortolanError, isPortolanError } from "../../errors/index.ts";
import { isObject } from "../../model/index.ts";
import type { Failure } from "../dispatch/failure.ts";
import type { ExpirySigns } from "../driver/bound-tool.ts";

/** `exit_code:N`, `http_status:N`, `exception:Name` or `header:NAME:VALUE`; several are separated by commas or spaces. */
export function isExpired(detect: string | undefined, signs: ExpirySigns): boolean {
  if (detect === undefined) return false;
  return detect
    .split(/[\s,]+(?=(?:exit_code|http_status|exception|header):)/)
    .some((sign) => matches(sign.trim(), signs));
}

function matches(sign: string, { exitCode, httpStatus, exception, headers }: ExpirySigns): boolean {
  const cut = sign.indexOf(":");
  const [kind, rest] = [sign.slice(0, cut), sign.slice(cut + 1)];
  switch (kind) {
    case "exit_code":
      return exitCode !== undefined && exitCode === Number(rest);
    case "http_status":
      return httpStatus !== undefined && httpStatus === Number(rest);
    case "exception":
      return exception !== undefined && startsWithWord(exception, rest);
    case "header": {
      const colon = rest.indexOf(":");
      const name = rest.slice(0, colon).toLowerCase();
      const found = Object.entries(headers ?? {}).find(([key]) => key.toLowerCase() === name);
      return found?.[1] === rest.slice(colon + 1).trim();
    }
    default:
      return false;
  }
}

/** The signs in a failed call. The error text of a tool begins with the name of the exception, as programs print it. */
export function signsOf({ error }: Failure): ExpirySigns {
  const cause: PortolanError | undefined = isPortolanError(error.cause) ? error.cause : undefined;
  const { status, exitCode, headers } = cause?.data ?? {};
  return {
    exitCode: typeof exitCode === "number" ? exitCode : undefined,
    httpStatus: typeof status === "number" ? status : undefined,
    headers: isObject(headers) ? (headers as Record<string, string>) : undefined,
    exception: error.message,
  };
}

function startsWithWord(text: string, word: string): boolean {
  const at = text.startsWith(word) ? 0 : text.search(/\S/);
  const rest = text.slice(Math.max(0, at));
  return word !== "" && rest.startsWith(word) && !/^\w/.test(rest.slice(word.length));
}
