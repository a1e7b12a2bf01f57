// Public face of the driver formats: DRIVER.md, TOOL.md, SECRETS.md and SKILL.md.

export { parseJsonPath as parseExtract } from "../../model/index.ts";
export { checkBinding } from "./check-binding.ts";
export { checkExamples } from "./check-examples.ts";
export { readConsumers } from "./consumers.ts";
export { type DriverFile, type DriverOptions, parseDriver } from "./driver.ts";
export { type Frontmatter, readFrontmatter } from "./frontmatter.ts";
export { type MergedSecrets, mergeSecrets } from "./merge-secrets.ts";
export { keysOf, type SchemaKeys } from "./schema-keys.ts";
export { BASE_REF_KINDS } from "./public-schemas.ts";
export { driverSchemas } from "./schemas.ts";
export { envOfSlug, findSecret, slugOfEnv, variablesOf } from "./secret-names.ts";
export { parseSecrets, type SecretsFile } from "./secrets.ts";
export type { ServerJson } from "./server-json.ts";
export { parseSkill, type Skill, type SkillFile } from "./skill.ts";
export { parseTool, type ToolFile } from "./tool.ts";
export { type VendoredProgram, vendoredPrograms } from "./vendored.ts";
export { type BindingDraft, type DriverDraft, writeDriver } from "./write-driver.ts";
export { type ToolDraft, writeTool } from "./write-tool.ts";
