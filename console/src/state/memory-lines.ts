// Lines of the memory chart: the gateway and its servers. A chart has four lines, so that small servers share one.

export type Point = readonly [time: number, bytes: number];

export interface MemoryLine {
  readonly name: string;
  readonly points: readonly Point[];
}

export interface MemorySample {
  readonly time: number;
  readonly memory?: number;
  readonly processes: readonly { readonly pid: number; readonly memory: number }[];
}

const MAX_SERVERS = 3;

/** The gateway and all servers, or only `server` if it is not empty. */
export function memoryLines(
  samples: ReadonlyMap<string, readonly MemorySample[]>,
  gateway: readonly Point[],
  server: string,
): readonly MemoryLine[] {
  const servers = [...samples]
    .filter(([alias]) => server === "" || alias === server)
    .map(([name, measured]) => ({ name, measured, points: pointsOf(measured) }))
    .filter(({ points }) => points.length > 0)
    .toSorted((a, b) => lastOf(b.points) - lastOf(a.points));
  const shown = servers.length > MAX_SERVERS ? servers.slice(0, MAX_SERVERS - 1) : servers;
  const others = servers.slice(shown.length);
  const rest = {
    name: `${others.length} other servers`,
    points: sumOf(others.flatMap(({ measured }) => measured)),
  };
  const own = { name: "gateway", points: server === "" ? gateway : [] };
  return [own, ...shown, rest]
    .filter(({ points }) => points.length > 1)
    .map(({ name, points }) => ({ name, points }));
}

function pointsOf(measured: readonly MemorySample[]): readonly Point[] {
  return measured.flatMap(({ time, memory }) => (memory === undefined ? [] : [[time, memory] as const]));
}

function lastOf(points: readonly Point[]): number {
  return points.at(-1)?.[1] ?? 0;
}

/** Servers can share a process, which counts once. */
function sumOf(measured: readonly MemorySample[]): readonly Point[] {
  const byTime = new Map<number, Map<number, number>>();
  for (const { time, processes } of measured) {
    const bytes = byTime.get(time) ?? new Map<number, number>();
    for (const { pid, memory } of processes) bytes.set(pid, memory);
    byTime.set(time, bytes);
  }
  return [...byTime]
    .map(([time, bytes]): Point => [time, [...bytes.values()].reduce((sum, one) => sum + one, 0)])
    .toSorted(([a], [b]) => a - b);
}
