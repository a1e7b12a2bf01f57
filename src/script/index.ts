// Public exports of the script room: mlld scripts that call MCP servers.

export { type PlannedServer, planScript, type ScriptPlan } from "./check/plan.ts";
export { SCRIPT_LIMITS } from "./limits.ts";
export { checkServers, type RunResult, runScript } from "./run/run-script.ts";
export { parseScript, type Script } from "./script.ts";
export { type LockedServerPackage, readLockedPackages } from "./servers/locked-packages.ts";
export type { ScriptServers, SettingSecret } from "./servers/script-servers.ts";
export { createWorkspaceServers } from "./servers/workspace-servers.ts";
