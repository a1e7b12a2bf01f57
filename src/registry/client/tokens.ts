// Tokens of registries: each one is for the registry of its own setting, and for no other.

import { parseUrl } from "../../base/net/urls.ts";
import type { RegistrySettings } from "./client.ts";

type TokenSettings = Pick<RegistrySettings, "url" | "token">;

export interface TokenOptions {
  readonly registries: readonly TokenSettings[];
  /** PORTOLAN_REGISTRY_TOKEN is the token of the first registry of PORTOLAN_REGISTRY. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Resolves a secret reference. */
  readonly resolve: (reference: string) => Promise<string | undefined>;
}

/** The token of the registry with this URL. Undefined if no setting has one. */
export async function tokenOfRegistry(
  registry: string,
  { registries, env = {}, resolve }: TokenOptions,
): Promise<string | undefined> {
  const isSame = ({ url }: TokenSettings): boolean => isSameRegistry(url, registry);
  const [named] = (env["PORTOLAN_REGISTRY"] ?? "").split(/\s+/).filter((url) => url !== "");
  const own = env["PORTOLAN_REGISTRY_TOKEN"] ?? "";
  if (named !== undefined && own !== "" && isSame({ url: named })) return own;
  const token = registries.find((one) => isSame(one) && one.token !== undefined)?.token;
  return token === undefined ? undefined : resolve(token);
}

/** True if both URLs, or both folders, are one registry. */
export function isSameRegistry(a: string, b: string): boolean {
  return normalized(a) === normalized(b);
}

function normalized(url: string): string {
  return (parseUrl(url)?.href ?? url).replace(/\/$/, "");
}
