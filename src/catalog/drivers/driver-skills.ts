// Skills that prompts of drivers belong to. Their names are read; a prompt whose skill does not exist is not offered.

import { basename, dirname } from "node:path";
import type { ConfiguredDriver, Driver, DriverPrompt } from "../../model/index.ts";
import type { DriverReader } from "./driver-reader.ts";
import { findRef, type RefKind } from "./driver-secrets.ts";
import { driverFormats } from "../formats.ts";

type SkillPrompt = Extract<DriverPrompt, { readonly integrateAs: "skill_block" }>;

const SKILL_REF: RefKind = {
  field: "skill_ref",
  name: "SKILL.md",
  move: "Move the SKILL.md into the workspace, and write its new path in skill_ref.",
};

export async function withSkills(
  declared: ConfiguredDriver,
  top: string,
  reader: DriverReader,
): Promise<ConfiguredDriver> {
  const { driver } = declared;
  const blocks = driver.prompts.filter(
    (prompt): prompt is SkillPrompt => prompt.integrateAs === "skill_block",
  );
  if (blocks.length === 0) return declared;
  const skills = await Promise.all(
    blocks.map(async (prompt) => [prompt.skillRef, await skillOf(prompt, driver, top, reader)] as const),
  );
  return { ...declared, driver: { ...driver, skills: Object.fromEntries(skills) } };
}

async function skillOf(
  { name, skillRef: path }: SkillPrompt,
  { origin: { file, places } }: Driver,
  top: string,
  reader: DriverReader,
): Promise<string | null> {
  const place = places?.[`skill_ref:${name}`] ?? { line: 1, column: 1 };
  const [found] = await findRef({ file, path, ...place }, top, reader, SKILL_REF);
  if (found === undefined) return null;
  const skill = await readSkill(found, reader);
  const tell = (severity: "error" | "warning", message: string, hint: string): void => {
    reader.diagnostics.push({ code: "FILE_INVALID", severity, message, file, ...place, hint });
  };
  if (skill === undefined) {
    const message = `skill_ref ${path}: the skill cannot be read, so Portolan does not offer the prompt ${name}`;
    tell("error", message, `Correct ${found}, or write integrate_as: raw.`);
    return null;
  }
  const folder = basename(dirname(found));
  if (skill !== folder)
    tell(
      "warning",
      `skill_ref ${path}: the skill is named ${skill}, but its folder is named ${folder}`,
      `Portolan offers the prompt as ${skill}/${name}. Rename the folder to ${skill}.`,
    );
  return skill;
}

async function readSkill(file: string, reader: DriverReader): Promise<string | undefined> {
  const { parseSkill } = await driverFormats();
  return reader.parse(file, "skill", async (text) => {
    const { skill, diagnostics } = parseSkill(text, file);
    return { value: skill?.name, diagnostics };
  });
}
