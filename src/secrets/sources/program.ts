// Source of secrets: a function of the program that uses the library.

import { PortolanError } from "../../errors/index.ts";
import { Secret } from "../secret.ts";
import type { SecretSource } from "./source.ts";

/** Returns the value of a secret, or undefined if there is none. */
export type SecretLookup = (name: string) => string | undefined | Promise<string | undefined>;

export function createProgramSource(lookup: SecretLookup): SecretSource {
  return {
    name: "program",
    async get(name) {
      const value: unknown = await call(lookup, name);
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

async function call(lookup: SecretLookup, name: string): Promise<unknown> {
  try {
    return await lookup(name);
  } catch (error) {
    // The message of the program may contain values, and messages reach the clients of a gateway.
    throw new PortolanError(
      "SECRET_STORE_FAILED",
      `The function "secrets" that your program passed to Portolan failed for ${name}.`,
      { cause: error, hint: "The cause of this error is the exception of the function." },
    );
  }
}
