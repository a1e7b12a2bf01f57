// Checks a driver at registration, and again at verification with the tools of its server: reports every broken binding at once,
// with the correction.

import { type Diagnostic, didYouMean } from "../../errors/index.ts";
import type { Binding, Contract, Driver, ToolDefinition } from "../../model/index.ts";
import {
  closedSchema,
  fieldNames,
  fieldOf,
  meant,
  requiredOf,
  type SchemaView,
  typesOf,
} from "../../schema/index.ts";
import { planArguments } from "../dispatch/arguments.ts";
import { aboutField, checkServerTool, type BindingDiagnostic } from "./check-server-tool.ts";
import { findContract } from "../contract/contract-catalog.ts";
import { viewOrAnything } from "../contract/prepared-contract.ts";
import { envelopeDiagnostics, planResult } from "../dispatch/result.ts";
import type { BoundTool, DriverHooks } from "../driver/bound-tool.ts";

export interface CheckedDriver {
  /** Empty when there is an error: a driver with one broken binding is refused. */
  readonly bound: readonly BoundTool[];
  readonly diagnostics: readonly Diagnostic[];
}

/** A contract that was changed without a new version, and why. Nobody can call it until it is accepted. */
export interface RefusedContract {
  readonly contract: Contract;
  readonly diagnostic: Diagnostic;
}

export interface CheckOptions {
  /** Folder of the workspace; paths of contracts are resolved from it first. Default: the working directory. */
  readonly root?: string;
  /** Contracts that are not among the others because of an error. */
  readonly refused?: readonly RefusedContract[];
  /** A mapping that a hook replaces is not checked. */
  readonly hooks?: DriverHooks;
  /** Some contracts may be in another folder: a binding to one is reported as unchecked. */
  readonly partial?: boolean;
}

/** Without `tools`, only checks that need no server. */
export function checkDriver(
  driver: Driver,
  contracts: readonly Contract[],
  tools: readonly ToolDefinition[] | undefined,
  options: CheckOptions = {},
): CheckedDriver {
  const diagnostics: Diagnostic[] = [];
  const bound: BoundTool[] = [];
  const seen = new Map<string, string>();
  for (const binding of driver.implements) {
    const search = findContract(binding.tool, binding.range, contracts, driver, options.root ?? ".");
    if (search === undefined || "outOfRange" in search) {
      const diagnostic =
        search === undefined && options.partial === true
          ? notChecked(binding)
          : (refusedContract(binding, driver, options) ?? noContract(binding, search?.outOfRange, contracts));
      diagnostics.push(toDiagnostic(driver, binding, undefined, diagnostic));
      continue;
    }
    const { contract } = search;
    const found: BindingDiagnostic[] = [];
    const twice = seen.get(contract.id);
    if (twice !== undefined)
      found.push({
        message: `the contract ${contract.id} is already served by the tool "${twice}" of this driver`,
        hint: "A driver serves each contract once: remove one of the two entries of implements.",
      });
    seen.set(contract.id, binding.toolName);
    bound.push(bind(driver, contract, binding, tools, options.hooks ?? {}, found));
    for (const diagnostic of found) diagnostics.push(toDiagnostic(driver, binding, contract, diagnostic));
  }
  diagnostics.push(...executeMismatch(driver, seen, options.hooks));
  const broken = diagnostics.some(({ severity }) => severity === "error");
  return { bound: broken ? [] : bound, diagnostics };
}

/** The ids of the contracts that the driver's bindings name, also in a version that it does not serve, and refused ones. */
export function namedContracts(
  driver: Driver,
  contracts: readonly Contract[],
  { refused = [], root = "." }: CheckOptions,
): readonly string[] {
  const all = [...contracts, ...refused.map(({ contract }) => contract)];
  const ids = driver.implements.flatMap(({ tool, range }) => {
    const search = findContract(tool, range, all, driver, root);
    if (search === undefined) return [];
    return "contract" in search ? search.contract.id : search.outOfRange.id;
  });
  return [...new Set(ids)];
}

function bind(
  driver: Driver,
  contract: Contract,
  binding: Binding,
  tools: readonly ToolDefinition[] | undefined,
  hooks: DriverHooks,
  found: BindingDiagnostic[],
): BoundTool {
  const inputs = viewOrAnything(closedSchema(contract.inputs));
  const outputs = viewOrAnything(contract.outputs);
  const context = contract.contextSchema === undefined ? undefined : viewOrAnything(contract.contextSchema);
  const planned = planArguments(binding, inputs, context);
  const result = planResult(binding, outputs);
  found.push(...planned.diagnostics, ...aboutField("result_extract", result.diagnostics));
  // With a schema, the path itself is checked.
  const hasSchema = tools?.some(
    ({ name, outputSchema }) => name === binding.toolName && outputSchema !== undefined,
  );
  if (hasSchema !== true && hooks.parseToolResult === undefined)
    found.push(...aboutField("result_extract", envelopeDiagnostics(binding)));
  const required = requiredOf(outputs);
  for (const name of binding.dropOutputs)
    if (required.has(name))
      found.push({
        field: "drop_outputs",
        message: `drop_outputs names "${name}", which the contract requires`,
        hint: "Only optional outputs can be dropped; without this one, the output never matches the contract.",
      });
    else if (isUnknown(name, outputs))
      found.push({
        field: "drop_outputs",
        severity: "warning",
        message: `drop_outputs names "${name}", which the contract does not have${meant(name, fieldNames(outputs))}`,
        hint: "This entry has no effect: correct the name, or remove the entry.",
      });
  const isCode = hooks.buildArguments !== undefined || hooks.execute?.[contract.id] !== undefined;
  if (planned.lost.length > 0 && !isCode)
    found.push({
      field: "mapping",
      severity: "warning",
      message: `mapping takes only a part of an input: ${planned.lost.map((part) => `"${part}"`).join(", ")} never reach${planned.lost.length === 1 ? "es" : ""} the tool`,
      hint: "Map these parts too, or remove them from the contract.",
    });
  const timeoutMs = binding.timeoutMs ?? driver.timeoutMs;
  if (timeoutMs !== undefined && timeoutMs > contract.timeoutMs)
    found.push({
      field: "timeout_override_ms",
      message: `timeout_override_ms is ${timeoutMs}, but the contract allows at most ${contract.timeoutMs}`,
      hint: `Write ${contract.timeoutMs} or less.`,
    });
  const plans = { arguments: planned.plan, result: result.plan };
  if (tools !== undefined)
    found.push(...checkServerTool({ contract, binding, inputs, context, outputs, ...plans }, tools, hooks));
  return {
    contract,
    driver,
    binding,
    ...plans,
    timeoutMs: Math.min(contract.timeoutMs, timeoutMs ?? Infinity, driver.connection.timeoutMs ?? Infinity),
    retry: binding.retry ?? driver.retry ?? contract.retry,
    cost: {
      costClass: binding.cost?.costClass ?? driver.cost?.costClass ?? contract.costClass,
      unitsPerCall: binding.cost?.unitsPerCall ?? driver.cost?.unitsPerCall,
      currency: binding.cost?.currency ?? driver.cost?.currency,
    },
  };
}

/** The contract declares the fields of its output, and this one is not among them. */
function isUnknown(name: string, outputs: SchemaView): boolean {
  if (fieldOf(outputs, name).state === "declared") return false;
  return fieldNames(outputs).length > 0 || !typesOf(outputs).has("object");
}

function refusedContract(
  { tool, range }: Binding,
  driver: Driver,
  { refused = [], root = "." }: CheckOptions,
): BindingDiagnostic | undefined {
  const found = refused.find(({ contract }) => {
    const search = findContract(tool, range, [contract], driver, root);
    return search !== undefined && "contract" in search;
  });
  // The diagnostic itself is reported once, for the contract.
  return (
    found && {
      message: `Portolan refused the contract ${found.contract.id}, because its changes need a higher version`,
      hint: found.diagnostic.hint,
    }
  );
}

const MAX_NAMED = 8;

function noContract(
  { tool, range }: Binding,
  outOfRange: Contract | undefined,
  contracts: readonly Contract[],
): BindingDiagnostic {
  if (outOfRange !== undefined)
    return {
      field: "version",
      message: `serves ${tool} in the versions ${range}, but the contract ${outOfRange.id} has the version ${outOfRange.version}`,
      hint: `Check that the driver serves ${outOfRange.version}, then write a range that includes it, such as ^${outOfRange.version}.`,
    };
  const known = contracts.map(({ id }) => id);
  const more = known.length > MAX_NAMED ? ` and ${known.length - MAX_NAMED} more` : "";
  const some =
    known.length === 0
      ? "This workspace has no contracts."
      : `The contracts are ${known.slice(0, MAX_NAMED).join(", ")}${more}.`;
  return {
    message: `the contract ${tool} does not exist or has errors`,
    hint: didYouMean(tool.replace(/(\/TOOL\.md)?$/, "").replace(/^.*\//, ""), known) ?? some,
  };
}

function notChecked({ tool }: Binding): BindingDiagnostic {
  return {
    severity: "info",
    message: `the binding to ${tool} is not checked: its contract is not in this folder`,
    hint: "To check it, run portolan validate in the workspace, the folder that contains .drivers.",
  };
}

/** The contracts in `execute` must be exactly the ones in `implements`. */
function executeMismatch(
  driver: Driver,
  served: ReadonlyMap<string, string>,
  hooks: DriverHooks | undefined,
): Diagnostic[] {
  if (hooks?.execute === undefined) return [];
  const written = Object.keys(hooks.execute);
  const extra = written.filter((id) => !served.has(id));
  const missing = [...served.keys()].filter((id) => !written.includes(id));
  if (extra.length + missing.length === 0) return [];
  const parts = [
    ...(extra.length === 0 ? [] : [`execute has ${extra.join(", ")}, which implements does not have`]),
    ...(missing.length === 0 ? [] : [`execute lacks ${missing.join(", ")}`]),
  ];
  return [
    {
      code: "FILE_INVALID",
      severity: "error",
      server: driver.id,
      message: `${driver.id}: execute does not match implements (execute_binding_mismatch): ${parts.join("; ")}`,
      file: driver.origin.file,
    },
  ];
}

function toDiagnostic(
  driver: Driver,
  binding: Binding,
  contract: Contract | undefined,
  { message, hint, severity, field }: BindingDiagnostic,
): Diagnostic {
  const { file } = binding.origin;
  const { line, column } = (field && binding.origin.places?.[field]) ?? binding.origin;
  const what = contract === undefined ? driver.id : `${driver.id}, ${contract.id}`;
  return {
    code: "FILE_INVALID",
    severity: severity ?? "error",
    message: `${what}: ${message}`,
    server: driver.id,
    tool: contract?.id,
    hint,
    file,
    line,
    column,
  };
}
