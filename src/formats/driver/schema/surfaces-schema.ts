// Schemas of the prompts and resources of a driver, each with the fields that its integration needs.

import type { DriverPrompt, DriverResource, TextPlace } from "../../../model/index.ts";
import { entryOf, nodeAt, type Place, quoted, type TextNode, toLabel } from "../../document/index.ts";
import {
  type JsonSchemaObject,
  list,
  object,
  oneOf,
  type ReadContext,
  text,
} from "../../schema-builder/index.ts";
import { BASE_REF_KINDS } from "./public-schemas.ts";
import { checkPath, placeOf } from "./shared-fields.ts";

/** States for editors that an integration needs a field. */
const needs =
  (integration: string, field: string) =>
  (schema: JsonSchemaObject): JsonSchemaObject => ({
    ...schema,
    if: { properties: { integrate_as: { const: integration } } },
    then: { required: [field] },
  });

const PROMPT = object(
  "",
  {
    name: text("Name of the prompt at the MCP server.").required(),
    description: text("Description of the prompt.", { empty: true }),
    integrateAs: oneOf(
      "Form in which clients get the prompt. raw: under its own name. skill_block: as <skill>/<prompt>; requires skill_ref.",
      ["skill_block", "raw"],
    ).required(),
    skillRef: text("Path of the SKILL.md that names the skill. Only for skill_block.").transform(checkPath),
  },
  {
    check({ integrateAs }, at) {
      const skill = at.entry("skillRef");
      if (integrateAs === "skill_block" && skill === undefined)
        at.error(
          "skillRef",
          `skill_ref is missing in ${toLabel(at.node.path)}: integrate_as: skill_block needs it`,
          "Write skill_ref: ./skills/<name>/SKILL.md, or integrate_as: raw.",
        );
      if (integrateAs === "raw" && skill !== undefined)
        at.warn("skillRef", "skill_ref has no effect with integrate_as: raw", "Remove skill_ref.");
    },
  },
)
  .withJsonSchema(needs("skill_block", "skill_ref"))
  .transform(({ name, description, integrateAs, skillRef = "" }): DriverPrompt =>
    integrateAs === "raw" ? { name, description, integrateAs } : { name, description, integrateAs, skillRef },
  );

const RESOURCE = object(
  "",
  {
    uriTemplate: text("URI template of the resource, such as file:///{path}.")
      .required()
      .transform(checkTemplate),
    description: text("Description of the resource.", { empty: true }),
    integrateAs: oneOf(
      "Form in which clients get the resource. raw: under its own URI. ref_kind: as references such as mcp_files:<uri>, not under its own URI; requires ref_kind_id.",
      ["ref_kind", "raw"],
    ).required(),
    refKindId: text("Name of the reference kind, such as mcp_files. Only for ref_kind.", {
      pattern: "^[a-z][a-z0-9_]*$",
      patternHint: "Use small letters, digits and _, beginning with a letter.",
      maxLength: 80,
    }),
  },
  {
    check({ integrateAs, refKindId }, at) {
      const id = at.entry("refKindId");
      if (integrateAs === "ref_kind" && id === undefined)
        at.error(
          "refKindId",
          `ref_kind_id is missing in ${toLabel(at.node.path)}: integrate_as: ref_kind needs it`,
          "Write ref_kind_id: mcp_<name>, or integrate_as: raw.",
        );
      if (refKindId !== undefined && BASE_REF_KINDS.has(refKindId))
        at.error(
          "refKindId",
          `the ref_kind_id ${refKindId} is reserved: every host has this kind of reference`,
          `Choose another name, such as mcp_${refKindId}.`,
        );
      if (integrateAs === "raw" && id !== undefined)
        at.warn("refKindId", "ref_kind_id has no effect with integrate_as: raw", "Remove ref_kind_id.");
    },
  },
)
  .withJsonSchema(needs("ref_kind", "ref_kind_id"))
  .transform(({ uriTemplate, description, integrateAs, refKindId = "" }): DriverResource =>
    integrateAs === "raw"
      ? { uriTemplate, description, integrateAs }
      : { uriTemplate, description, integrateAs, refKindId },
  );

export const PROMPTS = list("Prompts of the server that the driver offers.", PROMPT);
export const RESOURCES = list("Resources of the server that the driver offers.", RESOURCE);

/** Reports prompts and resources that appear twice. */
export function checkSurfacesOnce(root: TextNode, context: ReadContext): void {
  checkOnce(nodeAt(root, "prompts"), "name", "prompt", context);
  checkOnce(nodeAt(root, "resources"), "uri_template", "resource", context);
  checkOnce(nodeAt(root, "resources"), "ref_kind_id", "kind of reference", context);
}

/** The places of prompts and resources, for diagnostics that are found only when the server runs. */
export function placesOfSurfaces(root: TextNode): Record<string, TextPlace> {
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
  note(nodeAt(root, "prompts"), "name", { prompt: "name", skill_ref: "skill_ref" });
  note(nodeAt(root, "resources"), "uri_template", { resource: "uri_template" });
  note(nodeAt(root, "resources"), "ref_kind_id", { ref_kind: "ref_kind_id" });
  return places;
}

function checkOnce(
  items: TextNode | undefined,
  key: string,
  what: string,
  { diagnostics }: ReadContext,
): void {
  const seen = new Map<string, Place>();
  for (const item of items?.kind === "list" ? items.items : []) {
    const node = nodeAt(item, key);
    if (node?.kind !== "string") continue;
    const written = String(node.value);
    const first = seen.get(written);
    if (first === undefined) seen.set(written, node);
    else
      diagnostics.add(
        node,
        `the ${what} ${quoted(written)} is declared here and at line ${first.line}`,
        "Keep one of the two.",
      );
  }
}

function checkTemplate(template: string, node: TextNode, { diagnostics }: ReadContext): string {
  const sample = template.replace(/\{[^{}]+\}/g, "x");
  if (/[{}]/.test(sample))
    diagnostics.add(
      node,
      `${toLabel(node.path)} has braces that do not match`,
      "Write placeholders as {name}.",
    );
  else if (!/^[A-Za-zx][A-Za-z0-9+.-]*:/.test(sample))
    diagnostics.add(node, `${toLabel(node.path)} has no scheme`, "Write an address such as file:///{path}.");
  return template;
}
