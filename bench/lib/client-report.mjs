import { PAYLOADS } from "./load.mjs";
import { formatNumber, formatPercent, formatTable } from "./table.mjs";

const HEADER = ["", "calls/s", "of limit", "p50 µs", "p99 µs", "CPU µs/call", "RSS MB", "spread"];

export function printClientReport({ node, cores, loadBefore, settings, groups, goals }) {
  console.log(
    `Node ${node}, ${cores} cores, ${settings.rounds} rounds of ${settings.durationMs} ms, medians of rounds`,
  );
  if (loadBefore > cores / 4) {
    console.log(
      `The machine was busy before (load average ${loadBefore.toFixed(1)}): trust CPU µs/call, not calls/s.`,
    );
  }
  for (const group of groups) {
    for (const payload of settings.payloads) printTable(group, payload);
  }
  const absent = new Set(groups.flatMap((group) => group.absent));
  if (absent.size > 0) console.log(`\n${[...absent].map((reason) => `not measured: ${reason}`).join("\n")}`);
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
  const header = ["", "of limit's calls/s", "of best SDK's", "CPU µs/call", "of limit's CPU"];
  const rows = goals.flatMap(({ group, goals, rows }) => [
    [
      group,
      `>= ${formatPercent(goals.ofLimit)}`,
      goals.ofRival ? `>= ${goals.ofRival.toFixed(1)}x` : "",
      `<= ${goals.cpuUsPerCall} (limit ${goals.limitUs})`,
      `<= ${goals.cpuOfLimit.toFixed(2)}x`,
    ],
    ...rows.map(({ name, ofLimit, ofRival, cpuUsPerCall, cpuOfLimit }) => [
      `  ${name}`,
      mark(ofLimit, formatPercent(ofLimit.value)),
      ofRival ? mark(ofRival, `${ofRival.value.toFixed(1)}x`) : "",
      formatNumber(cpuUsPerCall),
      mark(cpuOfLimit, `${cpuOfLimit.value.toFixed(2)}x`),
    ]),
  ]);
  console.log(`\n## Goals (32 bytes, 16 in flight) and what was reached\n\n${formatTable(header, rows)}`);
}

function mark({ met }, text) {
  return met ? `${text} ok` : `${text} --`;
}

function formatBytes(bytes) {
  return bytes < 1024 ? `${bytes} bytes` : `${bytes / 1024} KB`;
}
