// Which driver is next for one call, and who must log in for it.

import { auditOfCalls, resolvedEvent } from "./audit.ts";
import { howToLogIn } from "./auth.ts";
import type { CheckedCall, DispatchParts, ReadyTool } from "./dispatch-types.ts";
import { fail, type Failure } from "./failure.ts";
import type { Resolution } from "./resolver.ts";

/** No more drivers than this are tried for one call. */
const MOST_DRIVERS = 4;
const MOST_LOGINS = 2;

export class DriverChoice {
  /** What led to the last one. */
  resolution: Resolution | undefined;
  readonly #one: CheckedCall;
  readonly #parts: DispatchParts;
  #tried: readonly string[] | undefined;

  constructor(one: CheckedCall, parts: DispatchParts) {
    this.#one = one;
    this.#parts = parts;
  }

  /** Without waiting for anything, as it mostly is; undefined when a login may be needed. */
  now(): ReadyTool | undefined {
    const resolution = this.#route();
    const { selected } = resolution;
    if (selected === undefined) return undefined;
    const ready = this.#ready(selected);
    if (ready === undefined || this.#parts.auth.concerns(ready.bound.driver, ready.hooks)) return undefined;
    this.resolution = resolution;
    return ready;
  }

  /** Routes, and logs in where that is what is missing and somebody is there to do it. */
  async later(): Promise<ReadyTool> {
    const { auth } = this.#parts;
    const { context, call } = this.#one;
    for (let logins = 0; ; logins += 1) {
      const resolution = this.#route();
      this.resolution = resolution;
      const needsLogin = resolution.error?.code === "auth_required";
      if (needsLogin && logins === 0 && (await this.#lookAgain(resolution))) continue;
      const chosen =
        needsLogin && context.interactive === true ? this.#route(true).selected : resolution.selected;
      const ready = chosen === undefined ? undefined : this.#ready(chosen);
      if (ready === undefined) throw this.#noRoute(resolution);
      const { driver } = ready.bound;
      if (!auth.concerns(driver, ready.hooks)) return ready;
      const state = await auth.ready(driver, ready.hooks, context, call.signal);
      if (state.ok) return ready;
      // Another driver may be logged in; this one is known not to be by now.
      if (logins >= MOST_LOGINS || context.interactive === true || this.#route().selected === driver.id)
        throw state.failure;
    }
  }

  /** Leaves a driver out from now on; false when there is no other. */
  without(driver: string): boolean {
    const tried = [...(this.#tried ?? []), driver];
    if (tried.length >= MOST_DRIVERS) return false;
    this.#tried = tried;
    return this.#route().error === undefined;
  }

  #ready(driver: string): ReadyTool | undefined {
    return this.#parts.ready(driver, this.#one.prepared.contract.id);
  }

  /** Whether one of those that were turned away has somebody logged in by now. */
  async #lookAgain({ error }: Resolution): Promise<boolean> {
    const found = (error?.nearest ?? []).map(async ({ driver: id }) => {
      const ready = this.#ready(id);
      if (ready === undefined || !this.#parts.auth.concerns(ready.bound.driver, ready.hooks)) return false;
      return this.#parts.auth.lookAgain(ready.bound.driver, ready.hooks, this.#one.context);
    });
    return (await Promise.all(found)).some(Boolean);
  }

  #route(loginOnly = false): Resolution {
    const { prepared, given: inputs, context } = this.#one;
    const { contract } = prepared;
    const { pinnedProvider: pin, regionConstraint: region } = context;
    return this.#parts.route({ contract, inputs, pin, region, exclude: this.#tried, loginOnly }, context);
  }

  #noRoute(resolution: Resolution): Failure {
    const { prepared, context } = this.#one;
    const { id: contract } = prepared.contract;
    auditOfCalls(this.#parts.audit)?.(resolvedEvent(contract, resolution, context));
    const { error } = resolution;
    if (error === undefined) return fail("no_route", `No driver serves ${contract}.`);
    const logins =
      error.code === "auth_required"
        ? error.nearest.flatMap(({ driver: id }) => {
            const { driver } = this.#ready(id)?.bound ?? {};
            return driver?.auth?.login === undefined ? [] : [driver];
          })
        : [];
    const [field] = error.fields ?? [];
    const how = logins.map((driver) => howToLogIn(driver, context)).join("");
    return fail(error.code, how === "" ? error.message : `${error.message}.${how}`, {
      retryable: false,
      ...(field === undefined ? {} : { field: (error.fields ?? []).join(", ") }),
      cause: {
        nearest: error.nearest,
        ...(logins.length === 0
          ? {}
          : { login: logins.map(({ id, auth }) => ({ driver: id, login: auth?.login })) }),
        ...(this.#tried === undefined ? {} : { failed: this.#tried }),
      },
    });
  }
}
