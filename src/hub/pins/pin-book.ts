// Pin book of a hub: the lock file as it was read last, and the comparison of servers and drivers with it.

import type { LockText } from "../../catalog/index.ts";
import { isPortolanError, type Report } from "../../errors/index.ts";
import type { JsonObject, PinMode, ServerConfig } from "../../model/index.ts";
import type { DefinitionStore, LockedPackage } from "../../packages/index.ts";
import type { Inventory } from "../member/inventory.ts";
import { comparePins, type LockState, NO_PINS, type PinState } from "./pin-state.ts";
import {
  type InventoryHashes,
  offeredDefinitions,
  pinnedDefinitions,
  toHashedTools,
} from "./pinned-definitions.ts";

/** The room loads with the first lock file or pin mode, because most programs need neither. */
const loadPackages = (): Promise<typeof import("../../packages/index.ts")> =>
  import("../../packages/index.ts");

const UNTIL_THEN =
  "Until then, Portolan withholds the tools of all servers, except of servers with pins: warn or pins: off.";

export interface PinBookOptions {
  readonly report: Report;
  /** Computes the hashes of all servers, also of those without pins. */
  readonly hashesAll?: boolean;
  readonly storesNothing?: boolean;
}

export class PinBook {
  readonly #options: PinBookOptions;
  readonly #listeners = new Set<() => void>();
  #lock: LockState = { kind: "absent" };
  #text: LockText | undefined;
  #definitions: Promise<DefinitionStore> | undefined;
  #reading: Promise<unknown> = Promise.resolve();

  constructor(options: PinBookOptions) {
    this.#options = options;
  }

  /**
   * Reads the lock file. One that cannot be read is reported, and never taken for an empty one. Resolves with the servers
   * whose package is another one than before.
   */
  read(text: LockText | undefined): Promise<readonly string[]> {
    const read = this.#reading.then(() => this.#read(text));
    this.#reading = read;
    return read;
  }

  async #read(text: LockText | undefined): Promise<readonly string[]> {
    if (text?.text === this.#text?.text && text?.problem === this.#text?.problem) return [];
    this.#text = text;
    const before = this.#lock;
    this.#lock = text === undefined ? { kind: "absent" } : await this.#parse(text);
    this.#reportLost(before, text);
    for (const listener of this.#listeners) listener();
    return otherPackages(before, this.#lock);
  }

  /** Called after each change of the lock file. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** True when the hashes of this server's tools are needed. */
  needsHashes(server: string, mode: PinMode | undefined): boolean {
    if (this.#options.hashesAll === true) return true;
    if (mode === "off" || this.#lock.kind === "absent") return false;
    return this.#lock.kind === "broken" || this.#lock.pins.has(server);
  }

  /** Hashes of the definitions as the server sent them, because a removed secret would change them. */
  async hashesOf(inventory: Pick<Inventory, "tools" | "prompts">): Promise<InventoryHashes> {
    const { pinOf } = await loadPackages();
    const { tools, prompts, resources } = pinnedDefinitions(inventory);
    const hash = (definition: JsonObject): string | null => pinOf(definition) ?? null;
    return { tools: tools.map(hash), prompts: prompts.map(hash), resources: resources.map(hash) };
  }

  compare(config: ServerConfig, inventory: Inventory): PinState {
    // The definitions of contracts are files of the workspace; the servers of their drivers are compared.
    if (config.endpoint.transport === "contracts") return NO_PINS;
    return comparePins(
      config.alias,
      config.pins,
      this.#lock,
      toHashedTools(offeredDefinitions(config, inventory)),
    );
  }

  /** Compares the tools of a driver's server with the pins of this key. */
  async compareDriver(
    key: string,
    mode: PinMode | undefined,
    tools: readonly JsonObject[],
  ): Promise<PinState> {
    if (!this.needsHashes(key, mode)) return comparePins(key, mode, this.#lock, undefined);
    const { pinOf } = await loadPackages();
    const hashes = tools.map((tool) => [String(tool.name), pinOf(tool) ?? null] as const);
    return comparePins(key, mode, this.#lock, hashes);
  }

  /** Adds the fields that changed, where the approved definition is stored on this machine. */
  async explain(state: PinState, definitions: readonly JsonObject[]): Promise<PinState> {
    const changed = [...state.tools.values()].filter(({ verdict }) => verdict === "changed");
    if (changed.length === 0) return state;
    const store = await this.#definitionStore();
    const { changedFields } = await loadPackages();
    const byName = toMap(definitions);
    const tools = new Map(state.tools);
    for (const tool of changed) {
      const now = byName.get(tool.name);
      const before = tool.approved === undefined ? undefined : await store.load(tool.approved);
      if (before !== undefined && now !== undefined)
        tools.set(tool.name, { ...tool, fields: changedFields(before, now) });
    }
    return { ...state, tools };
  }

  /** Stores the definitions that match their pin, so that a later change can be shown as a difference. */
  async keep({ tools }: PinState, definitions: readonly JsonObject[]): Promise<void> {
    if (this.#options.storesNothing === true || tools.size === 0) return;
    const store = await this.#definitionStore();
    const byName = toMap(definitions);
    for (const { name, verdict, approved } of tools.values()) {
      const definition = byName.get(name);
      if (verdict === "same" && approved !== undefined && definition !== undefined)
        await store.save(approved, definition);
    }
  }

  #definitionStore(): Promise<DefinitionStore> {
    this.#definitions ??= loadPackages().then(async ({ createDefinitionStore, defaultDefinitionFolder }) =>
      createDefinitionStore(await defaultDefinitionFolder()),
    );
    return this.#definitions;
  }

  async #parse({ file, text, problem }: LockText): Promise<LockState> {
    const { report } = this.#options;
    const repair = "Restore portolan.lock from version control, or resolve the conflicts of a merge in it.";
    const hint = `${repair} ${UNTIL_THEN}`;
    const broken = (place: string, reason: string, how = repair): LockState => ({
      kind: "broken",
      reason: `${place}: ${reason}`,
      hint: how,
    });
    if (text === undefined) {
      const message = `the lock file cannot be read: ${problem ?? "unknown"}`;
      const readable = "Make portolan.lock a file that Portolan can read.";
      report({ code: "FILE_FAILED", severity: "error", message, file, hint: `${readable} ${UNTIL_THEN}` });
      return broken(file, problem ?? "it cannot be read", readable);
    }
    try {
      const { parseLock } = await loadPackages();
      const { lock, diagnostics } = parseLock(text, file);
      if (lock !== undefined) {
        const pins = Object.entries(lock.servers).flatMap(([alias, { tools }]) =>
          tools === undefined ? [] : [[alias, tools] as const],
        );
        const packages = Object.entries(lock.servers).flatMap(([alias, { package: locked }]) =>
          locked === undefined ? [] : [[alias, packageText(locked)] as const],
        );
        return { kind: "read", pins: new Map(pins), packages: new Map(packages) };
      }
      const errors = diagnostics.filter(({ severity }) => severity === "error");
      for (const diagnostic of errors) report({ ...diagnostic, file, hint });
      const [first] = errors;
      const place = first?.line === undefined ? file : `${file}:${first.line}:${first.column ?? 1}`;
      return broken(place, first?.message ?? "it is not a lock file");
    } catch (thrown) {
      const message = isPortolanError(thrown) ? thrown.message : String(thrown);
      report({ code: "FILE_INVALID", severity: "error", message, file, hint });
      return broken(file, message);
    }
  }

  /** Without pins a server is not compared any more, which should not happen unnoticed. */
  #reportLost(before: LockState, text: LockText | undefined): void {
    if (before.kind !== "read" || this.#lock.kind === "broken") return;
    const now = this.#lock.kind === "read" ? this.#lock.pins : new Map<string, unknown>();
    const lost = [...before.pins.keys()].filter((server) => !now.has(server));
    if (lost.length === 0) return;
    this.#options.report({
      code: "TOOL_WITHHELD",
      severity: "warning",
      file: text?.file,
      message: `portolan.lock has no pins (hashes of approved tools) of these servers any more: ${lost.slice(0, 10).join(", ")}. If the config of such a server says pins: enforce, Portolan withholds all its tools; otherwise Portolan offers them unchecked`,
      hint: `To pin the tools of a server again: portolan pin ${lost[0] ?? ""}`,
    });
  }
}

/** The key of a driver in the lock file, which no alias can have. */
export function driverKey(id: string): string {
  return `driver:${id}`;
}

/** Dates and permissions are left out: they do not say what is started. */
function packageText({ name, version, source, integrity, metadata }: LockedPackage): string {
  return JSON.stringify([name, version, source, integrity, metadata]);
}

function otherPackages(before: LockState, now: LockState): readonly string[] {
  if (before.kind !== "read" || now.kind !== "read") return [];
  return [...(now.packages ?? [])].flatMap(([alias, text]) => {
    const known = before.packages?.get(alias);
    return known === undefined || known === text ? [] : [alias];
  });
}

function toMap(definitions: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  return new Map(definitions.map((definition) => [String(definition.name), definition]));
}
