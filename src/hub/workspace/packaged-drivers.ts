// Drivers of packages, for the catalog. The room of packages loads with the first lock file that names contracts.

import type { FindPackagedDrivers } from "../../catalog/index.ts";

export const packagedDrivers: FindPackagedDrivers = async (...args) =>
  (await import("../../packages/index.ts")).findPackagedDrivers(...args);
