// Pins of the servers of drivers: which of their tools contracts may not call, and the events about it.

import type { ToolApproval } from "../../contracts/index.ts";
import type { Driver, JsonObject, PinMode } from "../../model/index.ts";
import type { EventBus } from "../events.ts";
import { driverKey, type PinBook } from "./pin-book.ts";
import { comparedEvent } from "./pin-report.ts";
import { explainWithheld, isWithheld, type PinState } from "./pin-state.ts";

interface DriverTools {
  readonly state: PinState;
  readonly tools: readonly JsonObject[];
}

export class DriverPins {
  readonly #book: PinBook;
  readonly #events: EventBus;
  /** The last comparison of each driver, by id. */
  readonly #drivers = new Map<string, DriverTools>();
  /** The last event of each driver, as text. */
  readonly #reported = new Map<string, string>();

  constructor(book: PinBook, events: EventBus) {
    this.#book = book;
    this.#events = events;
  }

  /** The last comparison of each driver whose server has run. */
  get drivers(): ReadonlyMap<string, DriverTools> {
    return this.#drivers;
  }

  /** The mode is the one of the workspace, because a DRIVER.md must not choose it. */
  approval(mode: () => PinMode | undefined): ToolApproval {
    return {
      withheld: (driver, tools) => this.#withheld(driver, tools, mode()),
      onChange: (listener) => this.#book.onChange(listener),
    };
  }

  async #withheld(
    { id, packaged }: Driver,
    tools: readonly JsonObject[],
    mode: PinMode | undefined,
  ): Promise<ReadonlyMap<string, string>> {
    const compared = await this.#book.compareDriver(
      packaged === undefined ? driverKey(id) : packaged.server,
      packaged === undefined ? mode : packaged.pins,
      tools,
    );
    const state = await this.#book.explain(compared, tools).catch(() => compared);
    void this.#book.keep(state, tools).catch(() => {});
    // The pins of a packaged driver are those of its server, which lists them.
    if (packaged === undefined) this.#drivers.set(id, { state, tools });
    const names = tools.map(({ name }) => String(name));
    this.#report(id, state, names);
    return new Map(
      names.flatMap((name) => {
        if (!isWithheld(state, name)) return [];
        const { message, hint } = explainWithheld(packaged?.server ?? id, name, state);
        return [[name, `${message}. ${hint}`] as const];
      }),
    );
  }

  #report(id: string, state: PinState, names: readonly string[]): void {
    const event = comparedEvent(id, state, names);
    const text = event === undefined ? "" : JSON.stringify(event);
    const before = this.#reported.get(id) ?? "";
    if (text === before) return;
    this.#reported.set(id, text);
    const nothing = { changed: [], added: [], removed: [], withheld: 0 };
    this.#events.emit(event ?? { type: "mcp.pins_compared", server: id, mode: state.mode, ...nothing });
  }
}
