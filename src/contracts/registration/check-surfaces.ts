// Checks the prompts and resources of a DRIVER.md against the server: a missing one is reported and not offered.

import { type Diagnostic, didYouMean } from "../../errors/index.ts";
import type { Driver, DriverPrompt, DriverResource } from "../../model/index.ts";
import { isOf } from "../surfaces/find-surface.ts";

export interface ServerResources {
  readonly uris: readonly string[];
  readonly templates: readonly string[];
}

/** Names that the server listed. Undefined: the list failed, which says nothing. */
export interface ServerSurfaces {
  readonly prompts: readonly string[] | undefined;
  readonly resources: ServerResources | undefined;
}

export interface CheckedSurfaces {
  readonly diagnostics: readonly Diagnostic[];
  /** Declared prompts and resources that the server lacks. */
  readonly missing: ReadonlySet<DriverPrompt | DriverResource>;
}

const MAX_SHOWN = 12;

export function checkSurfaces(driver: Driver, { prompts, resources }: ServerSurfaces): CheckedSurfaces {
  const diagnostics: Diagnostic[] = [];
  const missing = new Set<DriverPrompt | DriverResource>();
  const add = (
    one: DriverPrompt | DriverResource,
    what: string,
    name: string,
    all: readonly string[],
  ): void => {
    missing.add(one);
    const place = `${"uriTemplate" in one ? "resource" : "prompt"}:${name}`;
    const some =
      all.length === 0
        ? `The server has no ${what}s.`
        : `The server has ${all.slice(0, MAX_SHOWN).join(", ")}${all.length > MAX_SHOWN ? ", …" : ""}.`;
    diagnostics.push({
      code: "DECLARATION_INVALID",
      severity: "warning",
      server: driver.id,
      message: `${driver.id}: the server has no ${what} "${name}", so that it is not offered`,
      hint: didYouMean(name, all) ?? some,
      file: driver.origin.file,
      ...driver.origin.places?.[place],
    });
  };
  for (const one of prompts === undefined ? [] : driver.prompts)
    if (prompts?.includes(one.name) === false) add(one, "prompt", one.name, prompts);
  for (const one of resources === undefined ? [] : driver.resources) {
    const { uriTemplate } = one;
    if (resources === undefined || hasResource(uriTemplate, resources)) continue;
    const isTemplate = uriTemplate.includes("{");
    const all = isTemplate ? resources.templates : [...resources.uris, ...resources.templates];
    add(one, isTemplate ? "resource template" : "resource", uriTemplate, all);
  }
  return { diagnostics, missing };
}

/** The names of variables do not matter. A template may also stand for resources that the server lists one by one, or be a part of a wider one. */
function hasResource(declared: string, { uris, templates }: ServerResources): boolean {
  const sample = declared.replace(/\{[^{}]*\}/g, "x");
  return (
    uris.some((uri) => isOf(declared, uri)) ||
    templates.some((template) => shapeOf(template) === shapeOf(declared) || isOf(template, sample))
  );
}

function shapeOf(template: string): string {
  return template.replace(/\{[^{}]*\}/g, "{}");
}
