// Drivers, contracts and secrets defined in code: checked by the same rules as the files, with functions beside them.

import { type Diagnostic, didYouMean, PortolanError, withoutFile } from "../../errors/index.ts";
import { parseDriver, parseSecrets, parseTool } from "../../formats/driver/index.ts";
import {
  type Contract,
  type Driver,
  isObject,
  type JsonObject,
  type SecretEntry,
  type SecretOperation,
} from "../../model/index.ts";
import type {
  BindingDefinition,
  McpDriverDefinition,
  SecretDefinition,
  ToolContractDefinition,
} from "./definitions.ts";
import { DRIVER_FIELDS, toFrontmatter, toJsonSchema } from "./file-format.ts";
import {
  type Access,
  checkAccess,
  type FetchSecret,
  SecretGrants,
  type SecretSubject,
} from "../auth/secret-grants.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";

/** A contract that `defineTool()` made. */
export interface ToolHandle {
  readonly kind: "tool";
  /** Id of the contract. */
  readonly id: string;
  readonly contract: Contract;
}

/** A driver that `defineDriver()` made. */
export interface DriverHandle {
  readonly kind: "driver";
  readonly id: string;
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  /** Names of the fields that the definition has. */
  readonly given: readonly string[];
  /** The definition as the text of a DRIVER.md. */
  readonly text?: string;
}

/** The functions that `defineDriverHooks()` got. */
export interface DriverHooksHandle {
  readonly kind: "hooks";
  readonly hooks: DriverHooks;
}

/** A secret that `defineSecret()` made. */
export interface SecretHandle {
  readonly kind: "secret";
  /** Slug of the secret. */
  readonly id: string;
  readonly entry: SecretEntry;
  checkAccess(operation: SecretOperation, subject: SecretSubject): Access;
  /** Rejects when the access is not granted. */
  reveal(subject: SecretSubject): Promise<string>;
}

const CODE = "the definition";
const HOOKS = ["buildArguments", "parseToolResult", "login", "refresh", "detectExpiry", "execute"] as const;

/** Throws one error with all diagnostics. */
export function defineDriver(definition: McpDriverDefinition): DriverHandle {
  const { implements: bindings, version = "0.0.0", ...rest } = definition;
  const hooks: DriverHooks = {};
  const fields: JsonObject = {};
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined) continue;
    if ((HOOKS as readonly string[]).includes(name)) Object.assign(hooks, { [name]: value });
    else fields[name] = value;
  }
  const written = Array.isArray(bindings) ? (bindings as readonly BindingDefinition[]).map(toBinding) : [];
  const text = toFrontmatter({ ...fields, version, implements: written });
  const { driver: parsed, diagnostics } = parseDriver(text, `${definition.id}/driver.ts`);
  const driver = parsed && { ...parsed, origin: { ...parsed.origin, inCode: true } };
  const all = [...typeErrors(fields, hooks), ...diagnostics.map(withoutFile)];
  if (driver === undefined || all.some(({ severity }) => severity === "error"))
    throw invalid(`driver ${definition.id}`, all);
  const given = [
    ...Object.keys(fields),
    "implements",
    ...(definition.version === undefined ? [] : ["version"]),
  ];
  return { kind: "driver", id: driver.id, driver, hooks, given, text };
}

/**
 * Defines the functions of a driver whose fields are in the `DRIVER.md` beside the module. Throws one error with all diagnostics.
 *
 * @example
 * ```ts
 * import { defineDriverHooks } from "portolan/drivers";
 *
 * export default defineDriverHooks({
 *   parseToolResult: ({ result }) => ({ ok: true, value: result.structuredContent, ms: 0 }),
 * });
 * ```
 */
export function defineDriverHooks(hooks: DriverHooks): DriverHooksHandle {
  const given = Object.entries(hooks).filter(([, value]) => value !== undefined);
  const isHook = ([name]: [string, unknown]): boolean => (HOOKS as readonly string[]).includes(name);
  const own: DriverHooks = Object.fromEntries(given.filter(isHook));
  const others = given.filter((one) => !isHook(one)).map(([name]) => name);
  const diagnostics = [...others.map(notAHook), ...typeErrors({}, own)];
  if (diagnostics.length > 0) throw invalid("code of the driver", diagnostics);
  return { kind: "hooks", hooks: own };
}

function notAHook(name: string): Diagnostic {
  const hint = Object.hasOwn(DRIVER_FIELDS, name)
    ? `Write ${DRIVER_FIELDS[name]?.key} into the DRIVER.md.`
    : (didYouMean(name, HOOKS) ?? `The functions are ${HOOKS.join(", ")}.`);
  const message = `unknown function ${JSON.stringify(name)}`;
  return { code: "FILE_INVALID", severity: "error", message, hint };
}

/** Checks the types at run time, because code beside a driver may be written without types. */
function typeErrors(fields: JsonObject, hooks: DriverHooks): Diagnostic[] {
  const wrong = (message: string, hint?: string): Diagnostic => ({
    code: "FILE_INVALID",
    severity: "error",
    message,
    hint,
  });
  const known = ["kind", "implements", ...Object.keys(DRIVER_FIELDS), ...HOOKS];
  const unknown = Object.keys(fields).filter((name) => !known.includes(name));
  const { execute = {}, ...single } = hooks;
  const named: (readonly [string, unknown])[] = [
    ...Object.entries(single),
    ...(isObject(execute)
      ? Object.entries(execute).map(([id, one]) => [`execute[${JSON.stringify(id)}]`, one] as const)
      : []),
  ];
  return [
    ...unknown.map((name) =>
      wrong(`unknown field ${JSON.stringify(name)}`, didYouMean(name, known) ?? "Remove it."),
    ),
    ...(isObject(execute) ? [] : [wrong("execute must be an object of functions, by contract id")]),
    ...named.flatMap(([name, one]) =>
      typeof one === "function" ? [] : [wrong(`${name} must be a function, but is ${describe(one)}`)],
    ),
  ];
}

function describe(value: unknown): string {
  return value === null
    ? "null"
    : Array.isArray(value)
      ? "a list"
      : `a ${typeof value}`.replace("a o", "an o");
}

function toBinding({ tool, version, ...rest }: BindingDefinition): JsonObject {
  const isHandle = typeof tool !== "string";
  return {
    ...rest,
    tool: isHandle ? tool.contract.id : tool,
    version: version ?? (isHandle ? `^${tool.contract.version}` : "*"),
  };
}

/**
 * Defines a contract in code: what a tool promises, without an implementation.
 *
 * @example
 * ```ts
 * import { defineTool } from "portolan/drivers";
 *
 * const greet = defineTool({
 *   id: "greet",
 *   description: "Greets.",
 *   version: "1.0.0",
 *   inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
 *   outputSchema: { type: "string" },
 * });
 * ```
 */
export function defineTool(definition: ToolContractDefinition): ToolHandle {
  const { inputSchema, outputSchema, contextSchema, metadata, name, version = "0.0.0", ...rest } = definition;
  const { id } = definition;
  const text = toFrontmatter({
    ...rest,
    name: name ?? id,
    version,
    inputs: toJsonSchema(inputSchema, "input", id),
    outputs: toJsonSchema(outputSchema, "output", id),
    ...(metadata === undefined && contextSchema === undefined
      ? {}
      : {
          metadata: {
            ...metadata,
            ...(contextSchema === undefined
              ? {}
              : { contextSchema: toJsonSchema(contextSchema, "input", id, "contextSchema") }),
          },
        }),
  });
  const { contract, diagnostics } = parseTool(text, `${id}/tool.ts`);
  if (contract === undefined) throw invalid(`tool ${id}`, diagnostics.map(withoutFile));
  return { kind: "tool", id: contract.id, contract };
}

/** Without `fetch`, access can be checked, but no value revealed. */
export function defineSecret(definition: SecretDefinition, fetch?: FetchSecret): SecretHandle {
  const { secrets, diagnostics } = parseSecrets(
    toFrontmatter({ secrets: [definition] }),
    `${definition.slug}/secret.ts`,
  );
  const [entry] = secrets;
  if (entry === undefined || diagnostics.some(({ severity }) => severity === "error"))
    throw invalid(`secret ${definition.slug}`, diagnostics.map(withoutFile));
  const grants = new SecretGrants([entry], fetch ?? (async () => undefined));
  return {
    kind: "secret",
    id: entry.slug,
    entry,
    checkAccess: (operation, subject) => checkAccess(entry, operation, subject),
    reveal: (subject) => grants.reveal(entry.slug, subject),
  };
}

/** One error with all diagnostics. */
export function invalid(what: string, diagnostics: readonly Diagnostic[]): PortolanError {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const shown = errors.map(({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`));
  return new PortolanError("FILE_INVALID", `The ${what} is not valid: ${shown.join("; ")}`, {
    hint: `Correct ${CODE}.`,
    data: { problems: errors },
  });
}
