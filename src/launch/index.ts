// Public face of the launch room.

export type { LaunchNews, LaunchPlan } from "./types.ts";
export { launch, type LaunchRequest } from "./launch.ts";
export type { ChildGroup, Exit } from "./process/child.ts";
export { childEnvironment } from "./process/child-env.ts";
export { reapOrphans } from "./process/orphans.ts";
