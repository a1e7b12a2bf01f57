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

export function toneOf({ state }: Pick<ServerHealth, "state">): Tone {
  return TONES[state] ?? "idle";
}
