// Writer of one entry: values in the client's syntax, settings of the server, and notes about settings that the client lacks.

import type { Limits, SandboxConfig } from "../../../model/index.ts";
import { type ValuePlace, writeValue } from "../references/interpolation.ts";
import { CLIENT_TITLES } from "../known/detect.ts";
import type { ClientId, ExportNote, WritableServer } from "../types.ts";

/** Settings of a server besides its command or URL. */
interface Settings {
  readonly cwd: string | undefined;
  readonly envFile: string | undefined;
  readonly disabled: true | undefined;
  readonly startTimeoutMs: number | undefined;
  readonly requestTimeoutMs: number | undefined;
  readonly allowTools: readonly string[] | undefined;
  readonly blockTools: readonly string[] | undefined;
}

const WORDS: Readonly<Record<keyof Settings, string>> = {
  cwd: "a folder to start in",
  envFile: "a file of variables",
  disabled: "servers that are switched off",
  startTimeoutMs: "a time limit for the start",
  requestTimeoutMs: "a time limit for calls",
  allowTools: "a list of tools to offer",
  blockTools: "a list of tools to leave out",
};

/** Settings that only Portolan has. */
const PORTOLAN_ONLY = [
  "era",
  "start",
  "idleStopMs",
  "descriptionPrefix",
  "resourceTools",
  "promptTools",
  "context",
  "tags",
] as const;

/** Launch settings; VS Code supports a part of the sandbox. */
const LAUNCH = ["sandbox", "install", "versionCheck", "requires"] as const;

export class EntryWriter {
  readonly client: ClientId;
  readonly #server: WritableServer;
  readonly #settings: Settings;
  readonly #taken = new Set<string>();
  readonly #notes = new Set<string>();

  constructor(client: ClientId, server: WritableServer) {
    this.client = client;
    this.#server = server;
    this.#settings = settingsOf(server);
  }

  /** `rest` follows the client's name in the note. */
  note(rest: string): void {
    this.#notes.add(`${CLIENT_TITLES[this.client]} ${rest}`);
  }

  noteUnsupported(transport: string): void {
    this.note(
      `does not support ${transport} servers: this server is left out. To use it there, connect the client to the gateway: portolan connect ${this.client}`,
    );
  }

  notes(): ExportNote[] {
    return [...this.#notes].map((message) => ({ server: this.#server.alias, message }));
  }

  /** A setting that the client has a place for. */
  take<K extends keyof Settings>(setting: K): Settings[K] {
    this.#taken.add(setting);
    return this.#settings[setting];
  }

  /** The sandbox, for a client that has one. */
  takeSandbox(): SandboxConfig | undefined {
    this.#taken.add("sandbox");
    return this.#server.launch?.sandbox;
  }

  /** Settings that were not taken. */
  untaken(): (keyof Settings)[] {
    return (Object.keys(WORDS) as (keyof Settings)[]).filter(
      (setting) => this.#settings[setting] !== undefined && !this.#taken.has(setting),
    );
  }

  noteUntaken(): void {
    const untaken = this.untaken().map((setting) => WORDS[setting]);
    if (untaken.length > 0) this.note(`does not support ${untaken.join(", ")}: ${leftOut(untaken)}`);
    const own = PORTOLAN_ONLY.filter((setting) => this.#server[setting] !== undefined);
    const limits = Object.keys(this.#server.limits ?? {}).filter((limit) => !(limit in this.#settings));
    const launch = LAUNCH.filter(
      (setting) => this.#server.launch?.[setting] !== undefined && !this.#taken.has(setting),
    );
    const all = [...own, ...limits, ...launch];
    if (all.length > 0)
      this.note(
        `does not have the ${all.length === 1 ? "setting" : "settings"} ${all.map(fileKey).join(", ")} of Portolan: ${leftOut(all)}`,
      );
  }

  value(text: string, place: ValuePlace = "value"): string {
    const { text: written, losses } = writeValue(text, place, this.client);
    for (const loss of losses) this.note(loss);
    return written;
  }

  argument(text: string): string {
    return this.value(text, "argument");
  }

  arguments(texts: readonly string[] | undefined): string[] | undefined {
    return texts === undefined || texts.length === 0 ? undefined : texts.map((text) => this.argument(text));
  }

  map(values: Readonly<Record<string, string>> | undefined): Record<string, string> | undefined {
    const entries = Object.entries(values ?? {});
    if (entries.length === 0) return undefined;
    return Object.fromEntries(entries.map(([name, text]) => [name, this.value(text)]));
  }

  /** Tools by name; clients know no patterns. */
  tools(setting: "allowTools" | "blockTools"): readonly string[] | undefined {
    const names = this.take(setting);
    if (names?.some((name) => name.includes("*")) === true)
      this.note("does not support * in names of tools: it reads * literally");
    return names;
  }
}

function leftOut(settings: readonly string[]): string {
  return settings.length === 1 ? "this setting is left out" : "these settings are left out";
}

/** Keys of portolan.yaml that are not the name of the setting in snake_case. */
const OTHER_KEYS: Readonly<Partial<Record<string, string>>> = {
  idleStopMs: "idle_stop",
  maxRequestMs: "timeouts.max",
  resourceTools: "resources_as_tools",
  promptTools: "prompts_as_tools",
};

/** The key of a setting in portolan.yaml. */
function fileKey(setting: string): string {
  const other = OTHER_KEYS[setting];
  return other ?? setting.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Only members that have a value, in the order given. */
export function compact(members: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function settingsOf({
  endpoint,
  envFile,
  enabled,
  limits,
  allowTools,
  blockTools,
}: WritableServer): Settings {
  const { startTimeoutMs, requestTimeoutMs }: Partial<Limits> = limits ?? {};
  return {
    cwd: endpoint.transport === "stdio" ? endpoint.cwd : undefined,
    envFile,
    disabled: enabled ? undefined : true,
    startTimeoutMs,
    requestTimeoutMs,
    allowTools,
    blockTools: blockTools?.length === 0 ? undefined : blockTools,
  };
}
