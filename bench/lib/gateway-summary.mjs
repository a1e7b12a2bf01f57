// From samples to the figures of one cell: one payload, one number in flight.

import { median, spread } from "./stats.mjs";

/** Ratios of calls per second are taken within a round, where both sides saw the same machine, and then the median of these. */
export function summarizeCell(cell, index, rows) {
  const measured = rows.filter(({ failures }) => !failures[index]).map((row) => summarizeRow(row, index));
  const limit = measured.find(({ role }) => role === "limit");
  const direct = measured.find(({ role }) => role === "direct");
  const rival = measured
    .filter(({ role }) => role === "rival")
    .reduce((best, row) => (row.callsPerSecond > (best?.callsPerSecond ?? 0) ? row : best), undefined);

  for (const row of measured) {
    row.ofLimit = ratioOf(row, limit);
    row.ofRival = ratioOf(row, rival);
    row.cpuOfLimit = limit && row.cpuUsPerCall / limit.cpuUsPerCall;
    row.addedP50Us = direct && row.p50Us - direct.p50Us;
  }
  const absent = rows
    .filter(({ failures }) => failures[index])
    .map(({ name, role, failures }) => ({ name, role, failure: failures[index] }));
  const order = rows.map(({ name }) => name);
  const all = [...measured, ...absent].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  return { ...cell, fastestRival: rival?.name, rows: all };
}

function summarizeRow({ name, role, samples, rssIdleMb, rssAfterMb }, index) {
  const own = samples[index];
  const medianOf = (key) => median(own.map((sample) => sample[key]));
  const total = (key) => own.reduce((sum, sample) => sum + sample[key], 0);
  return {
    name,
    role,
    callsPerSecond: medianOf("callsPerSecond"),
    p50Us: medianOf("p50Us"),
    p99Us: medianOf("p99Us"),
    cpuUsPerCall: own[0].cpuMs === undefined ? undefined : (total("cpuMs") * 1000) / total("calls"),
    rssIdleMb,
    rssAfterMb,
    spread: spread(own.map((sample) => sample.callsPerSecond)),
    samples: own,
  };
}

function ratioOf(row, base) {
  if (!base) return undefined;
  return median(
    row.samples.map(({ callsPerSecond }, round) => callsPerSecond / base.samples[round].callsPerSecond),
  );
}
