// Events of a view: list changes that its listeners have not seen, and events relayed from its servers.

import { Emitter, type UpstreamEvents } from "../../upstream/index.ts";
import type { ListName } from "../member/inventory.ts";
import type { Merged } from "./merge.ts";

export class ViewEvents {
  readonly #emitter = new Emitter<UpstreamEvents>();
  #lastTools: string | undefined;
  #lastPrompts: string | undefined;
  #lastResources: string | undefined;

  on<E extends keyof UpstreamEvents>(
    event: E,
    listener: (...args: UpstreamEvents[E]) => void,
    now: Merged,
  ): () => void {
    // From now on, changes are relative to the current lists.
    this.#lastTools ??= JSON.stringify(now.tools);
    this.#lastPrompts ??= JSON.stringify(now.prompts);
    this.#lastResources ??= resourcesText(now);
    return this.#emitter.on(event, listener);
  }

  /** Emits an event for each of these lists that really changed. */
  announce(lists: ReadonlySet<ListName>, now: Merged): void {
    if (lists.has("tools") && this.#lastTools !== (this.#lastTools = JSON.stringify(now.tools)))
      this.#emitter.emit("toolsChanged");
    if (lists.has("prompts") && this.#lastPrompts !== (this.#lastPrompts = JSON.stringify(now.prompts)))
      this.#emitter.emit("promptsChanged");
    if (lists.has("resources") && this.#lastResources !== (this.#lastResources = resourcesText(now)))
      this.#emitter.emit("resourcesChanged");
  }

  relay<E extends "resourceUpdated" | "log">(event: E, ...args: UpstreamEvents[E]): void {
    this.#emitter.emit(event, ...args);
  }

  close(): void {
    this.#emitter.clear();
  }
}

function resourcesText({ resources, templates }: Merged): string {
  return JSON.stringify([resources, templates]);
}
