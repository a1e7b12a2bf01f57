// Public face of the launch room.

export { diagnose, type Diagnosis } from "./diagnose.ts";
export { install, launch, launchHttp, planLaunch, type StartRequest } from "./launch.ts";
export { type LaunchRequest, prepare } from "./prepare.ts";
export type { ChildGroup, Exit } from "./process/child.ts";
export { childEnvironment } from "./process/child-env.ts";
export { reapOrphans } from "./process/orphans.ts";
export { createPathCheck } from "./sandbox/path-check.ts";
export type { Finding, LaunchNews, LaunchPlan } from "./types.ts";
