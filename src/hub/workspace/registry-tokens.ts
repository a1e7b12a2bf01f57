// Tokens of the registries of a workspace, resolved when a start must fetch a document or a file from one of them.

import type { LaunchContext } from "../../launch/index.ts";
import { resolveEndpoint, type SecretStore, toSecretError } from "../../secrets/index.ts";
import type { WorkspaceConfig } from "./config.ts";

export function registryTokens(
  { registries = [], folder = process.cwd() }: Pick<WorkspaceConfig, "registries" | "folder">,
  secrets: SecretStore,
): NonNullable<LaunchContext["registryToken"]> {
  const resolve = async (reference: string): Promise<string | undefined> => {
    // A token travels in a header, so it is resolved like the header of an endpoint.
    const endpoint = { transport: "http", url: "http://localhost", headers: { token: reference } } as const;
    const resolved = await resolveEndpoint(endpoint, secrets, { baseDir: folder });
    if (!resolved.ok)
      throw toSecretError({
        ...resolved,
        missing: resolved.missing.map((one) => ({ ...one, where: "the token of a registry" })),
      });
    return "headers" in resolved.endpoint ? resolved.endpoint.headers?.["token"] : undefined;
  };
  return async (registry) => {
    const { tokenOfRegistry } = await import("../../registry/index.ts");
    return tokenOfRegistry(registry, { registries, env: process.env, resolve });
  };
}
