// Public exports of the process room.

export { atExit } from "./at-exit.ts";
export { ChildGroup, tailOf } from "./child-group.ts";
export { sandboxEnvironment, CERTIFICATE_VARIABLES, childEnvironment } from "./environment.ts";
export { describeExit, explainingLine } from "./exit.ts";
export { findProgram, lookUpProgram, resolveShim } from "./find-program.ts";
export { isOwnerAnywhereGone, isOwnerGone, ownerTag, ownerTagAnywhere, reapOrphans } from "./orphans.ts";
export { measureMemory } from "./memory.ts";
export { childrenOf, stateOf } from "./proc.ts";
export type { Exit } from "./process-group.ts";
export {
  type BackgroundProgram,
  type Ended,
  runAttached,
  type RunningProgram,
  runProgram,
  type RunProgram,
  type RunResult,
  startBackground,
  startDetached,
  startProgram,
} from "./run.ts";
export { unclosable } from "./stdio.ts";
export type { Program, Spawnable, Spawned, Startable } from "./types.ts";
