// fast-check with a fixed seed, so that a test run says the same twice. PORTOLAN_SEED=random looks for new cases.

import { createRequire } from "node:module";
import type * as FastCheck from "fast-check";

// By `require`: this module stands in for "fast-check" wherever a test imports it.
const fc = createRequire(import.meta.url)("fast-check") as typeof FastCheck;
const seed = process.env.PORTOLAN_SEED ?? "20260728";
if (seed !== "random") fc.configureGlobal({ seed: Number(seed) });

// oxlint-disable-next-line import/no-default-export -- it stands in for a module that has one
export default fc;
