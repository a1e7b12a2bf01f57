// Source of secrets: a function of the program that uses the library.

import { PortolanError } from "../../errors/index.ts";
import { Secret } from "../secret.ts";
import type { SecretSource } from "./source.ts";

/** Returns the value of a secret, or undefined if there is none. */
export type SecretLookup = (name: string) => string | undefined | Promise<string | undefined>;

/** A lookup that the function has not answered rejects when `closed` aborts. */
export function createProgramSource(lookup: SecretLookup, closed?: AbortSignal): SecretSource {
  return {
    name: "program",
    async get(name) {
      const value: unknown = await unlessClosed(call(lookup, name), name, closed);
      if (value === undefined || value === null || value === "") return undefined;
      if (typeof value === "string") return new Secret(value);
      throw new PortolanError(
        "SECRET_STORE_FAILED",
        `The function "secrets" that your program passed to Portolan returned a value of type ${typeof value} for ${name} instead of a string.`,
        { hint: "Return the value as a string, or undefined." },
      );
    },
    async check() {
      return { ok: true, note: "a function of the program" };
    },
  };
}

function unlessClosed<T>(answer: Promise<T>, name: string, closed: AbortSignal | undefined): Promise<T> {
  if (closed === undefined) return answer;
  return new Promise((resolve, reject) => {
    const abandon = (): void =>
      reject(
        new PortolanError("CONNECTION_CLOSED", `The workspace was closed while Portolan looked up ${name}.`),
      );
    if (closed.aborted) abandon();
    else closed.addEventListener("abort", abandon, { once: true });
    answer.then(resolve, reject).finally(() => closed.removeEventListener("abort", abandon));
  });
}

async function call(lookup: SecretLookup, name: string): Promise<unknown> {
  try {
    return await lookup(name);
  } catch (error) {
    // The message of the program may contain values, and messages reach the clients of a gateway.
    throw new PortolanError(
      "SECRET_STORE_FAILED",
      `The function "secrets" that your program passed to Portolan failed for ${name}.`,
      {
        cause: error,
        hint: "Log the exception in your function. Portolan does not print its message, because it can contain secret values. If a call fails because of it, your program finds the exception in the field `cause` of the error.",
      },
    );
  }
}
