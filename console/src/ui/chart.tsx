// Charts as SVG: a sparkline without axes, and a line chart with them.

import type { JSX } from "preact";
import { formatBytes, formatMinute } from "./format.ts";

export function Sparkline({
  values,
  label,
}: {
  readonly values: readonly (number | undefined)[];
  readonly label: string;
}): JSX.Element {
  const width = 96;
  const height = 24;
  const known = values.filter((value) => value !== undefined);
  const top = Math.max(...known, 1e-6);
  const x = (index: number): number => (values.length < 2 ? width : (index / (values.length - 1)) * width);
  const points = values.flatMap((value, index) =>
    value === undefined
      ? []
      : [`${x(index).toFixed(1)},${(height - 2 - (value / top) * (height - 4)).toFixed(1)}`],
  );
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {points.length > 1 ? (
        <polyline points={points.join(" ")} />
      ) : (
        <line class="none" x1="0" y1={height - 2} x2={width} y2={height - 2} />
      )}
    </svg>
  );
}

export interface Line {
  readonly name: string;
  /** A class of the style sheet: `line-1` to `line-4`, or `line-bad`. */
  readonly style: string;
  readonly points: readonly (readonly [time: number, value: number])[];
}

const WIDTH = 360;
const HEIGHT = 150;
const LEFT = 62;
const BOTTOM = 22;
const TOP = 10;

export function LineChart(props: {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly format: (value: number) => string;
  readonly from: number;
  readonly to: number;
}): JSX.Element {
  const { title, lines, format, from, to } = props;
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value));
  const top = niceTop(Math.max(0, ...values), format === formatBytes ? 2 : 10);
  const x = (time: number): number => LEFT + ((time - from) / Math.max(1, to - from)) * (WIDTH - LEFT - 8);
  const y = (value: number): number => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const summary = lines
    .map(
      ({ name, points }) =>
        `${name}: ${points.length === 0 ? "none" : `last ${format(points.at(-1)?.[1] ?? 0)}`}`,
    )
    .join("; ");
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <span class="legend">
          {lines.map(({ name, style, points }) => (
            <span key={name} class="legend-item">
              <span class={`swatch ${style}`} aria-hidden="true" />
              {name} {points.length > 0 && <b>{format(points.at(-1)?.[1] ?? 0)}</b>}
            </span>
          ))}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`${title}. ${summary}`}>
        {[0, 0.5, 1].map((part) => (
          <g key={part} class="grid">
            <line x1={LEFT} x2={WIDTH - 8} y1={y(top * part)} y2={y(top * part)} />
            <text x={LEFT - 8} y={y(top * part) + 4} text-anchor="end">
              {format(top * part)}
            </text>
          </g>
        ))}
        {[from, (from + to) / 2, to].map((time, index) => (
          <text
            key={index}
            class="axis"
            x={x(time)}
            y={HEIGHT - 4}
            text-anchor={index === 0 ? "start" : index === 1 ? "middle" : "end"}
          >
            {formatMinute(time)}
          </text>
        ))}
        {lines.map(({ name, style, points }) =>
          points.length === 1 ? (
            <circle key={name} class={style} cx={x(points[0]?.[0] ?? 0)} cy={y(points[0]?.[1] ?? 0)} r="3" />
          ) : (
            <polyline
              key={name}
              class={style}
              points={points.map(([time, value]) => `${x(time).toFixed(1)},${y(value).toFixed(1)}`).join(" ")}
            />
          ),
        )}
      </svg>
    </figure>
  );
}

/** The next of 1, 2, 5, 10, 20 …, or the next power of two for bytes. */
function niceTop(value: number, base: 2 | 10): number {
  if (value <= 0) return 1;
  if (base === 2) return 2 ** Math.ceil(Math.log2(value));
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => value <= step * power) ?? 10) * power;
}
