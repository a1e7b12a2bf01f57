// Outcome of an approval, and the tool error that a client gets for a call that was not approved.

import { NOT_MADE } from "../../errors/index.ts";
import type { ApprovalWay, CallToolResult } from "../../model/index.ts";

export type Outcome =
  | { readonly kind: "approved" }
  | { readonly kind: "denied"; readonly by: ApprovalWay; readonly reason?: string }
  /** The time ended without a decision. */
  | { readonly kind: "expired"; readonly afterMs: number }
  /** No person can decide. */
  | {
      readonly kind: "unavailable";
      readonly by: readonly ApprovalWay[];
      /** The program left the decision to others. */
      readonly isLeft?: boolean;
    }
  /** No approval can be bound to the arguments. */
  | { readonly kind: "unbound" }
  /** The gateway stopped. */
  | { readonly kind: "stopped" };

export type Refused = Exclude<Outcome, { readonly kind: "approved" }>;

/** The reason of a denial because the program failed to decide. */
export const UNDECIDED = "The program could not decide.";

const DENIALS: Readonly<Record<ApprovalWay, string>> = {
  console: "a person denied the call in the console",
  terminal: "a person denied the call in the terminal",
  caller: "a person denied the call in this client",
  program: "the program that runs this gateway denied the call",
};

/** The same call can succeed later without a change of the config. */
const RETRYABLE: ReadonlySet<Refused["kind"]> = new Set(["expired", "stopped"]);

export function toRefusal(outcome: Refused, tool: string): CallToolResult {
  const message = `${tool} did not run: ${describeRefusal(outcome)}`;
  const error = {
    ...{ code: `approval_${outcome.kind}`, message, retryable: RETRYABLE.has(outcome.kind) },
    ...{ errorCode: "FORBIDDEN", hint: NOT_MADE, neverRan: true },
  };
  return { content: [{ type: "text", text: message }], isError: true, _meta: { "portolan/error": error } };
}

/** Sentences for a model, which say whether to repeat the call. */
export function describeRefusal(outcome: Refused): string {
  switch (outcome.kind) {
    case "denied": {
      if (outcome.by === "program" && outcome.reason === UNDECIDED)
        return "the call needs approval, and the program that runs this gateway failed to decide about the call. Nobody denied the call.";
      const who = outcome.by === "program" ? "The program" : "The person";
      const reason = outcome.reason === undefined ? "" : ` ${who} gave this reason: ${outcome.reason}`;
      return `${DENIALS[outcome.by]}.${reason || " Do not repeat the call without asking the user."}`;
    }
    case "expired":
      return `nobody approved the call within ${formatTime(outcome.afterMs)}. Ask the user to approve it, then send the same call again.`;
    case "unavailable":
      if (outcome.isLeft === true)
        return "the call needs approval. The program that runs this gateway did not decide, and nobody else can approve the call.";
      return outcome.by.includes("caller")
        ? "the call needs approval, but this client cannot ask its user (for example, because the client does not support elicitation), and nobody else can approve the call."
        : `the call needs approval by ${outcome.by.join(" or ")}, but nobody can approve calls in this way at this gateway now.`;
    case "unbound":
      return "the call needs approval, but the gateway cannot process its arguments for an approval: the arguments are nested too deeply, or contain invalid characters.";
    case "stopped":
      return "the gateway stopped while the call waited for approval. Send the same call again when the gateway runs.";
  }
}

function formatTime(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000));
  if (seconds === 1) return "a second";
  return seconds < 120 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`;
}
