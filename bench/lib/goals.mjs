// What our own rows aim at, all with 32 bytes and 16 in flight.
//
// The CPU goals were set on a machine where the limit cost `limitUs`. This machine is faster or slower, so what is
// judged is the ratio to what the limit costs in the same rounds.

const GOALS = {
  stdio: { ofLimit: 0.75, cpu: { us: 16, limitUs: 11 } },
  "http-json": { ofLimit: 0.7, ofRival: { least: 3, aim: 3.5 }, cpu: { us: 110, limitUs: 81 } },
  "http-sse": { ofLimit: 0.7, ofRival: { least: 3 }, cpu: { us: 120, limitUs: 81 } },
};

/** A list of `{ group, row, text, met }`, empty for what was not measured. */
export function judgeGoals(groups) {
  return groups.flatMap(({ id, title, cells }) => {
    const cell = cells.find(({ payload, inFlight }) => payload === "small" && inFlight === 16);
    const ours = cell?.rows.filter(({ role }) => role === "ours") ?? [];
    return ours.flatMap((row) => judgeRow(row, cell.rows, GOALS[id]).map((verdict) => ({ group: title, row: row.name, ...verdict })));
  });
}

function judgeRow(row, rows, { ofLimit, ofRival, cpu }) {
  const verdicts = [
    { text: `${percent(row.ofLimit)} of the limit's calls/s, goal >= ${percent(ofLimit)}`, met: row.ofLimit >= ofLimit },
  ];
  const rivals = rows.filter(({ role }) => role === "rival");
  if (ofRival && rivals.length > 0) {
    const best = rivals.reduce((a, b) => (b.callsPerSecond > a.callsPerSecond ? b : a));
    const times = row.callsPerSecond / best.callsPerSecond;
    const aim = ofRival.aim ? ` (better: ${ofRival.aim}x)` : "";
    verdicts.push({
      text: `${times.toFixed(1)}x the calls/s of the best SDK client (${best.name}), goal >= ${ofRival.least}x${aim}`,
      met: times >= ofRival.least,
    });
  }
  const goalRatio = cpu.us / cpu.limitUs;
  verdicts.push({
    text:
      `${row.cpuUsPerCall.toFixed(1)} µs CPU per call, ${row.cpuOfLimit.toFixed(2)}x the limit's, ` +
      `goal <= ${cpu.us} µs where the limit costs ${cpu.limitUs} µs: <= ${goalRatio.toFixed(2)}x`,
    met: row.cpuOfLimit <= goalRatio,
  });
  return verdicts;
}

function percent(share) {
  return `${Math.round(share * 100)} %`;
}
