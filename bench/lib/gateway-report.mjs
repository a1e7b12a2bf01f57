import { PAYLOADS } from "./load.mjs";
import { formatNumber, formatPercent, formatTable } from "./table.mjs";

const HEADER = [
  "",
  "calls/s",
  "of relay",
  "of best rival",
  "p50 µs",
  "p99 µs",
  "CPU µs/call",
  "of relay's",
  "RSS MB idle",
  "after",
  "spread",
];

export function printGatewayReport({ node, cores, loadBefore, settings, groups, idle, goals }) {
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
  printIdle(idle);
  if (goals.length > 0) printGoals(goals);
  else console.log("\nNo goals judged: nothing of portolan's was measured.");
}

function printTable({ title, cells }, payload) {
  const shown = cells.filter((cell) => cell.payload === payload);
  const rows = shown.flatMap(({ inFlight, rows }) => [`${inFlight} in flight`, ...rows.map(toCells)]);
  console.log(`\n## ${title}, ${formatBytes(PAYLOADS[payload])}\n\n${formatTable(HEADER, rows)}`);
  const reasons = shown.flatMap((cell) =>
    cell.rows.filter(({ failure }) => failure).map(({ name, failure }) => `- ${name}: ${failure}`),
  );
  if (reasons.length > 0) console.log(["\nNot measured:", ...new Set(reasons)].join("\n"));
}

function toCells(row) {
  const name = `  ${row.name}`;
  if (row.failure) return [name, ...HEADER.slice(1).map(() => "-")];
  return [
    name,
    formatNumber(row.callsPerSecond),
    show(row.ofLimit, formatPercent),
    show(row.ofRival, formatRatio),
    formatNumber(row.p50Us),
    formatNumber(row.p99Us),
    show(row.cpuUsPerCall, formatNumber),
    show(row.cpuOfLimit, formatRatio),
    show(row.rssIdleMb, formatNumber),
    show(row.rssAfterMb, formatNumber),
    formatPercent(row.spread),
  ];
}

export function printIdle(idle) {
  if (idle.length === 0) return;
  const cells = idle.map(({ name, running, rssMb }) => [
    name,
    show(running, String),
    show(rssMb, formatNumber),
  ]);
  const table = formatTable(["", "of them running", "RSS MB"], cells);
  console.log(`\n## ${idle[0].upstreams} idle stdio upstreams\n\n${table}`);
  for (const { name, failure } of idle) if (failure) console.log(`not measured: ${name}: ${failure}`);
}

function printGoals(goals) {
  const rows = goals.map(({ what, name, goal, reached, met }) => [
    `${what}: ${name}`,
    goal,
    reached,
    met ? "ok" : "--",
  ]);
  console.log(`\n## Goals and what was reached\n\n${formatTable(["", "goal", "reached", ""], rows)}`);
}

function show(value, format) {
  return Number.isFinite(value) ? format(value) : "-";
}

function formatRatio(value) {
  return `${value.toFixed(2)}x`;
}

function formatBytes(bytes) {
  return bytes < 1024 ? `${bytes} bytes` : `${bytes / 1024} KB`;
}
