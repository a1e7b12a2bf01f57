// Counters of an upstream over several sessions.

import type { UpstreamStats } from "../upstream.ts";

export const NO_STATS: UpstreamStats = {
  ...{ inFlight: 0, lateAnswers: 0, unknownAnswers: 0, noise: 0, declined: 0, ambiguous: 0 },
  ...{ restarts: 0, eraProbes: 0 },
};

/** The sum of what ended before and what is counted now. */
export function sumOf(a: UpstreamStats, b: UpstreamStats): UpstreamStats {
  return {
    inFlight: b.inFlight,
    lateAnswers: a.lateAnswers + b.lateAnswers,
    unknownAnswers: a.unknownAnswers + b.unknownAnswers,
    noise: a.noise + b.noise,
    declined: a.declined + b.declined,
    ambiguous: (a.ambiguous ?? 0) + (b.ambiguous ?? 0),
    restarts: b.restarts,
    eraProbes: a.eraProbes + b.eraProbes,
  };
}
