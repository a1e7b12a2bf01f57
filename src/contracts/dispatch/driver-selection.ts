// Which driver is next for one call, and who must log in for it.

import { auditOfCalls, resolvedEvent } from "./audit.ts";
import { howToLogIn } from "../auth/auth-machine.ts";
import { within } from "../../upstream/index.ts";
import type { Acquirer, CheckedCall, DispatchParts, ReadyTool } from "./contract-call.ts";
import { fail, type Failure, toFailure } from "./failure.ts";
import type { Resolution } from "../routing/route.ts";

/** No more drivers than this are tried for one call. */
const MOST_DRIVERS = 4;
const MOST_LOGINS = 2;
/** Which of the phases it is. */
const CAPABILITY = 1;

export class DriverChoice {
  /** What led to the last one. */
  resolution: Resolution | undefined;
  readonly #one: CheckedCall;
  readonly #parts: DispatchParts;
  #tried: readonly string[] | undefined;
  readonly #looked = new Set<string>();

  constructor(one: CheckedCall, parts: DispatchParts) {
    this.#one = one;
    this.#parts = parts;
  }

  /** Without waiting for anything, as it mostly is; undefined when a login may be needed, or a look at the driver. */
  now(): ReadyTool | undefined {
    const resolution = this.#route();
    const { selected, unsure } = resolution;
    if (selected === undefined || unsure === true) return undefined;
    const ready = this.#ready(selected);
    if (ready === undefined || this.#parts.auth.concerns(ready.bound.driver, ready.hooks)) return undefined;
    this.resolution = resolution;
    this.#lookLater(resolution);
    return ready;
  }

  /** Routes, and logs in where that is what is missing and somebody is there to do it. */
  async later(): Promise<ReadyTool> {
    const { auth } = this.#parts;
    const { context, call } = this.#one;
    let logins = 0;
    for (let rounds = 0; ; rounds += 1) {
      const resolution = this.#route();
      this.resolution = resolution;
      const needsLogin = resolution.error?.code === "auth_required";
      if (needsLogin && rounds === 0 && (await this.#lookAgain(resolution))) continue;
      if (needsLogin && rounds <= 1 && (await this.#hasSecrets(resolution))) continue;
      const chosen =
        needsLogin && context.interactive === true ? this.#route(true).selected : resolution.selected;
      const ready = chosen === undefined ? undefined : this.#ready(chosen);
      if (ready === undefined) throw this.#noRoute(resolution);
      const { driver } = ready.bound;
      const state = auth.concerns(driver, ready.hooks)
        ? await auth.ready(driver, ready.hooks, context, call.signal)
        : undefined;
      if (state === undefined || state.ok) {
        if (resolution.unsure === true && (await this.#look(ready))) continue;
        this.#lookLater(resolution);
        return ready;
      }
      // Another driver may be logged in; this one is known not to be by now.
      if (logins >= MOST_LOGINS || context.interactive === true || this.#route().selected === driver.id)
        throw state.failure;
      logins += 1;
    }
  }

  /** Where others could serve as well, no call is spent on finding out whether a driver works. False when it was looked at before. */
  async #look({ bound: { driver, contract }, hooks }: ReadyTool): Promise<boolean> {
    if (this.#looked.has(driver.id) || hooks.execute?.[contract.id] !== undefined) return false;
    this.#looked.add(driver.id);
    const { context, call } = this.#one;
    const { signal } = call;
    const look = this.#parts.look(driver.id, { context, tool: contract.id, signal });
    await within(look, { server: driver.id, what: "starting", ms: 0, signal });
    return true;
  }

  /** Those that failed before are looked at while this call goes to another one. */
  #lookLater({ phases }: Resolution): void {
    const turnedAway = phases[CAPABILITY]?.rejected ?? [];
    if (turnedAway.length === 0) return;
    const ids = turnedAway.flatMap(({ driver, again }) => (again === true ? [driver] : []));
    if (ids.length > 0) void this.#parts.lookAgain(ids, this.#who());
  }

  /** Whether somebody has set a secret since it was missing. */
  async #hasSecrets({ error }: Resolution): Promise<boolean> {
    const { grants, auth } = this.#parts;
    const ids = (error?.nearest ?? []).flatMap(({ driver: id, code }) => {
      const { bound, hooks } = this.#ready(id) ?? {};
      if (bound === undefined || code !== "auth_required" || this.#looked.has(id)) return [];
      if (auth.concerns(bound.driver, hooks ?? {})) return [];
      return (grants?.namesOf(bound.driver).length ?? 0) > 0 ? [id] : [];
    });
    if (ids.length === 0) return false;
    for (const id of ids) this.#looked.add(id);
    const { signal } = this.#one.call;
    const look = this.#parts.lookAgain(ids, this.#who());
    await within(look, { server: ids.join(", "), what: "looking for its secrets", ms: 0, signal });
    return true;
  }

  /** That secrets were asked for in vain is written down like any other attempt. Gives what the last one says. */
  #denied({ nearest }: NonNullable<Resolution["error"]>): Failure | undefined {
    const { grants } = this.#parts;
    let denied: Failure | undefined;
    for (const { driver: id, code } of nearest) {
      const { bound } = this.#ready(id) ?? {};
      if (bound === undefined || code !== "unauthorised") continue;
      try {
        grants?.requireBind(bound.driver, bound.contract.id, this.#one.context);
      } catch (thrown) {
        denied = toFailure(thrown);
      }
    }
    return denied;
  }

  #who(): Acquirer {
    return { context: this.#one.context, tool: this.#one.prepared.contract.id };
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
    const denied = this.#denied(error);
    if (denied !== undefined && error.code === "unauthorised" && error.nearest.length === 1) return denied;
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
