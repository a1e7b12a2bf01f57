// Bearer tokens by their SHA-256: what is looked up says nothing about the token, however long the look takes.

import { hash } from "node:crypto";
import { PortolanError, type Report } from "../../errors/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import type { Principal } from "./types.ts";

const SHORT = 16;
/** RFC 6750: what may stand after Bearer. */
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

export function toHash(token: string): string {
  return hash("sha256", token, "hex");
}

/** The token after `Bearer`, or nothing. */
export function bearerOf(header: string | undefined): string | undefined {
  if (header === undefined || header.length < 8 || header[6] !== " ") return undefined;
  if (header.slice(0, 6).toLowerCase() !== "bearer") return undefined;
  const token = header.slice(7).trim();
  return token === "" ? undefined : token;
}

/** Who has which token. A token that two would share names nobody, so that is an error. */
export function indexTokens(
  settings: GatewaySettings,
  local: { readonly token: string | undefined; readonly principal: Principal },
  callers: ReadonlyMap<string, Principal>,
  report: Report,
): Map<string, Principal> {
  const index = new Map<string, Principal>();
  const add = (key: string, principal: Principal): void => {
    const other = index.get(key);
    if (other !== undefined)
      throw new PortolanError("CONFIG_INVALID", `${other.name} and ${principal.name} have the same token`, {
        hint: "Give each caller of the gateway a token of its own.",
      });
    index.set(key, principal);
  };
  if (local.token !== undefined) add(toHash(local.token), local.principal);
  for (const { name, token, tokenSha256 } of settings.callers ?? []) {
    const principal = callers.get(name);
    if (principal === undefined) continue;
    if (tokenSha256 !== undefined) add(tokenSha256.toLowerCase(), principal);
    if (token === undefined) continue;
    checkToken(name, token, report);
    add(toHash(token), principal);
  }
  return index;
}

function checkToken(name: string, token: string, report: Report): void {
  if (!TOKEN.test(token))
    throw new PortolanError("CONFIG_INVALID", `the token of the caller ${name} cannot stand in a header`, {
      hint: "A token has at least one letter, digit or one of - . _ ~ + /, and no spaces.",
    });
  if (token.length < SHORT)
    report({
      code: "CONFIG_INVALID",
      severity: "warning",
      message: `the token of the caller ${name} is so short that it can be guessed`,
      hint: "Make one of 32 random bytes: openssl rand -base64 32.",
    });
}
