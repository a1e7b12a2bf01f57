// Finds the arguments of a driver's tools that are paths, according to its contracts.

import { checkDriver, type DriverHooks } from "../../contracts/index.ts";
import {
  type ContractsEndpoint,
  type Driver,
  isObject,
  type JsonPath,
  type LaunchSettings,
} from "../../model/index.ts";

const PATH_FORMATS: ReadonlySet<unknown> = new Set(["uri", "uri-reference", "iri", "path", "file-path"]);

/** Adds them to the sandbox config, so that the path guard checks them. */
export function withPaths(
  driver: Driver,
  { contracts, root }: ContractsEndpoint,
  hooks: DriverHooks | undefined,
): LaunchSettings {
  const { sandbox } = driver.launch;
  const pathArguments: Record<string, readonly string[]> = { ...sandbox?.pathArguments };
  const { bound } = checkDriver(driver, contracts, undefined, { root, hooks });
  for (const { contract, binding, arguments: plan } of bound) {
    const found = plan.routes.flatMap(({ source, path, target }) =>
      isPath(schemaAt(contract.inputs, [{ kind: "name", name: source }, ...path])) ? [target] : [],
    );
    if (found.length === 0) continue;
    // The driver's own list is extended, not replaced.
    const { toolName } = binding;
    const own = Object.hasOwn(pathArguments, toolName) ? (pathArguments[toolName] ?? []) : [];
    pathArguments[toolName] = [...new Set([...own, ...found])];
  }
  return { ...driver.launch, cwdImplied: true, sandbox: { ...sandbox, pathArguments } };
}

function schemaAt(schema: unknown, path: JsonPath): unknown {
  let at = schema;
  for (const step of path) {
    if (!isObject(at)) return undefined;
    const { properties } = at;
    if (step.kind !== "name") at = at.items;
    else
      at = isObject(properties) && Object.hasOwn(properties, step.name) ? properties[step.name] : undefined;
  }
  return at;
}

/** True for a path, a URI, or a list of them. */
function isPath(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  if (PATH_FORMATS.has(schema.format)) return true;
  const alternatives = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((some) =>
    Array.isArray(some) ? (some as unknown[]) : [],
  );
  return [schema.items, ...alternatives].some(isPath);
}
