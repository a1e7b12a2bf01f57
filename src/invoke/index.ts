// Public exports of the invoke room: opens servers of mcpfiles, and plans their commands.

export { blockedBy, envNames, envPlaces } from "./env-references.ts";
export { planCommands, type PlannedCommand } from "./cli/plan.ts";
export { type InvokeOptions, openInvoked } from "./open.ts";
