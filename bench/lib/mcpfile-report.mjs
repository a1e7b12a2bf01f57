// The tables of `run.mjs mcpfile`, and its goals.

import { formatNumber, formatPercent, formatTable } from "./table.mjs";

const HEADER = ["", "p50 µs", "over direct", "of direct", "p99 µs", "calls/s", "CPU µs/call"];

export function printMcpfileReport({ node, cores, loadBefore, settings, groups }) {
  const { rounds, durationMs } = settings;
  console.log(
    `Node ${node}, ${cores} cores, medians of ${rounds} rounds of ${durationMs} ms, taken in turns`,
  );
  if (loadBefore > cores / 2) console.log(`The machine was busy before: load ${loadBefore.toFixed(1)}`);
  for (const { title, cells } of groups) {
    for (const { inFlight, rows } of cells) {
      console.log(`\n## ${title}, ${inFlight} in flight\n`);
      console.log(formatTable(HEADER, rows.map(toCells)));
    }
  }
  console.log("\n## Goals: the library, one call at a time\n");
  for (const group of groups) console.log(judge(group));
}

function toCells({ role, name, p50Us, p99Us, overUs, ratio, callsPerSecond, cpuUsPerCall }) {
  return [
    name,
    formatNumber(p50Us),
    role === "direct" ? "" : `${overUs < 0 ? "" : "+"}${formatNumber(overUs)}`,
    role === "direct" ? "" : formatPercent(ratio),
    formatNumber(p99Us),
    formatNumber(callsPerSecond),
    formatNumber(cpuUsPerCall),
  ];
}

function judge({ title, goal, cells }) {
  const { overUs, ratio } = cells[0].rows.find(({ role }) => role === "library");
  const [met, found, wanted] =
    goal.overMs === undefined
      ? [ratio <= 1 + goal.overShare, formatPercent(ratio - 1), formatPercent(goal.overShare)]
      : [overUs <= goal.overMs * 1000, `${(overUs / 1000).toFixed(2)} ms`, `${goal.overMs} ms`];
  const other = cells[0].rows.find(({ role }) => role === "other");
  const besides = other ? ` (${formatPercent(ratio / other.ratio - 1)} over a group of its own)` : "";
  return `${met ? "met   " : "MISSED"}  ${title}: ${found} over the direct way${besides}; goal: at most ${wanted}`;
}
