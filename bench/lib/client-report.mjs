import { PAYLOADS } from "./load.mjs";
import { formatNumber, formatPercent, formatTable } from "./table.mjs";

const HEADER = ["", "calls/s", "of limit", "p50 µs", "p99 µs", "CPU µs/call", "RSS MB", "spread"];

export function printClientReport({ node, settings, groups, goals }) {
  console.log(`Node ${node}, ${settings.rounds} rounds of ${settings.durationMs} ms, medians of rounds`);
  for (const group of groups) {
    for (const payload of settings.payloads) printTable(group, payload);
    for (const reason of group.absent) console.log(`not measured: ${reason}`);
  }
  if (goals.length > 0) printGoals(goals);
}

function printTable({ title, cells }, payload) {
  const rows = cells
    .filter((cell) => cell.payload === payload)
    .flatMap(({ inFlight, rows }) => [`${inFlight} in flight`, ...rows.map(toCells)]);
  console.log(`\n## ${title}, ${formatBytes(PAYLOADS[payload])}\n\n${formatTable(HEADER, rows)}`);
}

function toCells(row) {
  return [
    `  ${row.name}`,
    formatNumber(row.callsPerSecond),
    formatPercent(row.ofLimit),
    formatNumber(row.p50Us),
    formatNumber(row.p99Us),
    formatNumber(row.cpuUsPerCall),
    formatNumber(row.rssMb),
    formatPercent(row.spread),
  ];
}

function printGoals(goals) {
  console.log("\n## Goals (32 bytes, 16 in flight)");
  let heading;
  for (const { group, row, text, met } of goals) {
    if (heading !== `${group}: ${row}`) console.log(`\n${(heading = `${group}: ${row}`)}`);
    console.log(`  ${met ? "met   " : "MISSED"}  ${text}`);
  }
}

function formatBytes(bytes) {
  return bytes < 1024 ? `${bytes} bytes` : `${bytes / 1024} KB`;
}
