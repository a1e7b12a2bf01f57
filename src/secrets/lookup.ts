// Looks up one reference: in the store, in the environment alone, or in a file.

import { isAbsolute, resolve } from "node:path";
import { type ErrorCode, isPortolanError } from "../errors/index.ts";
import type { Reference } from "../model/index.ts";
import { isPlainVariable } from "./sources/environment.ts";
import { readLimited } from "../base/files/limited-read.ts";
import { Secret } from "./secret.ts";
import type { SecretStore } from "./store.ts";

export type Lookup =
  | {
      readonly kind: "found";
      readonly secret: Secret;
      /** No secret, such as a home folder. */ readonly plain: boolean;
    }
  | { readonly kind: "missing" }
  | {
      readonly kind: "failed";
      readonly code: ErrorCode;
      readonly message: string;
      readonly hint?: string;
      readonly cause?: unknown;
    };

const MAX_FILE_BYTES = 1024 * 1024;

export async function lookUp(reference: Reference, store: SecretStore, baseDir: string): Promise<Lookup> {
  if (reference.kind === "file") return await readReferencedFile(reference.name, store, baseDir);
  try {
    const found = await store.get(reference.name, reference.kind === "env" ? { from: "environment" } : {});
    if (found === undefined) return { kind: "missing" };
    const plain =
      reference.kind !== "secret" && found.source === "environment" && isPlainVariable(reference.name);
    return { kind: "found", secret: found.secret, plain };
  } catch (error) {
    if (!isPortolanError(error)) throw error;
    const { code, message, hint, cause } = error;
    return { kind: "failed", code, message, hint, cause };
  }
}

async function readReferencedFile(
  path: string,
  { checkFile }: Pick<SecretStore, "checkFile">,
  baseDir: string,
): Promise<Lookup> {
  const whole = resolve(baseDir, path);
  const refused = await checkFile?.(whole);
  if (refused !== undefined)
    return {
      kind: "failed",
      code: "SANDBOX_DENIED",
      message: `The referenced file ${path} cannot be used: ${refused.reason}.`,
      hint: refused.hint,
    };
  const failed = (why: string, hint: string): Lookup => ({
    kind: "failed",
    code: "FILE_FAILED",
    message: `The referenced file ${path} cannot be used: ${why}.`,
    hint,
  });
  let text: string;
  try {
    const bytes = await readLimited(whole, MAX_FILE_BYTES);
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") {
      const place = isAbsolute(path) ? "" : `, which is relative to ${baseDir}`;
      return failed("there is no such file", `Create the file, or correct the path${place}.`);
    }
    return code === "ERR_ENCODING_INVALID_ENCODED_DATA"
      ? failed("it is not text (UTF-8)", "Save the file as UTF-8 text.")
      : failed(message, `Check the file ${whole} and its permissions.`);
  }
  if (text === "") return failed("it is empty", `Write the value into the file ${whole}.`);
  return { kind: "found", secret: new Secret(text), plain: false };
}
