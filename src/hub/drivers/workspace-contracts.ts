// Contracts object of a workspace: valid for as long as the workspace is open, whichever generation serves.

import { setImmediate as nextTurn } from "node:timers/promises";
import {
  checkContractCall,
  checkRegistered,
  type Contracts,
  type ContractCall,
  type Dispatched,
  failedCall,
} from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  type Call,
  Emitter,
  type Upstream,
  type UpstreamEvents,
  type UpstreamStats,
} from "../../upstream/index.ts";
import type { JsonObject } from "../../model/index.ts";
import { ALL_LISTS } from "../member/inventory-cache.ts";
import type { Member } from "../member/member.ts";

const EVENTS = ["toolsChanged", "promptsChanged", "resourcesChanged", "resourceUpdated", "log"] as const;

export class WorkspaceContracts implements Contracts {
  readonly name: string;
  readonly #emitter = new Emitter<UpstreamEvents>();
  #member: Member | undefined;
  #detach: () => void = () => {};

  constructor(member: Member) {
    this.name = member.alias;
    this.attach(member);
  }

  /** Switches to another generation, or to none when the workspace has no drivers any more. */
  attach(member: Member | undefined): void {
    this.#detach();
    this.#member = member;
    const main = member?.processes.main;
    const forward = (event: keyof UpstreamEvents): (() => void) | undefined =>
      main?.on(event, (...args) => this.#emitter.emit(event, ...args));
    const offs = EVENTS.map(forward);
    this.#detach = () => offs.forEach((off) => off?.());
    this.#emitter.emit("toolsChanged");
    this.#emitter.emit("promptsChanged");
    this.#emitter.emit("resourcesChanged");
  }

  /** Starts the contracts. */
  async start(): Promise<Contracts> {
    await this.#of().start();
    return this.#now();
  }

  describe(): ReturnType<Upstream["describe"]> {
    return this.#now().describe();
  }

  async request(call: Call): Promise<JsonObject> {
    return this.#of().request(call);
  }

  notify(): void {}

  async subscribe(uri: string): Promise<() => Promise<void>> {
    return this.#of().subscribe(uri);
  }

  async setLogLevel(): Promise<void> {}

  on<E extends keyof UpstreamEvents>(event: E, listener: (...args: UpstreamEvents[E]) => void): () => void {
    return this.#emitter.on(event, listener);
  }

  stats(): UpstreamStats {
    return this.#now().stats();
  }

  async register(...args: Parameters<Contracts["register"]>): ReturnType<Contracts["register"]> {
    checkRegistered(args[0]);
    const diagnostics = await (await this.start()).register(...args);
    // A call by name right after this finds the contract. It is registered also if the lists cannot be read now.
    await this.#member?.inventoryCache.refresh(ALL_LISTS).catch(() => {});
    await nextTurn();
    return diagnostics;
  }

  unregister(id: string): void {
    this.#now().unregister(id);
  }

  /** Rejects only a call with unknown fields, which can mean that another driver was wanted. */
  async call(call: ContractCall): Promise<Dispatched> {
    checkContractCall(call);
    try {
      const serving = this.#member?.processes.handle?.upstream as Contracts | undefined;
      return await (serving ?? (await this.start())).call(call);
    } catch (thrown) {
      return failedCall(thrown);
    }
  }

  explain(...args: Parameters<Contracts["explain"]>): ReturnType<Contracts["explain"]> {
    return this.#now().explain(...args);
  }

  unservedReason(tool: string): string | undefined {
    return this.#now().unservedReason(tool);
  }

  status(...args: Parameters<Contracts["status"]>): ReturnType<Contracts["status"]> {
    return this.#now().status(...args);
  }

  async login(...args: Parameters<Contracts["login"]>): ReturnType<Contracts["login"]> {
    return (await this.start()).login(...args);
  }

  async logout(...args: Parameters<Contracts["logout"]>): ReturnType<Contracts["logout"]> {
    return (await this.start()).logout(...args);
  }

  get isHandingOver(): boolean {
    return this.#now().isHandingOver;
  }

  async settled(): Promise<void> {
    await (await this.start()).settled();
  }

  async readReference(
    ...args: Parameters<Contracts["readReference"]>
  ): ReturnType<Contracts["readReference"]> {
    return (await this.start()).readReference(...args);
  }

  /** The contracts end with the workspace, not with one of their users. */
  async close(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}

  #of(): Member {
    if (this.#member !== undefined) return this.#member;
    const message = "the call was not made: the workspace has no drivers any more";
    throw new PortolanError("CONNECTION_CLOSED", message, {
      server: this.name,
      hint: "Call again when the workspace has a driver.",
      data: { neverRan: true },
    });
  }

  #now(): Contracts {
    const serving = this.#of().processes.handle?.upstream;
    if (serving !== undefined) return serving as Contracts;
    throw (
      this.#of().unavailable ??
      new PortolanError("CONNECTION_CLOSED", "the contracts of this workspace are closed", {
        server: this.name,
      })
    );
  }
}
