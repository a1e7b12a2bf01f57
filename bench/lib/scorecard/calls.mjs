// Rows of the scorecard about calls through the gateway: CPU, added latency, payloads, many tools, memory.

import { runGatewayGroup } from "../gateway-bench.mjs";
import { measureIdle } from "../gateway-memory.mjs";
import { listGateways, UPSTREAMS } from "../gateways.mjs";
import { PAYLOADS } from "../load.mjs";

const NAMES = { small: "32 B", medium: "10 KB", large: "100 KB", huge: "1 MB" };
const CELLS = [
  ...[1, 16, 64].map((inFlight) => ({ payload: "small", inFlight })),
  { payload: "medium", inFlight: 16 },
  // In a shorter time, a single collection of garbage decides about these.
  ...["large", "huge"].map((payload) => ({ payload, inFlight: 16, durationMs: 500 })),
];
/** At most this many times the CPU time of the bare relay. */
const CPU_GOAL = { stdio: 1.2, http: 1.25 };
const CPU_GOAL_LARGE = 1.2;
const ADDED_GOAL_US = { stdio: 100, http: 220 };
/** The limit on the machine where the goals of idle memory were set: most of it is the program of Node itself. */
const IDLE_LIMIT_MB = 55;
const AFTER_LOAD = { small: 100_000, large: 5_000 };

export async function measureCalls({ quick, progress }) {
  const settings = { rounds: quick ? 2 : 4, durationMs: quick ? 150 : 250, warmUpMs: quick ? 3000 : 5000 };
  const gateways = listGateways({}).filter(({ role, name }) => role !== "rival" || !/modern/.test(name));
  const rows = [];
  for (const upstream of UPSTREAMS) {
    progress(`calls, ${upstream.title}`);
    const { cells } = await runGatewayGroup(upstream, gateways, { ...settings, cells: CELLS });
    rows.push(...cells.flatMap((cell) => toRows(upstream.id, cell)));
  }
  return rows;
}

function toRows(upstream, { payload, inFlight, rows }) {
  const measured = rows.filter(({ failure }) => !failure);
  const cpu = ({ name, cpuUsPerCall, cpuOfLimit }) => ({ name, value: cpuUsPerCall, ofLimit: cpuOfLimit });
  const where = `gateway HTTP -> ${upstream}, ${NAMES[payload]}, ${inFlight} in flight`;
  const ofLimit = payload === "small" ? CPU_GOAL[upstream] : CPU_GOAL_LARGE;
  const of = (role, pick) =>
    rows.filter((row) => row.role === role).map((row) => (row.failure ? row : pick(row)));
  const [limit] = of("limit", cpu);
  const found = of("ours", cpu).map((ours) => ({
    work: `${where}, ${ours.name.split(", ")[1]}`,
    unit: "µs CPU",
    limit,
    rivals: of("rival", cpu),
    ours,
    // One and 64 in flight are shown, not judged: the goals are for 16.
    goal: inFlight === 16 ? { ofLimit } : undefined,
  }));
  if (inFlight !== 1 || !measured.some(({ role }) => role === "direct")) return found;
  const added = ({ name, addedP50Us }) => ({ name, value: addedP50Us });
  const [addedByLimit] = of("limit", added);
  for (const ours of of("ours", added))
    found.push({
      work: `p50 added at one in flight -> ${upstream}, ${ours.name.split(", ")[1]}`,
      unit: "µs",
      limit: addedByLimit,
      rivals: of("rival", added),
      ours: { ...ours, ofLimit: ours.value / addedByLimit.value },
      // Judged as a ratio: on a busy machine every process that a call passes adds a wait for a core.
      goal: { ofLimit: ADDED_GOAL_US[upstream] / { stdio: 73, http: 182 }[upstream] },
    });
  return found;
}

/** A gateway with 1,000 tools against the same with 20, in the same rounds. */
export async function measureManyTools({ native, quick, progress }) {
  progress("calls with 1,000 tools");
  const ours = listGateways({}).find(({ role, era }) => role === "ours" && era === "modern");
  const withTools = (count, role) => ({
    ...ours,
    name: `portolan, ${count} tools`,
    role,
    upstreams: [{ alias: "echo", command: native, args: [String(count), "echo"] }],
  });
  const settings = { rounds: quick ? 4 : 8, durationMs: 250, warmUpMs: 5000 };
  const cells = [{ payload: "small", inFlight: 16 }];
  const gateways = [withTools(20, "limit"), withTools(1000, "ours")];
  const group = await runGatewayGroup(UPSTREAMS[0], gateways, { ...settings, cells });
  const [few, many] = group.cells[0].rows;
  return {
    work: "1,000 tools against 20, HTTP -> stdio",
    unit: "µs CPU",
    limit: { ...few, value: few.cpuUsPerCall },
    rivals: [],
    ours: { ...many, value: many.cpuUsPerCall, ofLimit: many.cpuOfLimit },
    goal: { ofLimit: 1.1 },
  };
}

/** Memory with nothing to do, and after many calls of both sizes. */
export async function measureMemory({ quick, progress }) {
  const gateways = listGateways({}).filter(
    ({ role, many, era }) => role === "limit" || (many && (role !== "ours" || era === "modern")),
  );
  const rows = [];
  for (const [upstreams, goal] of [
    [1, 60],
    [10, 65],
  ]) {
    progress(`memory with ${upstreams} idle upstreams`);
    const idle = await measureIdle(gateways, upstreams);
    const ofLimit = goal / IDLE_LIMIT_MB;
    rows.push(memoryRow(`idle memory, ${upstreams} stdio upstreams`, idle, "rssMb", { ofLimit }));
  }
  const loaded = gateways.filter(({ path }) => !path); // mcporter would take minutes
  const calls = quick ? { small: 20_000, large: 1_000 } : AFTER_LOAD;
  for (const upstream of UPSTREAMS) {
    const settings = {
      rounds: 1,
      durationMs: 100,
      warmUpMs: 100,
      cells: [{ payload: "small", inFlight: 16 }],
    };
    const { cells } = await runGatewayGroup(upstream, loaded, settings, async ({ row, load }) => {
      progress(`memory after load, ${upstream.title}, ${row.name}`);
      for (const [payload, count] of Object.entries(calls))
        if (row.failures.length === 0)
          await load.ask("run", { name: row.name, payload, inFlight: 64, calls: count }).catch(() => {});
    });
    const kb = PAYLOADS.large / 1024;
    const work = `memory after ${calls.small} calls of 32 B and ${calls.large} of ${kb} KB -> ${upstream.id}`;
    rows.push(memoryRow(work, cells[0].rows, "rssAfterMb", { ofLimit: 1 }));
  }
  return rows;
}

function memoryRow(work, rows, key, goal) {
  const of = (wanted) =>
    rows.filter(({ role }) => role === wanted).map((row) => ({ ...row, value: row[key] }));
  const [limit] = of("limit");
  const [ours] = of("ours");
  return {
    work,
    unit: "MB",
    limit,
    rivals: of("rival"),
    ours: { ...ours, ofLimit: ours.value / limit.value },
    goal,
  };
}
