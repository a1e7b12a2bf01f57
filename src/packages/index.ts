// Public exports of the packages room: the lock file of a workspace, and pins of tool definitions.

export {
  lockFileOf,
  type LockResult,
  parseLock,
  readLock,
  renderLock,
  updateLock,
} from "./lock/lock-file.ts";
export { type Lock, LOCK, type LockedPackage, type LockedServer } from "./lock/schema.ts";
export { findHiddenText, type HiddenText } from "./pins/hidden-text.ts";
export { type LintFinding, lintDefinition, type LintRule } from "./pins/lint-definition.ts";
export { comparePins, type PinnedTool, pinOf, type PinVerdict, removedTools } from "./pins/tool-pin.ts";
