// Pins of one member: the current comparison with the lock file, calls that wait for it, and the events about it.

import { PortolanError } from "../../errors/index.ts";
import type { JsonObject, Limits, ServerConfig } from "../../model/index.ts";
import { type Call, type Upstream, within } from "../../upstream/index.ts";
import type { EventBus } from "../events.ts";
import type { PinBook } from "../pins/pin-book.ts";
import { comparedEvent } from "../pins/pin-report.ts";
import { isWithheld, NO_PINS, type PinState, withheldError } from "../pins/pin-state.ts";
import { offeredDefinitions } from "../pins/pinned-definitions.ts";
import { EMPTY, fetchInventory, type Inventory } from "./inventory.ts";

/** A server may report changes faster than its list can be read; a call waits for no more than this many lists. */
const MAX_ROUNDS = 2;
const LIST_TIMEOUT_MS = 30_000;

export interface MemberPinsOptions {
  readonly book: PinBook;
  readonly events: EventBus;
  readonly config: () => ServerConfig;
  readonly inventory: () => Inventory;
  /** Fetches the list of tools from the running server. */
  readonly list: () => Promise<void>;
  /** The server runs with an inventory that has no hashes. */
  readonly needsList: () => void;
  /** The comparison has another result than before. */
  readonly changed: () => void;
  readonly isSilent: () => boolean;
}

export class MemberPins {
  readonly #options: MemberPinsOptions;
  #state: PinState = NO_PINS;
  /** The event that was emitted last, as text. */
  #reported = "";
  /**
   * True when the server may have other tools than the list that was compared: it has just started, or reported a change.
   * Calls of enforced servers then wait. A field, because every call reads it.
   */
  isUnchecked = false;
  #changes = 0;
  #lists = 0;
  #checking: Promise<void> | undefined;
  #explaining: Promise<void> = Promise.resolve();

  constructor(options: MemberPinsOptions) {
    this.#options = options;
  }

  get state(): PinState {
    return this.#state;
  }

  /** Compares again, after a change of the list, of the lock file or of the config. */
  compare(): void {
    const { book, config, inventory, needsList } = this.#options;
    const before = this.#state;
    this.#state = book.compare(config(), inventory());
    if (this.#state.mode !== "enforce") this.isUnchecked = false;
    if (this.#state.obstacle?.kind === "unlisted" && inventory() !== EMPTY) needsList();
    if (this.#state === before) return;
    this.#options.changed();
    this.#explaining = this.#explain(this.#state);
  }

  /** Resolves when it is known which fields of the tools changed. */
  explained(): Promise<void> {
    return this.#explaining;
  }

  /** The server has started, or reported that its tools changed. */
  outdated(): void {
    this.#changes += 1;
    this.isUnchecked = this.#state.mode === "enforce";
  }

  /** A list of tools is being fetched. The returned function is called when it was compared. */
  listing(): () => void {
    const changes = this.#changes;
    return () => {
      this.#lists += 1;
      if (changes === this.#changes) this.isUnchecked = false;
    };
  }

  isWithheld(tool: string): boolean {
    return isWithheld(this.#state, tool);
  }

  /** Waits until the list of tools was read again. Throws if it cannot be, or if the tool of the call is withheld now. */
  async check(call: Call, ms: number): Promise<void> {
    const server = this.#options.config().alias;
    const before = this.#lists;
    for (let round = 0; round < MAX_ROUNDS && this.isUnchecked; round += 1) {
      this.#checking ??= this.#options.list().finally(() => (this.#checking = undefined));
      const what = "comparing its tools with portolan.lock";
      await within(this.#checking, { server, what, ms, signal: call.signal });
    }
    const tool = String(call.params?.name);
    if (this.isWithheld(tool)) throw withheldError(server, tool, this.#state);
    if (!this.isUnchecked || this.#lists > before) return;
    throw new PortolanError(
      "TOOL_WITHHELD",
      `Portolan withholds the tool ${JSON.stringify(tool.slice(0, 200))}: the tools of ${server} could not be compared with the approved definitions in portolan.lock`,
      {
        server,
        tool,
        hint: `See the reason: portolan why ${server}`,
        data: { reason: "unlisted", neverRan: true },
      },
    );
  }

  /**
   * Compares the tools of a process or session beside the main one. Throws if it has another definition of a tool that
   * callers may use: such a process gets no calls.
   */
  async checkSession(
    session: Upstream,
    limits: Pick<Limits, "requestTimeoutMs" | "maxPages">,
  ): Promise<void> {
    if (this.#state.mode !== "enforce") return;
    const { book, config } = this.#options;
    const { alias, promptTools } = config();
    const fetched = await fetchInventory(
      session,
      new Set(promptTools === true ? ["tools", "prompts"] : ["tools"]),
      EMPTY,
      {
        description: session.describe(),
        timeoutMs: Math.min(LIST_TIMEOUT_MS, limits.requestTimeoutMs),
        maxPages: limits.maxPages,
        onLoop: () => {},
        onMissing: () => {},
      },
    );
    const hashes = await book.hashesOf(fetched);
    const { tools } = book.compare(config(), { ...fetched, hashes });
    const usable = [...this.#state.tools.values()].filter(({ verdict }) => verdict === "same");
    const tool = usable.find(({ name }) => tools.get(name)?.verdict !== "same")?.name;
    if (tool === undefined) return;
    throw new PortolanError(
      "TOOL_WITHHELD",
      `a new session or process of ${alias} gets no calls: its definition of the tool ${JSON.stringify(tool.slice(0, 200))} differs from the approved one`,
      {
        ...{ server: alias, tool, hint: `See which tools are approved: portolan pins ${alias}` },
        data: { reason: "changed", neverRan: true },
      },
    );
  }

  /** The definitions that are offered as tools, without secrets. */
  definitions(): readonly { readonly definition: JsonObject; readonly hash: string | null }[] {
    return offeredDefinitions(this.#options.config(), this.#options.inventory()) ?? [];
  }

  /** Finds out which fields changed, and emits an event if the differences are other ones than before. */
  async #explain(state: PinState): Promise<void> {
    const { book, events, config, inventory, isSilent } = this.#options;
    if (inventory() === EMPTY) return;
    const definitions = this.definitions().map(({ definition }) => definition);
    const names = new Set([
      ...inventory().tools.map(({ name }) => name),
      ...definitions.map(({ name }) => String(name)),
    ]);
    const explained = await book.explain(state, definitions).catch(() => state);
    if (this.#state !== state) return;
    this.#state = explained;
    void book.keep(explained, definitions).catch(() => {});
    const event = comparedEvent(config().alias, explained, [...names]);
    const text = event === undefined ? "" : JSON.stringify(event);
    if (text === this.#reported || isSilent()) return;
    const isFirst = this.#reported === "";
    this.#reported = text;
    if (event !== undefined) events.emit(event);
    else if (!isFirst)
      events.emit({
        type: "mcp.pins_compared",
        server: config().alias,
        mode: explained.mode,
        changed: [],
        added: [],
        removed: [],
        withheld: 0,
      });
  }
}
