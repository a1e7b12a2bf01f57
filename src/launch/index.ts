// Public face of the launch room.

import type { Diagnosis } from "./diagnose.ts";
import type * as images from "./image.ts";
import type * as now from "./install-now.ts";

export type { Diagnosis };
export type { InstallReport } from "./install-now.ts";
export { install, launch, planLaunch, type StartRequest } from "./launch.ts";
export { checkHiddenPaths } from "./check-hidden-paths.ts";
export { checkStart, checkWorkspaceFiles, FILE_REFUSED_HINT, fileRefusal } from "./file-places.ts";
export { decide as decideHost } from "./egress/policy.ts";
export { splitCommand } from "./install/command-words.ts";
export { chooseMode } from "./mode.ts";
export { type LaunchRequest, prepare } from "./prepare.ts";
export { runCommand } from "./run-command.ts";
export type { ChildGroup, Exit } from "./process/child.ts";
export { childEnvironment } from "./process/child-env.ts";
export { reapOrphans } from "./process/orphans.ts";
export { writerOf } from "./writers.ts";
export { stdioOf } from "./process/stdio.ts";
export type { Finding, LaunchNews, LaunchPlan } from "./types.ts";
export type { NamedPath } from "./sandbox/hidden-paths.ts";
export type { PathCheck } from "./sandbox/path-check.ts";

// What few programs need is loaded when one does.

export const diagnose = async (): Promise<Diagnosis> => (await import("./diagnose.ts")).diagnose();

export const installNow: typeof now.installNow = async (...args) =>
  (await import("./install-now.ts")).installNow(...args);

export const launchHttp: typeof images.launchHttp = async (...args) =>
  (await import("./image.ts")).launchHttp(...args);
