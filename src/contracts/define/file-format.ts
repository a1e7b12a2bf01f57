// Definitions in code as the text of the file that says the same: names of fields, front matter, and JSON Schema.

import { PortolanError } from "../../errors/index.ts";
import { type Driver, isObject, type JsonObject, type JsonSchema } from "../../model/index.ts";
import type { AnySchema } from "./definitions.ts";

export interface DriverField {
  /** Its key in a DRIVER.md. */
  readonly key: string;
  readonly of: (driver: Driver) => unknown;
}

const field = (key: string, of: DriverField["of"]): DriverField => ({ key, of });

/** Fields of a driver's definition in code, by name. */
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
  // These fields are for readers and for other hosts.
  examples: field("examples", () => undefined),
  runner: field("runner", () => undefined),
};

/** Values under these keys have names of the author, or of another format. */
const FREE: ReadonlySet<string> = new Set([
  "mapping",
  "argumentMapping",
  "argument_mapping",
  "env",
  "headers",
  "inputs",
  "outputs",
  "input",
  "output",
  // SECRETS.md has camelCase there.
  "access",
  "exposures",
  "pathArguments",
]);
const SCHEMA_TARGET = "draft-2020-12";

/** The key of a field in a file: `riskLevel` is `risk_level`. */
export function toFileKey(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** JSON is YAML, so that no YAML writer is needed. */
export function toFrontmatter(definition: JsonObject): string {
  return `---\n${JSON.stringify(rename(definition), undefined, 1)}\n---\n`;
}

function rename(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rename);
  // JSON would drop a function silently. As a text it is refused where it does not belong.
  if (typeof value === "function") return "[code]";
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]) => [toFileKey(key), renameUnder(key, inner)]),
  );
}

function renameUnder(key: string, value: unknown): unknown {
  if (FREE.has(key)) return value;
  if (key !== "metadata" || !isObject(value)) return rename(value);
  // Of the metadata, only `mcp` belongs to this format.
  return { ...value, ...(isObject(value.mcp) ? { mcp: rename(value.mcp) } : {}) };
}

/** A schema of any library as JSON Schema, without loading the library. */
export function toJsonSchema(
  schema: AnySchema,
  side: "input" | "output",
  contract: string,
  field: string = `${side}Schema`,
): JsonSchema {
  // Programs without types may give no schema at all, or the field of a TOOL.md by its name there.
  if (!isObject(schema) && typeof schema !== "function")
    throw new PortolanError(
      "CONFIG_INVALID",
      `${field} of the contract ${contract} is missing, or is not a schema.`,
      {
        hint: `Write a JSON Schema, such as ${field}: { type: "object" }, or a schema of a library such as Zod 4.`,
      },
    );
  const standard = (schema as { readonly "~standard"?: unknown })["~standard"];
  if (!isObject(standard)) return schema;
  const { jsonSchema } = standard;
  const convert: unknown = isObject(jsonSchema) ? jsonSchema[side] : undefined;
  if (typeof convert === "function")
    return toPlain((convert as (options: object) => unknown).call(jsonSchema, { target: SCHEMA_TARGET }));
  const own = (schema as { readonly toJSONSchema?: unknown }).toJSONSchema;
  if (typeof own === "function")
    return toPlain((own as (options: object) => unknown).call(schema, { target: SCHEMA_TARGET, io: side }));
  throw new PortolanError(
    "CONFIG_INVALID",
    `${field} of the contract ${contract} cannot be converted to JSON Schema.`,
    {
      hint: "Give a JSON Schema, or a schema of a library that supports Standard JSON Schema, such as Zod 4.",
    },
  );
}

function toPlain(value: unknown): JsonSchema {
  return JSON.parse(JSON.stringify(value)) as JsonSchema;
}
