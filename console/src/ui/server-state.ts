// Tone and word for the state of a server.

import type { ServerHealth } from "../types.ts";
import type { Tone } from "./parts.tsx";

const TONES: Readonly<Record<ServerHealth["state"], Tone>> = {
  ready: "ok",
  idle: "ok",
  starting: "accent",
  reconnecting: "warn",
  failed: "bad",
  blocked: "bad",
  stopped: "idle",
  disabled: "idle",
};

/** `failed, trying again` */
export function stateLabel({ state, retrying }: Pick<ServerHealth, "state" | "retrying">): string {
  return retrying === true ? `${state}, trying again` : state;
}

export function toneOf({ state }: Pick<ServerHealth, "state">): Tone {
  return TONES[state] ?? "idle";
}
