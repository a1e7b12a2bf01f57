// Names and URIs under which prompts and resources of drivers are offered, and the way back from a URI to its driver.

import { createHash } from "node:crypto";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import {
  type Driver,
  type DriverPrompt,
  type DriverResource,
  isObject,
  type JsonObject,
  type PromptDefinition,
  parseRef,
  type ResourceDefinition,
  type ResourceTemplateDefinition,
} from "../../model/index.ts";
import type { RegisteredDriver } from "../driver/registered-driver.ts";
import { DRIVER_META, OTHERS_META } from "../contract/call-context.ts";

export interface OfferedPrompt {
  readonly definition: PromptDefinition;
  /** Its name at the server. */
  readonly name: string;
  readonly registered: RegisteredDriver;
}

export interface OfferedResource {
  readonly declared: DriverResource;
  readonly registered: RegisteredDriver;
}

export interface FoundResource {
  readonly offer: OfferedResource;
  /** Its URI at the server. */
  readonly uri: string;
  /** Expected hash of the content, when the reference has one. */
  readonly sha256?: string;
}

/** By the offered name; the first driver keeps a name that two drivers have. */
export function offerPrompts(
  drivers: Iterable<RegisteredDriver>,
  taken: (name: string, one: RegisteredDriver, other: RegisteredDriver) => void,
): ReadonlyMap<string, OfferedPrompt> {
  const offered = new Map<string, OfferedPrompt>();
  for (const registered of drivers) {
    for (const declared of registered.driver.prompts) {
      const name = offeredName(declared, registered.driver);
      const { prompts, missing } = registered.verification.surfaces;
      if (name === undefined || missing.has(declared)) continue;
      const served = prompts.find((prompt) => prompt.name === declared.name);
      const known = offered.get(name);
      if (known !== undefined) {
        taken(name, registered, known.registered);
        offered.set(name, { ...known, definition: alsoBy(known.definition, registered.driver.id) });
        continue;
      }
      const description = declared.description ?? served?.description;
      const definition: PromptDefinition = {
        ...served,
        name,
        description: description as string | undefined,
        _meta: { ...(isObject(served?._meta) ? served._meta : {}), [DRIVER_META]: registered.driver.id },
      };
      offered.set(name, { definition, name: declared.name, registered });
    }
  }
  return offered;
}

/** Undefined when the skill of the prompt does not exist. */
function offeredName(prompt: DriverPrompt, { skills }: Driver): string | undefined {
  if (prompt.integrateAs === "raw") return prompt.name;
  const skill = skills?.[prompt.skillRef];
  return skill === null ? undefined : `${skill ?? skillName(prompt.skillRef)}/${prompt.name}`;
}

function alsoBy(definition: PromptDefinition, driver: string): PromptDefinition {
  const meta = definition._meta as JsonObject;
  const others = Array.isArray(meta[OTHERS_META]) ? (meta[OTHERS_META] as unknown[]) : [];
  return { ...definition, _meta: { ...meta, [OTHERS_META]: [...others, driver] } };
}

/** The folder of a SKILL.md that was not read is its name. */
function skillName(ref: string): string {
  const steps = ref
    .replaceAll("\\", "/")
    .replace(/\/?SKILL\.md$/i, "")
    .split("/")
    .filter((step) => step !== "" && step !== "." && step !== "..");
  return steps.at(-1) ?? "skill";
}

export function offerResources(drivers: Iterable<RegisteredDriver>): readonly OfferedResource[] {
  return [...drivers].flatMap((registered) =>
    registered.driver.resources.flatMap((declared) =>
      registered.verification.surfaces.missing.has(declared) ? [] : [{ declared, registered }],
    ),
  );
}

export function resourceLists(offered: readonly OfferedResource[]): {
  readonly resources: readonly ResourceDefinition[];
  readonly templates: readonly ResourceTemplateDefinition[];
} {
  const resources: ResourceDefinition[] = [];
  const templates: ResourceTemplateDefinition[] = [];
  for (const { declared, registered } of offered) {
    const prefix = declared.integrateAs === "ref_kind" ? `${declared.refKindId}:` : "";
    const uri = `${prefix}${declared.uriTemplate}`;
    const about: JsonObject = {
      description: declared.description,
      _meta: { [DRIVER_META]: registered.driver.id },
    };
    const name = declared.integrateAs === "ref_kind" ? declared.refKindId : registered.driver.id;
    if (/[{}]/.test(uri)) templates.push({ uriTemplate: uri, name, ...about });
    else resources.push({ uri, name, ...about });
  }
  return { resources, templates };
}

/** Finds the driver of a listed template or of a URI. Throws when no driver declares it. */
export function findTemplate(uri: string, offered: readonly OfferedResource[]): FoundResource {
  for (const offer of offered) {
    const { declared } = offer;
    const prefix = declared.integrateAs === "ref_kind" ? `${declared.refKindId}:` : "";
    if (uri === `${prefix}${declared.uriTemplate}`) return { offer, uri: declared.uriTemplate };
  }
  return findResource(uri, offered);
}

/** Name of a resource for the audit, since a URI may contain private data. */
export function kindOf({ declared }: OfferedResource): string {
  return `resource:${declared.integrateAs === "ref_kind" ? declared.refKindId : declared.uriTemplate}`;
}

/** Finds the driver of a URI, and its URI at the server. Throws when no driver declares it. */
export function findResource(uri: string, offered: readonly OfferedResource[]): FoundResource {
  const parsed = parseRef(uri);
  for (const offer of offered) {
    const { declared } = offer;
    if (declared.integrateAs === "ref_kind") {
      if (!parsed.ok || parsed.ref.kind !== declared.refKindId) continue;
      if (isOf(declared.uriTemplate, parsed.ref.body))
        return { offer, uri: parsed.ref.body, sha256: parsed.ref.sha256 };
      throw new PortolanError(
        "RESOURCE_NOT_FOUND",
        `${quoted(parsed.ref.body)} is not of the form ${declared.uriTemplate}`,
        {
          hint: `References of the kind ${declared.refKindId} are written ${declared.refKindId}:${declared.uriTemplate}.`,
        },
      );
    }
    if (isOf(declared.uriTemplate, uri)) return { offer, uri };
  }
  const known = offered.flatMap(({ declared }) =>
    declared.integrateAs === "ref_kind" ? [declared.refKindId] : [declared.uriTemplate],
  );
  throw new PortolanError("RESOURCE_NOT_FOUND", `no driver lists the resource ${quoted(uri)}`, {
    hint: didYouMean(parsed.ok ? parsed.ref.kind : uri, known),
  });
}

/**
 * True when a URI matches a template. A value may contain any character, slashes too, as in `file:///{path}`, but no `..` that leads
 * out of the template. The sandbox checks where else it leads.
 */
export function isOf(template: string, uri: string): boolean {
  if (uri.length > 8_192 || /[\p{Cc}\s]/u.test(uri)) return false;
  const literals = template.split(/\{[^{}]*\}/);
  const [first = "", ...rest] = literals;
  if (rest.length === 0) return uri === template;
  if (!uri.startsWith(first) || hasDots(uri)) return false;
  let at = first.length;
  for (const [index, literal] of rest.entries()) {
    const last = index === rest.length - 1;
    // Every variable has at least one character.
    const found =
      last && literal === "" ? uri.length : last ? uri.lastIndexOf(literal) : uri.indexOf(literal, at + 1);
    if (found < at + 1 || (last && found + literal.length !== uri.length)) return false;
    at = found + literal.length;
  }
  return true;
}

/** Finds `..`, also encoded once or several times, and encoded separators. */
function hasDots(uri: string): boolean {
  if (/%(?:25)*(?:2f|5c)/i.test(uri)) return true;
  return uri
    .replaceAll(/%(?:25)*2e/gi, ".")
    .split(/[/\\?#:]/)
    .some((step) => step === "." || step === "..");
}

/** Throws when the content does not have the hash of the reference. */
export function checkHash(result: JsonObject, sha256: string, uri: string): void {
  const [first] = Array.isArray(result.contents) ? (result.contents as JsonObject[]) : [];
  const bytes =
    typeof first?.text === "string"
      ? Buffer.from(first.text)
      : Buffer.from(typeof first?.blob === "string" ? first.blob : "", "base64");
  if (createHash("sha256").update(bytes).digest("hex") === sha256.toLowerCase()) return;
  throw new PortolanError(
    "OUTPUT_INVALID",
    `the content of ${quoted(uri)} has changed: its hash differs from the one in the reference`,
    {
      hint: "Create the reference again if the change is intended.",
    },
  );
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 200));
}
