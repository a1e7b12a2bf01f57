// Reads a SKILL.md: its name, description and title.

import type { Diagnostic } from "../../../errors/index.ts";
import { definedOnly } from "../../manifest/index.ts";
import { Diagnostics, nodeAt } from "../../document/index.ts";
import { object, text } from "../../schema-builder/index.ts";
import { readFrontmatter } from "./frontmatter.ts";

export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly title?: string;
}

export interface SkillFile {
  readonly skill?: Skill;
  readonly diagnostics: readonly Diagnostic[];
}

const SKILL = object(
  "",
  {
    name: text("Name of the skill. It must be the name of the folder.", {
      scalars: true,
      maxLength: 64,
      pattern: "^[a-z0-9]+(?:-[a-z0-9]+)*$",
      patternHint: "Use small letters and digits, with single dashes between: summarize-document.",
    }).required(),
    description: text("Description of the skill, and when to use it.", { maxLength: 1_024 }).required(),
    title: text("Display name of the skill.", { scalars: true }),
  },
  { open: true },
);

export function parseSkill(text: string, file: string): SkillFile {
  const { root, diagnostics: syntax } = readFrontmatter(text, file);
  if (root === undefined) return { diagnostics: syntax };
  const diagnostics = new Diagnostics(file, syntax);
  const skill = SKILL.read(root, { diagnostics, folder: "" });
  if (skill === undefined) return { diagnostics: diagnostics.sorted() };
  const inner = nodeAt(root, "metadata", "aip3", "title");
  const other = inner?.kind === "string" ? String(inner.value) : undefined;
  return {
    skill: definedOnly<Skill>({ ...skill, title: skill.title ?? other }),
    diagnostics: diagnostics.sorted(),
  };
}
