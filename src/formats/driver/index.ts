// Public exports of the driver formats: DRIVER.md, TOOL.md, SECRETS.md and SKILL.md.

export { parseJsonPath as parseExtract } from "../../model/index.ts";
export { checkExamples } from "./check/check-examples.ts";
export { readToolSchema } from "./read/contract-json-schema.ts";
export {
  type MergedSecrets,
  mergeSecrets,
  parseSecrets,
  readConsumers,
  type SecretsFile,
} from "./read/secrets.ts";
export { type DriverFile, type DriverOptions, parseDriver } from "./read/driver.ts";
export { type Frontmatter, readFrontmatter } from "./read/frontmatter.ts";
export { BASE_REF_KINDS } from "./schema/public-schemas.ts";
export { driverSchemas } from "./schema/json-schemas.ts";
export { envOfSlug, findSecret, slugOfEnv, variablesOf } from "./read/secret-names.ts";
export type { ServerJson } from "./read/server-json.ts";
export { parseSkill, type Skill, type SkillFile } from "./read/skill.ts";
export { parseTool, type ToolFile } from "./read/tool.ts";
export { type VendoredProgram, vendoredPrograms } from "./read/launch.ts";
export { type BindingDraft, type DriverDraft, writeDriver } from "./write/write-driver.ts";
export { type ToolDraft, writeTool } from "./write/write-tool.ts";
