// What those who listen to a view are told: that a list differs from the one they knew, and what servers say by themselves.

import { Emitter, type UpstreamEvents } from "../../upstream/index.ts";
import type { ListName } from "../member/inventory.ts";
import type { Merged } from "./merge.ts";

export class ViewNews {
  readonly #emitter = new Emitter<UpstreamEvents>();
  #lastTools: string | undefined;
  #lastPrompts: string | undefined;
  #lastResources: string | undefined;

  on<E extends keyof UpstreamEvents>(
    event: E,
    listener: (...args: UpstreamEvents[E]) => void,
    now: Merged,
  ): () => void {
    // From now on it matters what was there before.
    this.#lastTools ??= JSON.stringify(now.tools);
    this.#lastPrompts ??= JSON.stringify(now.prompts);
    this.#lastResources ??= resourcesText(now);
    return this.#emitter.on(event, listener);
  }

  /** These lists may have changed; only what really differs is told. */
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
