// Redacts errors: message, hint, stderr, data, stack and causes.

import { isPortolanError, PortolanError } from "../../errors/index.ts";
import type { Redactor } from "./redactor.ts";
import { REDACTED } from "../secret.ts";

const MAX_CAUSES = 8;

/** Returns the same error if it contains no secret, otherwise a redacted copy. */
export function withRedactedError(error: PortolanError, redactor: Redactor): PortolanError {
  return redactPortolan(error, redactor, 0);
}

function redactPortolan(error: PortolanError, redactor: Redactor, depth: number): PortolanError {
  const optional = (text: string | undefined): string | undefined =>
    text === undefined ? undefined : redactor.redactText(text);
  const message = redactor.redactText(error.message);
  const place = {
    // The name of a server without an alias is its URL or command.
    server: optional(error.server),
    tool: optional(error.tool),
    hint: redactor.redactText(error.hint),
    stderr: optional(error.stderr),
    data: redactor.redactValue(error.data),
    cause: redactCause(error.cause, redactor, depth + 1),
  };
  const stack = optional(error.stack);
  const same =
    message === error.message &&
    stack === error.stack &&
    (Object.keys(place) as (keyof typeof place)[]).every((key) => place[key] === error[key]);
  if (same) return error;
  const clean = new PortolanError(error.code, message, place);
  if (stack !== undefined) clean.stack = stack;
  return clean;
}

function redactCause(cause: unknown, redactor: Redactor, depth: number): unknown {
  if (cause === undefined) return undefined;
  if (depth > MAX_CAUSES) return REDACTED;
  if (isPortolanError(cause)) return redactPortolan(cause, redactor, depth);
  if (!(cause instanceof Error)) return redactor.redactValue(cause);
  const message = redactor.redactText(cause.message);
  const stack = redactor.redactText(cause.stack ?? "");
  const inner = redactCause(cause.cause, redactor, depth + 1);
  // Errors of Node.js have more fields, such as `path`, `spawnargs` and the `input` of an invalid URL.
  const facts = Object.entries(cause).filter(([key]) => !["message", "stack", "name", "cause"].includes(key));
  const cleanFacts = facts.map(([key, fact]) => [key, redactCause(fact, redactor, depth + 1)] as const);
  const same =
    message === cause.message &&
    stack === (cause.stack ?? "") &&
    inner === cause.cause &&
    facts.every(([, fact], index) => fact === cleanFacts[index]?.[1]);
  if (same) return cause;
  const clean = new Error(message, inner === undefined ? undefined : { cause: inner });
  Object.defineProperty(clean, "name", { value: cause.name, configurable: true, writable: true });
  Object.assign(clean, Object.fromEntries(cleanFacts));
  clean.stack = stack;
  return clean;
}
