// Goals of our own rows, all with 32 bytes and 16 in flight.
//
// The CPU goals were set on a machine where the limit cost `limitUs`. This machine is faster or slower, so what is
// judged is the ratio to what the limit costs in the same rounds.

const GOALS = {
  stdio: { ofLimit: 0.75, cpu: { us: 16, limitUs: 11 } },
  "http-json": { ofLimit: 0.7, ofRival: 3.5, cpu: { us: 110, limitUs: 81 } },
  "http-sse": { ofLimit: 0.7, ofRival: 3, cpu: { us: 120, limitUs: 81 } },
};

/** Per group that measured the cell in question: its goals, and our rows with what they reached. */
export function judgeGoals(groups) {
  return groups.flatMap(({ id, title, cells }) => {
    const cell = cells.find(({ payload, inFlight }) => payload === "small" && inFlight === 16);
    const ours = cell?.rows.filter(({ role }) => role === "ours") ?? [];
    if (ours.length === 0) return [];
    const { ofLimit, ofRival, cpu } = GOALS[id];
    const goals = {
      ofLimit,
      ofRival,
      cpuUsPerCall: cpu.us,
      limitUs: cpu.limitUs,
      cpuOfLimit: cpu.us / cpu.limitUs,
    };
    return [{ group: title, goals, rows: ours.map((row) => judgeRow(row, cell.rows, goals)) }];
  });
}

function judgeRow({ name, ofLimit, cpuUsPerCall, cpuOfLimit, callsPerSecond }, rows, goals) {
  const rivals = rows.filter(({ role }) => role === "rival").map((rival) => rival.callsPerSecond);
  const ofRival = goals.ofRival && rivals.length > 0 ? callsPerSecond / Math.max(...rivals) : undefined;
  return {
    name,
    cpuUsPerCall,
    ofLimit: { value: ofLimit, met: ofLimit >= goals.ofLimit },
    ofRival: ofRival && { value: ofRival, met: ofRival >= goals.ofRival },
    cpuOfLimit: { value: cpuOfLimit, met: cpuOfLimit <= goals.cpuOfLimit },
  };
}
