// The prompts and resources of a driver: each once, and with what its integration needs.

import type { DriverPrompt, DriverResource, TextPlace } from "../../model/index.ts";
import { definedOnly } from "../manifest/index.ts";
import {
  entryOf,
  nodeAt,
  type Place,
  type Diagnostics,
  quoted,
  type TextNode,
  toLabel,
} from "../document/index.ts";
import { checkPath, placeOf } from "./bindings.ts";
import type { CheckedMcp } from "./mcp-shape.ts";
import { BASE_REF_KINDS } from "./public-schemas.ts";

export function readPrompts(
  checked: CheckedMcp["prompts"],
  list: TextNode | undefined,
  diagnostics: Diagnostics,
): DriverPrompt[] {
  checkOnce(list, "name", "prompt", diagnostics);
  return (checked ?? []).flatMap((prompt, index): DriverPrompt[] => {
    const node = nodeAt(list, index);
    if (node === undefined || prompt?.name === undefined) return [];
    const { name, description, integrate_as: how, skill_ref: skillRef } = prompt;
    const place = nodeAt(node, "skill_ref");
    if (place !== undefined && skillRef !== undefined) checkPath(skillRef, place, diagnostics);
    if (how === "skill_block" && skillRef === undefined)
      diagnostics.add(
        node,
        `skill_ref is missing in ${toLabel(node.path)}: a skill_block is a part of a skill`,
        "Write skill_ref: ./skills/<name>/SKILL.md, or integrate_as: raw.",
      );
    if (how === "raw" && place !== undefined)
      diagnostics.warn(place, "skill_ref has no effect with integrate_as: raw", "Remove skill_ref.");
    if (how === "skill_block")
      return [
        definedOnly<DriverPrompt>({
          name,
          description,
          integrateAs: how,
          skillRef: skillRef ?? "",
        }),
      ];
    return [definedOnly<DriverPrompt>({ name, description, integrateAs: "raw" })];
  });
}

export function readResources(
  checked: CheckedMcp["resources"],
  list: TextNode | undefined,
  diagnostics: Diagnostics,
): DriverResource[] {
  checkOnce(list, "uri_template", "resource", diagnostics);
  checkOnce(list, "ref_kind_id", "kind of reference", diagnostics);
  return (checked ?? []).flatMap((resource, index): DriverResource[] => {
    const node = nodeAt(list, index);
    if (node === undefined || resource?.uri_template === undefined) return [];
    const { uri_template: uriTemplate, description, integrate_as: how, ref_kind_id: refKindId } = resource;
    const [template, place] = [nodeAt(node, "uri_template"), nodeAt(node, "ref_kind_id")];
    if (template !== undefined) checkTemplate(uriTemplate, template, diagnostics);
    if (how === "ref_kind" && place === undefined)
      diagnostics.add(
        node,
        `ref_kind_id is missing in ${toLabel(node.path)}: a ref_kind has a name`,
        "Write ref_kind_id: mcp_<name>, or integrate_as: raw.",
      );
    if (place !== undefined && refKindId !== undefined && BASE_REF_KINDS.has(refKindId))
      diagnostics.add(
        place,
        `the ref_kind_id ${refKindId} is reserved: every host has this kind of reference`,
        `Take a name of its own, such as mcp_${refKindId}.`,
      );
    if (how === "raw" && place !== undefined)
      diagnostics.warn(place, "ref_kind_id has no effect with integrate_as: raw", "Remove ref_kind_id.");
    if (how === "ref_kind")
      return [
        definedOnly<DriverResource>({
          uriTemplate,
          description,
          integrateAs: how,
          refKindId: refKindId ?? "",
        }),
      ];
    return [definedOnly<DriverResource>({ uriTemplate, description, integrateAs: "raw" })];
  });
}

/** Where prompts and resources stand: what is wrong with one is found out later, by whoever starts the server. */
export function placesOfSurfaces(
  prompts: TextNode | undefined,
  resources: TextNode | undefined,
): Record<string, TextPlace> {
  const places: Record<string, TextPlace> = {};
  const note = (list: TextNode | undefined, key: string, fields: Readonly<Record<string, string>>): void => {
    for (const item of list?.kind === "list" ? list.items : []) {
      const name = nodeAt(item, key);
      if (name?.kind !== "string") continue;
      for (const [kind, field] of Object.entries(fields)) {
        const entry = entryOf(item, field);
        if (entry !== undefined) places[`${kind}:${String(name.value)}`] = placeOf(entry);
      }
    }
  };
  note(prompts, "name", { prompt: "name", skill_ref: "skill_ref" });
  note(resources, "uri_template", { resource: "uri_template" });
  note(resources, "ref_kind_id", { ref_kind: "ref_kind_id" });
  return places;
}

function checkOnce(list: TextNode | undefined, key: string, what: string, diagnostics: Diagnostics): void {
  const seen = new Map<string, Place>();
  for (const item of list?.kind === "list" ? list.items : []) {
    const node = nodeAt(item, key);
    if (node?.kind !== "string") continue;
    const text = String(node.value);
    const first = seen.get(text);
    if (first === undefined) seen.set(text, node);
    else
      diagnostics.add(
        node,
        `the ${what} ${quoted(text)} stands here and at line ${first.line}`,
        "Keep one of the two.",
      );
  }
}

/** Braces that do not close, and what cannot be an address at all. */
function checkTemplate(template: string, place: TextNode, diagnostics: Diagnostics): void {
  const sample = template.replace(/\{[^{}]+\}/g, "x");
  if (/[{}]/.test(sample))
    diagnostics.add(place, `${toLabel(place.path)} has braces that do not match`, "Write gaps as {name}.");
  else if (!/^[A-Za-zx][A-Za-z0-9+.-]*:/.test(sample))
    diagnostics.add(
      place,
      `${toLabel(place.path)} has no scheme`,
      "Write an address such as file:///{path}.",
    );
}
