// The fields of a driver's definition in code: what a file calls each, and where it ends up.

import type { Driver } from "../../model/index.ts";

export interface DriverField {
  /** Its key in a DRIVER.md. */
  readonly written: string;
  readonly of: (driver: Driver) => unknown;
}

const field = (written: string, of: DriverField["of"]): DriverField => ({ written, of });

export const DRIVER_FIELDS: Readonly<Record<string, DriverField>> = {
  id: field("id", ({ id }) => id),
  name: field("name", ({ name }) => name),
  description: field("description", ({ description }) => description),
  version: field("version", ({ version }) => version),
  implements: field("implements", (driver) => driver.implements),
  server: field("server", ({ server }) => server),
  transport: field("transport", ({ transport }) => transport),
  protocolVersion: field("protocol_version", ({ protocolVersion }) => protocolVersion),
  prompts: field("prompts", ({ prompts }) => prompts),
  resources: field("resources", ({ resources }) => resources),
  connectionOptions: field("connection_options", ({ connection }) => connection),
  install: field("install", ({ launch }) => launch.install),
  versionCheck: field("version_check", ({ launch }) => launch.versionCheck),
  requires: field("requires", ({ launch }) => launch.requires),
  network: field("network", ({ launch }) => launch.sandbox?.network),
  sandbox: field("sandbox", ({ launch }) => ({ ...launch.sandbox, network: undefined })),
  auth: field("auth", ({ auth }) => auth),
  region: field("region", ({ region }) => region),
  policyTags: field("policy_tags", ({ policyTags }) => policyTags),
  costOverride: field("cost_override", ({ cost }) => cost),
  timeoutOverrideMs: field("timeout_override_ms", ({ timeoutMs }) => timeoutMs),
  retryOverride: field("retry_override", ({ retry }) => retry),
  healthCheck: field("health_check", ({ healthCheck }) => healthCheck),
  tags: field("tags", ({ tags }) => tags),
  metadata: field("metadata", ({ metadata }) => metadata),
  // Words for people, and for other hosts.
  examples: field("examples", () => undefined),
  runner: field("runner", () => undefined),
};
