// How much a caller of the gateway may ask for, as a file writes it.

import type { GatewayCaller, GatewayRate } from "../../model/index.ts";
import { nodeAt, type Problems, quoted, type TextNode, toLabel } from "../text/index.ts";
import type { CheckedCallerLimits } from "./gateway-checked.ts";
import { RATE_PATTERN } from "./gateway-shape.ts";

const RATE = new RegExp(RATE_PATTERN);
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 };

export function toCallerLimits(
  limits: CheckedCallerLimits,
  node: TextNode | undefined,
  problems: Problems,
): NonNullable<GatewayCaller["limits"]> {
  const { concurrency } = limits;
  const rate = toRate(limits.rate, nodeAt(node, "rate"), problems);
  return {
    ...(rate === undefined ? {} : { rate }),
    ...(concurrency === undefined ? {} : { concurrency }),
  };
}

function toRate(
  rate: CheckedCallerLimits["rate"],
  place: TextNode | undefined,
  problems: Problems,
): GatewayRate | undefined {
  if (rate === undefined || place === undefined) return undefined;
  if (typeof rate === "string") {
    const [amount = "", unit = ""] = RATE.test(rate) ? rate.split("/").map((part) => part.trim()) : [];
    const times = Number(amount);
    // `600/m` lets all of them come at the start of the minute.
    if (times > 0) return { perSecond: times / (SECONDS[unit] ?? 1), burst: Math.max(1, Math.ceil(times)) };
    problems.add(
      place,
      `${toLabel(place.path)} must say how many requests in which time, not ${quoted(rate)}`,
      "Write for example 100/s, 600/m or 1000/h.",
    );
    return undefined;
  }
  const { per_second: perSecond, burst } = rate;
  if (perSecond === undefined) return undefined;
  if (perSecond > 0) return { perSecond, burst: burst ?? Math.max(1, Math.ceil(perSecond)) };
  problems.add(nodeAt(place, "per_second") ?? place, `${toLabel(place.path)}.per_second must be more than 0`);
  return undefined;
}
