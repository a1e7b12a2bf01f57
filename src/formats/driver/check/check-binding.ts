// Whether a driver keeps the promise of a contract as far as both say: versions, names, what is left out, and time.

import { satisfies } from "../../../base/text/versions.ts";
import { type Diagnostic, didYouMean } from "../../../errors/index.ts";
import type { Binding, Contract, Driver } from "../../../model/index.ts";
import { quoted } from "../../document/index.ts";
import { keysOf, type SchemaKeys } from "./schema-keys.ts";

/** An error in here means that the driver is not to be used. */
export function checkBinding(driver: Driver, binding: Binding, contract: Contract): Diagnostic[] {
  const index = driver.implements.indexOf(binding);
  const label = `implements[${Math.max(index, 0)}]`;
  const found: Diagnostic[] = [];
  const say: Say = (severity, at, message, hint) => {
    if (found.length >= MOST_FINDINGS) return;
    const { file, line, column } = binding.origin;
    found.push({
      code: "FILE_INVALID",
      severity,
      message: `${at === "" ? label : `${label}.${at}`} ${message}`,
      server: driver.id,
      tool: contract.id,
      path: `/implements/${Math.max(index, 0)}${at === "" ? "" : `/${at.replaceAll(".", "/")}`}`,
      file,
      line,
      column,
      hint: typeof hint === "function" ? hint() : hint,
    });
  };
  if (!satisfies(contract.version, binding.range))
    say(
      "error",
      "version",
      `${quoted(binding.range)} does not include ${contract.version}, the version of ${contract.id}`,
      `If the driver serves this version, write version: "^${contract.version}".`,
    );
  const inputs = keysOf(contract.inputs);
  const outputs = keysOf(contract.outputs);
  checkDropped(binding.dropInputs, inputs, "schema_narrowing.drop_inputs", "input", say);
  checkDropped(binding.dropOutputs, outputs, "schema_narrowing.drop_outputs", "output", say);
  checkMappings(binding, inputs, say);
  checkTime(driver, binding, contract, say);
  const { forbid, requireKind } = contract.driverConstraints;
  if (forbid.includes("mcp") || (requireKind.length > 0 && !requireKind.includes("mcp")))
    say("warning", "", `is never chosen: ${contract.id} does not allow drivers of kind mcp`);
  return found;
}

/** A hint that costs something is made only when it will be seen. */
type Say = (
  severity: Diagnostic["severity"],
  at: string,
  message: string,
  hint?: string | (() => string),
) => void;

const MOST_FINDINGS = 100;

function checkDropped(
  names: readonly string[],
  keys: SchemaKeys,
  at: string,
  what: "input" | "output",
  say: Say,
): void {
  for (const name of names) {
    if (keys.required.has(name))
      say(
        "error",
        at,
        `leaves out ${quoted(name)}, which the contract requires`,
        `Only an optional ${what} can be left out.`,
      );
    else unknown(name, keys, at, what, say);
  }
}

function checkMappings(binding: Binding, inputs: SchemaKeys, say: Say): void {
  const { argumentMapping, mapping, dropInputs } = binding;
  const sources = Object.entries(mapping).map(([key, to]) => (typeof to === "string" ? key : to.from));
  for (const name of sources) unknown(name.split(".")[0] ?? "", inputs, "mapping", "input", say);
  // argument_mapping uses the names that mapping gave to inputs.
  const renamed = new Set(Object.entries(mapping).map(([key, to]) => (typeof to === "string" ? to : key)));
  for (const key of Object.keys(argumentMapping))
    if (!renamed.has(key)) unknown(key, inputs, "metadata.mcp.argument_mapping", "input", say);
  const taken = new Map(Object.entries(argumentMapping).map(([key, to]) => [to, key]));
  for (const name of inputs.names) {
    const other = taken.get(name);
    const passes =
      !Object.hasOwn(argumentMapping, name) && !Object.hasOwn(mapping, name) && !dropInputs.includes(name);
    if (other !== undefined && other !== name && passes)
      say(
        "error",
        "metadata.mcp.argument_mapping",
        `maps the input ${quoted(other)} to the argument ${quoted(name)}, but the input ${quoted(name)} has the same argument name`,
        `Map the input ${quoted(name)} to another argument, or leave it out with schema_narrowing.`,
      );
  }
  for (const name of dropInputs)
    if (Object.hasOwn(argumentMapping, name) || Object.hasOwn(mapping, name))
      say(
        "warning",
        "schema_narrowing.drop_inputs",
        `leaves out ${quoted(name)}, but a mapping uses this input`,
        "Remove the input from drop_inputs, or remove its mapping.",
      );
}

function checkTime(driver: Driver, binding: Binding, contract: Contract, say: Say): void {
  const ms = binding.timeoutMs ?? driver.timeoutMs;
  if (ms === undefined || ms <= contract.timeoutMs) return;
  say(
    "error",
    binding.timeoutMs === undefined ? "" : "timeout_override_ms",
    `allows ${ms} ms, more than the ${contract.timeoutMs} ms of ${contract.id}`,
    `Write at most ${contract.timeoutMs} as timeout_override_ms.`,
  );
}

function unknown(name: string, keys: SchemaKeys, at: string, what: "input" | "output", say: Say): void {
  if (keys.open || keys.names.has(name)) return;
  const known = [...keys.names];
  const hint = (): string =>
    didYouMean(name, known) ??
    (known.length === 0
      ? `The contract has no ${what}s.`
      : `The ${what}s are ${known.slice(0, 20).join(", ")}.`);
  say("error", at, `names ${quoted(name)}, which is not an ${what} of the contract`, hint);
}
