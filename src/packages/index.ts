// Public exports of the packages room: the lock file of a workspace, pins of tool definitions, and packing.

export {
  lockFileOf,
  type LockResult,
  parseLock,
  readLock,
  renderLock,
  updateLock,
} from "./lock/lock-file.ts";
export { type Lock, LOCK, type LockedPackage, type LockedServer } from "./lock/schema.ts";
export { packArchive, type PackedArchive } from "./pack/archive.ts";
export { type DocumentChange, packDocument, type PackedDocument, textIn } from "./pack/document.ts";
export { type Capabilities, type PackageFacts, toCapabilities, toModule } from "./pack/facts.ts";
export { factsOfDriver } from "./pack/from-driver.ts";
export { factsOfMcpfile, permissionsOfSandbox } from "./pack/from-mcpfile.ts";
export { factsOfNpm } from "./pack/from-npm.ts";
export { type LintFinding, lintDefinition, type LintRule } from "./pins/lint-definition.ts";
export { comparePins, type PinnedTool, pinOf, type PinVerdict, removedTools } from "./pins/tool-pin.ts";
