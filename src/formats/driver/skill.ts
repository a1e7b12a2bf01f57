// A SKILL.md, as far as a prompt that becomes a part of it needs to know.

import type { Diagnostic } from "../../errors/index.ts";
import { definedOnly } from "../manifest/index.ts";
import { checkShape, nodeAt, type ObjectShape, Diagnostics } from "../document/index.ts";
import { readFrontmatter } from "./frontmatter.ts";

export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly title?: string | undefined;
}

export interface SkillFile {
  readonly skill?: Skill | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

const SHAPE: ObjectShape = {
  type: "object",
  open: true,
  fields: {
    name: {
      type: "string",
      required: true,
      scalars: true,
      maxLength: 64,
      pattern: "^[a-z0-9]+(?:-[a-z0-9]+)*$",
      says: "Use small letters and digits, with single dashes between: summarize-document.",
      description: "its name, that of its folder",
    },
    description: {
      type: "string",
      required: true,
      maxLength: 1_024,
      description: "what it is for, and when",
    },
    title: { type: "string", scalars: true, description: "Its name for people." },
  },
};

export function parseSkill(text: string, file: string): SkillFile {
  const { root, diagnostics: syntax } = readFrontmatter(text, file);
  if (root === undefined) return { diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const { name, description, title } = checkShape(SHAPE, root, diagnostics) as Partial<Skill>;
  if (name === undefined || description === undefined || diagnostics.hasErrorIn(root))
    return { diagnostics: diagnostics.sorted() };
  const inner = nodeAt(root, "metadata", "aip3", "title");
  const other = inner?.kind === "string" ? String(inner.value) : undefined;
  return {
    skill: definedOnly<Skill>({ name, description, title: title ?? other }),
    diagnostics: diagnostics.sorted(),
  };
}
