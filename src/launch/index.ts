// Public exports of the launch room.

import type { Diagnosis } from "./diagnose.ts";
import type * as images from "./image.ts";
import type * as now from "./install-now.ts";
import type * as local from "./local-program.ts";
import type * as packages from "./package.ts";

export type { Diagnosis };
export type { PackagedMcpfile } from "./package.ts";
export type { InstallReport } from "./install-now.ts";
export { createLaunchContext, type LaunchContext, type LaunchNews, type LaunchPlan } from "./types.ts";
export { createIndexRenewal, type IndexRenewal } from "./index-renewal.ts";
export { install, launch, planLaunch, runCommand, type StartRequest } from "./launch.ts";
export { checkHiddenPaths } from "./check-hidden-paths.ts";
export { checkProgram, checkProgramFolder } from "./check-program.ts";
export { checkPaths, type LaunchRequest, planned, prepare } from "./prepare.ts";

// These functions load their modules on first use, because few programs need them.

export const diagnose = async (): Promise<Diagnosis> => (await import("./diagnose.ts")).diagnose();

export const installNow: typeof now.installNow = async (...args) =>
  (await import("./install-now.ts")).installNow(...args);

export const preferLocal: typeof local.preferLocal = async (...args) =>
  (await import("./local-program.ts")).preferLocal(...args);

export const findPackagedMcpfile: typeof packages.findPackagedMcpfile = async (...args) =>
  (await import("./package.ts")).findPackagedMcpfile(...args);

export const launchHttp: typeof images.launchHttp = async (...args) =>
  (await import("./image.ts")).launchHttp(...args);
