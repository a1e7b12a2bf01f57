// What drivers offer beside tools: prompts as blocks of a skill or as they are, resources as kinds of references or as they are.

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
import type { Registered } from "../driver/registered-driver.ts";
import { DRIVER_META, OTHERS_META } from "../contract/to-mcp.ts";

export interface OfferedPrompt {
  readonly definition: PromptDefinition;
  /** What the server calls it. */
  readonly name: string;
  readonly registered: Registered;
}

export interface OfferedResource {
  readonly declared: DriverResource;
  readonly registered: Registered;
}

export interface FoundResource {
  readonly offer: OfferedResource;
  /** What its server calls it. */
  readonly uri: string;
  /** What its content must have as its hash, when the reference says so. */
  readonly sha256?: string | undefined;
}

/** By the name under which it is offered; what is offered twice keeps its first meaning. */
export function offerPrompts(
  drivers: Iterable<Registered>,
  taken: (name: string, one: Registered, other: Registered) => void,
): ReadonlyMap<string, OfferedPrompt> {
  const offered = new Map<string, OfferedPrompt>();
  for (const registered of drivers) {
    for (const declared of registered.driver.prompts) {
      const name = offeredName(declared, registered.driver);
      if (name === undefined || registered.lacks.has(declared)) continue;
      const served = registered.prompts.find((prompt) => prompt.name === declared.name);
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
        ...(description === undefined ? {} : { description: description as string }),
        _meta: { ...(isObject(served?._meta) ? served._meta : {}), [DRIVER_META]: registered.driver.id },
      };
      offered.set(name, { definition, name: declared.name, registered });
    }
  }
  return offered;
}

/** Undefined when the skill that it is a part of is not there. */
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

/** As long as nobody has read a SKILL.md, its folder is its name. */
function skillName(ref: string): string {
  const steps = ref
    .replaceAll("\\", "/")
    .replace(/\/?SKILL\.md$/i, "")
    .split("/")
    .filter((step) => step !== "" && step !== "." && step !== "..");
  return steps.at(-1) ?? "skill";
}

export function offerResources(drivers: Iterable<Registered>): readonly OfferedResource[] {
  return [...drivers].flatMap((registered) =>
    registered.driver.resources.flatMap((declared) =>
      registered.lacks.has(declared) ? [] : [{ declared, registered }],
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
      ...(declared.description === undefined ? {} : { description: declared.description }),
      _meta: { [DRIVER_META]: registered.driver.id },
    };
    const name = declared.integrateAs === "ref_kind" ? declared.refKindId : registered.driver.id;
    if (/[{}]/.test(uri)) templates.push({ uriTemplate: uri, name, ...about });
    else resources.push({ uri, name, ...about });
  }
  return { resources, templates };
}

/** Whose a template is that is listed here, or any URI of it. Throws for what nobody declared. */
export function findTemplate(uri: string, offered: readonly OfferedResource[]): FoundResource {
  for (const offer of offered) {
    const { declared } = offer;
    const prefix = declared.integrateAs === "ref_kind" ? `${declared.refKindId}:` : "";
    if (uri === `${prefix}${declared.uriTemplate}`) return { offer, uri: declared.uriTemplate };
  }
  return findResource(uri, offered);
}

/** What is written down of a resource: an address may say more than a log should know. */
export function kindOf({ declared }: OfferedResource): string {
  return `resource:${declared.integrateAs === "ref_kind" ? declared.refKindId : declared.uriTemplate}`;
}

/** Whose a URI is, and what its server calls it. Throws for what nobody declared. */
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
        `InvalidRefBody: ${quoted(parsed.ref.body)} is not of the form ${declared.uriTemplate}`,
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
  throw new PortolanError("RESOURCE_NOT_FOUND", `no driver has the resource ${quoted(uri)}`, {
    hint: didYouMean(parsed.ok ? parsed.ref.kind : uri, known),
  });
}

/**
 * Whether a URI is one of a template's. A value may hold any character, slashes too, as in `file:///{path}`, but no steps that lead
 * out of what the template says; where else it leads is for the check against the server's box to say.
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
    // Every gap stands for at least one character.
    const found =
      last && literal === "" ? uri.length : last ? uri.lastIndexOf(literal) : uri.indexOf(literal, at + 1);
    if (found < at + 1 || (last && found + literal.length !== uri.length)) return false;
    at = found + literal.length;
  }
  return true;
}

/** Steps such as `..`, and separators that are only seen when somebody decodes them, however often that takes. */
function hasDots(uri: string): boolean {
  if (/%(?:25)*(?:2f|5c)/i.test(uri)) return true;
  return uri
    .replaceAll(/%(?:25)*2e/gi, ".")
    .split(/[/\\?#:]/)
    .some((step) => step === "." || step === "..");
}

/** Throws when what was read is not what the reference is about. */
export function checkHash(result: JsonObject, sha256: string, uri: string): void {
  const [first] = Array.isArray(result.contents) ? (result.contents as JsonObject[]) : [];
  const bytes =
    typeof first?.text === "string"
      ? Buffer.from(first.text)
      : Buffer.from(typeof first?.blob === "string" ? first.blob : "", "base64");
  if (createHash("sha256").update(bytes).digest("hex") === sha256.toLowerCase()) return;
  throw new PortolanError(
    "OUTPUT_INVALID",
    `what ${quoted(uri)} leads to is not what it was: its hash is another`,
    {
      hint: "Make the reference anew, if the change is wanted.",
    },
  );
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 200));
}
