// Drivers, contracts and secrets written as code: the same declarations as the files, checked by the same rules, with functions beside them.

import { type Diagnostic, PortolanError } from "../errors/index.ts";
import { parseDriver, parseSecrets, parseTool } from "../formats/driver/index.ts";
import type { Contract, Driver, JsonObject, SecretEntry, SecretOperation } from "../model/index.ts";
import type {
  BindingDefinition,
  McpDriverDefinition,
  SecretDefinition,
  ToolContractDefinition,
} from "./define-types.ts";
import { toFrontmatter } from "./frontmatter-text.ts";
import { toJsonSchema } from "./json-schema-of.ts";
import {
  type Access,
  checkAccess,
  type FetchSecret,
  SecretGrants,
  type SecretSubject,
} from "./secret-grants.ts";
import type { DriverHooks } from "./types.ts";

export interface ToolHandle {
  readonly kind: "tool";
  readonly contract: Contract;
}

export interface DriverHandle {
  readonly kind: "driver";
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  /** Fields that were written, as the definition names them. */
  readonly given: readonly string[];
}

export interface SecretHandle {
  readonly kind: "secret";
  readonly entry: SecretEntry;
  checkAccess(operation: SecretOperation, subject: SecretSubject): Access;
  /** Checks the access first; rejects when it is not granted. */
  reveal(subject: SecretSubject): Promise<string>;
}

const CODE = "the definition";
const HOOKS = ["buildArguments", "parseToolResult", "login", "refresh", "detectExpiry", "execute"] as const;

/** Throws with everything that is wrong at once. */
export function defineDriver(definition: McpDriverDefinition): DriverHandle {
  const { implements: bindings, version = "0.0.0", ...rest } = definition;
  const hooks: DriverHooks = {};
  const fields: JsonObject = {};
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined) continue;
    if ((HOOKS as readonly string[]).includes(name)) Object.assign(hooks, { [name]: value });
    else fields[name] = value;
  }
  const text = toFrontmatter({ ...fields, version, implements: bindings.map(toBinding) });
  const { driver, diagnostics } = parseDriver(text, `${definition.id}/driver.ts`);
  if (driver === undefined) throw invalid(`driver ${definition.id}`, diagnostics);
  return { kind: "driver", driver, hooks, given: [...Object.keys(fields), "implements", "version"] };
}

function toBinding({ tool, version, ...rest }: BindingDefinition): JsonObject {
  const isHandle = typeof tool !== "string";
  return {
    ...rest,
    tool: isHandle ? tool.contract.id : tool,
    version: version ?? (isHandle ? `^${tool.contract.version}` : "*"),
  };
}

export function defineTool(definition: ToolContractDefinition): ToolHandle {
  const { inputSchema, outputSchema, contextSchema, metadata, name, version = "0.0.0", ...rest } = definition;
  const text = toFrontmatter({
    ...rest,
    name: name ?? definition.id,
    version,
    inputs: toJsonSchema(inputSchema, "input"),
    outputs: toJsonSchema(outputSchema, "output"),
    ...(metadata === undefined && contextSchema === undefined
      ? {}
      : {
          metadata: {
            ...metadata,
            ...(contextSchema === undefined ? {} : { contextSchema: toJsonSchema(contextSchema, "input") }),
          },
        }),
  });
  const { contract, diagnostics } = parseTool(text, `${definition.id}/tool.ts`);
  if (contract === undefined) throw invalid(`tool ${definition.id}`, diagnostics);
  return { kind: "tool", contract };
}

/** Without `fetch`, access can be asked about but nothing revealed. */
export function defineSecret(definition: SecretDefinition, fetch?: FetchSecret): SecretHandle {
  const { secrets, diagnostics } = parseSecrets(
    toFrontmatter({ secrets: [definition] }),
    `${definition.slug}/secret.ts`,
  );
  const [entry] = secrets;
  if (entry === undefined || diagnostics.some(({ severity }) => severity === "error"))
    throw invalid(`secret ${definition.slug}`, diagnostics);
  const grants = new SecretGrants([entry], fetch ?? (async () => undefined));
  return {
    kind: "secret",
    entry,
    checkAccess: (operation, subject) => checkAccess(entry, operation, subject),
    reveal: (subject) => grants.reveal(entry.slug, subject),
  };
}

/** The declaration and the code of one driver: where both say something, the declaration holds, and a warning names the field. */
export function mergeEntry(
  declared: Driver,
  handle: DriverHandle,
): { readonly driver: Driver; readonly hooks: DriverHooks; readonly warnings: readonly Diagnostic[] } {
  const warnings: Diagnostic[] = [];
  for (const field of handle.given) {
    const [key, written] = FIELDS[field] ?? [undefined, undefined];
    if (key === undefined || sameAs(declared[key], handle.driver[key])) continue;
    warnings.push({
      code: "DECLARATION_INVALID",
      severity: "warning",
      server: declared.id,
      file: declared.origin.file,
      path: `/${written}`,
      message: `${declared.id}: ${field} of the entry module differs from ${written} of the declaration, which holds`,
      hint: "Say it in one place only.",
    });
  }
  return { driver: declared, hooks: handle.hooks, warnings };
}

/** What a field of a definition is in the model, and in a file. */
const FIELDS: Readonly<Record<string, readonly [keyof Driver, string]>> = {
  id: ["id", "id"],
  name: ["name", "name"],
  description: ["description", "description"],
  version: ["version", "version"],
  implements: ["implements", "implements"],
  server: ["server", "server"],
  transport: ["transport", "transport"],
  protocolVersion: ["protocolVersion", "protocol_version"],
  prompts: ["prompts", "prompts"],
  resources: ["resources", "resources"],
  connectionOptions: ["connection", "connection_options"],
  auth: ["auth", "auth"],
  region: ["region", "region"],
  policyTags: ["policyTags", "policy_tags"],
  costOverride: ["cost", "cost_override"],
  timeoutOverrideMs: ["timeoutMs", "timeout_override_ms"],
  retryOverride: ["retry", "retry_override"],
  healthCheck: ["healthCheck", "health_check"],
  tags: ["tags", "tags"],
  metadata: ["metadata", "metadata"],
  network: ["launch", "network"],
  install: ["launch", "install"],
  versionCheck: ["launch", "version_check"],
  sandbox: ["launch", "sandbox"],
};

/** Where something stands is not what it says. */
function sameAs(a: unknown, b: unknown): boolean {
  const plain = (value: unknown): string =>
    JSON.stringify(value, (key, inner: unknown) => (key === "origin" ? undefined : inner)) ?? "";
  return plain(a) === plain(b);
}

function invalid(what: string, diagnostics: readonly Diagnostic[]): PortolanError {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const shown = errors.map(({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`));
  return new PortolanError("DECLARATION_INVALID", `The ${what} is not valid: ${shown.join("; ")}`, {
    hint: `Correct ${CODE}.`,
    data: { problems: errors },
  });
}
