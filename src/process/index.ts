// Public face of the process room.

export { ChildGroup, type Exit } from "./child-group.ts";
export { sandboxEnvironment, CERTIFICATE_VARIABLES, childEnvironment } from "./environment.ts";
export { describeExit, explainingLine } from "./exit.ts";
export { findProgram, lookUpProgram, resolveShim } from "./find-program.ts";
export { isOwnerAnywhereGone, isOwnerGone, ownerTag, ownerTagAnywhere, reapOrphans } from "./orphans.ts";
export { childrenOf, stateOf } from "./proc.ts";
export { runAttached, runProgram, type RunProgram, type RunResult } from "./run.ts";
export { stdioOf, unclosable } from "./stdio.ts";
export type { Program, Spawnable, Spawned } from "./types.ts";
