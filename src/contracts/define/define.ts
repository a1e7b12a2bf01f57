// Drivers, contracts and secrets written as code: the same declarations as the files, checked by the same rules, with functions beside them.

import { type Diagnostic, didYouMean, PortolanError } from "../../errors/index.ts";
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
import { DRIVER_FIELDS } from "./driver-fields.ts";
import { toFrontmatter } from "./frontmatter-text.ts";
import { toJsonSchema } from "./json-schema-of.ts";
import {
  type Access,
  checkAccess,
  type FetchSecret,
  SecretGrants,
  type SecretSubject,
} from "../auth/secret-grants.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";

export interface ToolHandle {
  readonly kind: "tool";
  /** Of the contract. */
  readonly id: string;
  readonly contract: Contract;
}

export interface DriverHandle {
  readonly kind: "driver";
  readonly id: string;
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  /** Fields that were written, as the definition names them. */
  readonly given: readonly string[];
  /** The definition as a file would say it. */
  readonly text?: string | undefined;
}

export interface SecretHandle {
  readonly kind: "secret";
  /** Its slug. */
  readonly id: string;
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
  const written = Array.isArray(bindings) ? (bindings as readonly BindingDefinition[]).map(toBinding) : [];
  const text = toFrontmatter({ ...fields, version, implements: written });
  const { driver, diagnostics } = parseDriver(text, `${definition.id}/driver.ts`);
  const problems = [...slipsOf(fields, hooks), ...diagnostics];
  if (driver === undefined || problems.some(({ severity }) => severity === "error"))
    throw invalid(`driver ${definition.id}`, problems);
  const given = [
    ...Object.keys(fields),
    "implements",
    ...(definition.version === undefined ? [] : ["version"]),
  ];
  return { kind: "driver", id: driver.id, driver, hooks, given, text };
}

/** The types say this too, but code beside a driver is not always typed. */
function slipsOf(fields: JsonObject, hooks: DriverHooks): Diagnostic[] {
  const wrong = (message: string, hint?: string): Diagnostic => ({
    code: "DECLARATION_INVALID",
    severity: "error",
    message,
    ...(hint === undefined ? {} : { hint }),
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
      wrong(`${JSON.stringify(name)} is not known`, didYouMean(name, known) ?? "Remove it."),
    ),
    ...(isObject(execute) ? [] : [wrong("execute must be an object of functions, by contract id")]),
    ...named.flatMap(([name, one]) =>
      typeof one === "function" ? [] : [wrong(`${name} must be a function, and is ${describe(one)}`)],
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
  return { kind: "tool", id: contract.id, contract };
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
    id: entry.slug,
    entry,
    checkAccess: (operation, subject) => checkAccess(entry, operation, subject),
    reveal: (subject) => grants.reveal(entry.slug, subject),
  };
}

/** All of it in one error. */
export function invalid(what: string, diagnostics: readonly Diagnostic[]): PortolanError {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const shown = errors.map(({ message, hint }) => (hint === undefined ? message : `${message} (${hint})`));
  return new PortolanError("DECLARATION_INVALID", `The ${what} is not valid: ${shown.join("; ")}`, {
    hint: `Correct ${CODE}.`,
    data: { problems: errors },
  });
}
