// Goals of our gateway. Each goal becomes a line: what, the goal, what our rows reached, and whether that is enough.
//
// The CPU goals were set on a machine where the relay cost `limitUs`; this machine is faster or slower, so what is judged
// is the ratio to the relay of the same run.

const CPU_OF_LIMIT = 1.3;
const OBSERVED_OF_PLAIN = 1.1;
const OF_RIVAL = 2;
const IDLE_RSS_MB = 90;
const AFTER_LOAD_RSS_MB = 200;
const ADDED_P50_US = { stdio: 200, http: 300 };
const CPU_US = { stdio: "110 µs", http: "160 µs", large: "900 µs" };

export function judgeGatewayGoals({ groups, idle }) {
  const goals = groups.flatMap(({ id, cells }) => [
    ...cells.flatMap((cell) => cell.rows.filter(isOurs).flatMap((row) => judgeCell(id, cell, row))),
    ...cells.flatMap((cell) => judgeObserved(id, cell)),
    ...cells[0].rows.filter(isOurs).flatMap((row) => judgeMemory(id, row)),
  ]);
  for (const row of idle.filter(isOurs)) {
    if (row.rssMb === undefined || row.running < row.upstreams) continue; // fewer would be too easy
    goals.push({
      what: `idle RSS, ${row.upstreams} idle stdio upstreams`,
      name: row.name,
      goal: `<= ${IDLE_RSS_MB} MB`,
      reached: `${row.rssMb.toFixed(0)} MB`,
      met: row.rssMb <= IDLE_RSS_MB,
    });
  }
  return goals;
}

function judgeCell(upstream, { payload, inFlight, fastestRival }, row) {
  if (payload !== "small" && payload !== "large") return []; // no goals were set for the others
  const { name, cpuOfLimit, cpuUsPerCall, ofRival, addedP50Us } = row;
  const where = `-> ${upstream}, ${payload === "small" ? "32 B" : "100 KB"}, ${inFlight} in flight`;
  const lines = [];
  if (inFlight === 16 && Number.isFinite(cpuOfLimit)) {
    lines.push({
      what: `CPU per call ${where}`,
      name,
      goal: `<= ${CPU_OF_LIMIT}x the relay's (${payload === "small" ? CPU_US[upstream] : CPU_US.large})`,
      reached: `${cpuOfLimit.toFixed(2)}x, ${cpuUsPerCall.toFixed(0)} µs`,
      met: cpuOfLimit <= CPU_OF_LIMIT,
    });
  }
  if (payload === "small" && ofRival !== undefined) {
    lines.push({
      what: `calls/s ${where}`,
      name,
      goal: `>= ${OF_RIVAL}x the fastest rival's`,
      reached: `${ofRival.toFixed(2)}x ${fastestRival}`,
      met: ofRival >= OF_RIVAL,
    });
  }
  if (payload === "small" && inFlight === 1 && addedP50Us !== undefined) {
    lines.push({
      what: `p50 added to direct calls ${where}`,
      name,
      goal: `<= ${ADDED_P50_US[upstream]} µs`,
      reached: `${addedP50Us.toFixed(0)} µs`,
      met: addedP50Us <= ADDED_P50_US[upstream],
    });
  }
  return lines;
}

/** What metrics, audit log and console add, against the same gateway without them in the same run. */
function judgeObserved(upstream, { payload, inFlight, rows }) {
  const plain = rows.find((row) => isOurs(row) && row.name.includes("modern"));
  if (inFlight !== 16 || payload !== "small" || plain === undefined) return [];
  const observed = rows.filter(({ role, failure }) => role === "observed" && failure === undefined);
  return observed.map(({ name, cpuUsPerCall }) => {
    const ratio = cpuUsPerCall / plain.cpuUsPerCall;
    return {
      what: `CPU per call with metrics and audit -> ${upstream}, 32 B, 16 in flight`,
      name,
      goal: `<= ${OBSERVED_OF_PLAIN}x without them`,
      reached: `${ratio.toFixed(2)}x, ${cpuUsPerCall.toFixed(0)} µs`,
      met: ratio <= OBSERVED_OF_PLAIN,
    };
  });
}

function judgeMemory(upstream, { name, rssAfterMb }) {
  if (rssAfterMb === undefined) return [];
  return [
    {
      what: `RSS after all of the load -> ${upstream}`,
      name,
      goal: `<= ${AFTER_LOAD_RSS_MB} MB`,
      reached: `${rssAfterMb.toFixed(0)} MB`,
      met: rssAfterMb <= AFTER_LOAD_RSS_MB,
    },
  ];
}

function isOurs({ role, failure }) {
  return role === "ours" && failure === undefined;
}
