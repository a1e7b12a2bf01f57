// Settings of a running gateway: the ones in use, and which parts of a changed config apply without a restart.

import { isDeepStrictEqual } from "node:util";
import { GATEWAY_DEFAULTS, type GatewaySettings } from "../model/index.ts";

/** These settings belong to the listening socket, so they apply after a restart. */
const AT_START = ["host", "port", "tls", "transports", "telemetry", "audit", "console", "logFormat"] as const;

type Limits = Required<Omit<NonNullable<GatewaySettings["limits"]>, "rate" | "concurrency">>;

/** Reads the settings in use with every access, because they change while the gateway runs. */
export interface LiveSettings extends Readonly<Limits> {
  readonly all: GatewaySettings;
  readonly pageSize: number;
  readonly maxResultBytes: number;
}

export function createLiveSettings(first: GatewaySettings): {
  readonly live: LiveSettings;
  readonly replace: (next: GatewaySettings) => void;
} {
  let all = first;
  const limit = (name: keyof Limits): number => all.limits?.[name] ?? GATEWAY_DEFAULTS[name];
  const live: LiveSettings = {
    get all() {
      return all;
    },
    get pageSize() {
      return all.pageSize ?? GATEWAY_DEFAULTS.pageSize;
    },
    get maxResultBytes() {
      return all.maxResultBytes ?? GATEWAY_DEFAULTS.maxResultBytes;
    },
    get bodyBytes() {
      return limit("bodyBytes");
    },
    get sessions() {
      return limit("sessions");
    },
    get sessionIdleMs() {
      return limit("sessionIdleMs");
    },
    get suspended() {
      return limit("suspended");
    },
    get suspendedForMs() {
      return limit("suspendedForMs");
    },
  };
  return { live, replace: (next) => void (all = next) };
}

/** The new settings with the parts of the old ones that only a restart changes, and the names of the changed parts. */
export function withoutRestart(
  old: GatewaySettings,
  next: GatewaySettings,
): { readonly settings: GatewaySettings; readonly changed: string[]; readonly restart: string[] } {
  const isAtStart = (name: string): boolean => (AT_START as readonly string[]).includes(name);
  const names = [...new Set([...Object.keys(old), ...Object.keys(next)])] as (keyof GatewaySettings)[];
  const changed = names.filter((name) => !isDeepStrictEqual(old[name], next[name])).toSorted();
  const kept = Object.fromEntries(AT_START.map((name) => [name, old[name]]));
  return {
    settings: { ...next, ...kept },
    changed: changed.filter((name) => !isAtStart(name)).map(toFileName),
    restart: changed.filter(isAtStart),
  };
}

/** `maxResultBytes` is `max_result_bytes` in a config file. */
function toFileName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Telemetry and audit log have sections of their own in portolan.yaml. */
export function toSection(name: string): string {
  return name === "telemetry" || name === "audit" ? name : `gateway.${toFileName(name)}`;
}
