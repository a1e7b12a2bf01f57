// Selection of the driver for the next attempt of one call: routes, verifies and logs in where the route needs it.

import { auditOfCalls, resolvedEvent } from "./audit.ts";
import { howToLogIn } from "../auth/auth-machine.ts";
import { isPortolanError } from "../../errors/index.ts";
import { within } from "../../upstream/index.ts";
import type { Acquirer, CheckedCall, DispatchParts, ReadyTool } from "./contract-call.ts";
import { fail, type Failure, toFailure } from "./failure.ts";
import type { Resolution } from "../routing/route.ts";

/** No more drivers than this are tried for one call. */
const MAX_DRIVERS = 4;
const MAX_LOGINS = 2;
/** How long calls wait for the verification of the preferred driver if another driver is verified. */
const MAX_VERIFY_MS = 5_000;
/** Index of the phase that reads the states of drivers. */
const CAPABILITY = 1;

export class DriverSelection {
  /** The resolution that led to the last selection. */
  resolution: Resolution | undefined;
  readonly #checked: CheckedCall;
  readonly #parts: DispatchParts;
  /** Drivers that failed, or whose servers are still starting. */
  #tried: readonly string[] | undefined;
  #starting: readonly string[] = [];
  /** Drivers that were verified for this call. */
  #verified: readonly string[] = [];

  constructor(checked: CheckedCall, parts: DispatchParts) {
    this.#checked = checked;
    this.#parts = parts;
  }

  /** Selects without waiting, as most calls can; undefined when a login or a verification may be needed. */
  now(): ReadyTool | undefined {
    const resolution = this.#route();
    const { selected, verifyFirst } = resolution;
    if (selected === undefined || verifyFirst === true) return undefined;
    const ready = this.#ready(selected);
    if (ready === undefined || this.#parts.auth.needsLogin(ready.bound.driver, ready.hooks)) return undefined;
    this.resolution = resolution;
    this.#reverifyLater(resolution);
    return ready;
  }

  /** Routes, verifies first where the route says so, and logs in where a login is missing and a person is there. */
  async later(): Promise<ReadyTool> {
    const { auth } = this.#parts;
    const { context, call } = this.#checked;
    let logins = 0;
    for (let rounds = 0; ; rounds += 1) {
      const resolution = this.#route();
      this.resolution = resolution;
      const needsLogin = resolution.error?.code === "auth_required";
      if (needsLogin && rounds === 0 && (await this.#foundLogin(resolution))) continue;
      if (needsLogin && rounds <= 1 && (await this.#foundSecrets(resolution))) continue;
      const chosen =
        needsLogin && context.interactive === true ? this.#route(true).selected : resolution.selected;
      const ready = chosen === undefined ? undefined : this.#ready(chosen);
      if (ready === undefined) throw this.#noRoute(resolution);
      const { driver } = ready.bound;
      const state = auth.needsLogin(driver, ready.hooks)
        ? await auth.ready(driver, ready.hooks, context, call.signal)
        : undefined;
      if (state === undefined || state.ok) {
        if (resolution.verifyFirst === true && (await this.#verify(ready))) continue;
        this.#reverifyLater(resolution);
        return ready;
      }
      // Another driver may have a login; routing knows by now that this one has none.
      if (logins >= MAX_LOGINS || context.interactive === true || this.#route().selected === driver.id)
        throw state.failure;
      logins += 1;
    }
  }

  /** Where another driver could serve too, no call is spent on finding out whether this one works. False when it was verified before. */
  async #verify({ bound: { driver, contract }, hooks }: ReadyTool): Promise<boolean> {
    if (this.#verified.includes(driver.id) || hooks.execute?.[contract.id] !== undefined) return false;
    this.#verified = [...this.#verified, driver.id];
    const { context, call } = this.#checked;
    const { signal } = call;
    const { slow } = this.#parts;
    if (slow.has(driver.id) && this.#excludeSlow(driver.id)) return true;
    const verifying = this.#parts.verify(driver.id, { context, tool: contract.id, signal });
    void verifying.then(() => slow.delete(driver.id));
    const limit = { server: driver.id, what: "starting", ms: MAX_VERIFY_MS, signal };
    while (!(await within(verifying, limit).then(() => true, falseIfLate))) {
      slow.add(driver.id);
      if (this.#excludeSlow(driver.id)) break;
    }
    return true;
  }

  /** Excludes a driver that is still starting if another driver is verified. Its start continues for later calls. */
  #excludeSlow(driver: string): boolean {
    if (this.#route().verified === undefined) return false;
    this.#tried = [...(this.#tried ?? []), driver];
    this.#starting = [...this.#starting, driver];
    return true;
  }

  /** Drivers that failed before are verified again while this call goes to another one. */
  #reverifyLater({ phases }: Resolution): void {
    const rejected = phases[CAPABILITY]?.rejected ?? [];
    if (rejected.length === 0) return;
    const ids = rejected.flatMap(({ driver, retryDue }) => (retryDue === true ? [driver] : []));
    if (ids.length > 0) void this.#parts.reverify(ids, this.#who());
  }

  /** True when drivers without their secret were verified again: the secret may have been set since. */
  async #foundSecrets({ error }: Resolution): Promise<boolean> {
    const { grants, auth } = this.#parts;
    const ids = (error?.nearest ?? []).flatMap(({ driver: id, code }) => {
      const { bound, hooks } = this.#ready(id) ?? {};
      if (bound === undefined || code !== "auth_required" || this.#verified.includes(id)) return [];
      if (auth.needsLogin(bound.driver, hooks ?? {})) return [];
      return (grants?.namesOf(bound.driver).length ?? 0) > 0 ? [id] : [];
    });
    if (ids.length === 0) return false;
    this.#verified = [...this.#verified, ...ids];
    const { signal } = this.#checked.call;
    const verifying = this.#parts.reverify(ids, this.#who());
    await within(verifying, { server: ids.join(", "), what: "looking up its secrets", ms: 0, signal });
    return true;
  }

  /** Audits denied secrets like any other attempt. Returns the last denial. */
  #denied({ nearest }: NonNullable<Resolution["error"]>): Failure | undefined {
    const { grants } = this.#parts;
    let denied: Failure | undefined;
    for (const { driver: id, code } of nearest) {
      const { bound } = this.#ready(id) ?? {};
      if (bound === undefined || code !== "unauthorised") continue;
      try {
        grants?.requireBind(bound.driver, bound.contract.id, this.#checked.context);
      } catch (thrown) {
        denied = toFailure(thrown);
      }
    }
    return denied;
  }

  #who(): Acquirer {
    return { context: this.#checked.context, tool: this.#checked.prepared.contract.id };
  }

  /** Excludes a driver from now on; false when there is no other. */
  without(driver: string): boolean {
    const tried = [...(this.#tried ?? []), driver];
    if (tried.length >= MAX_DRIVERS) return false;
    this.#tried = tried;
    return this.#route().error === undefined;
  }

  #ready(driver: string): ReadyTool | undefined {
    return this.#parts.ready(driver, this.#checked.prepared.contract.id);
  }

  /** True when a user has logged in meanwhile to a driver that was rejected for its login. */
  async #foundLogin({ error }: Resolution): Promise<boolean> {
    const found = (error?.nearest ?? []).map(async ({ driver: id }) => {
      const ready = this.#ready(id);
      if (ready === undefined || !this.#parts.auth.needsLogin(ready.bound.driver, ready.hooks)) return false;
      return this.#parts.auth.recheck(ready.bound.driver, ready.hooks, this.#checked.context);
    });
    return (await Promise.all(found)).some(Boolean);
  }

  #route(loginOnly = false): Resolution {
    const { prepared, given: inputs, context } = this.#checked;
    const { contract } = prepared;
    const { pinnedProvider: pin, regionConstraint: region } = context;
    const exclude = this.#tried;
    const starting = this.#starting;
    return this.#parts.route({ contract, inputs, pin, region, exclude, starting, loginOnly }, context);
  }

  #noRoute(resolution: Resolution): Failure {
    const { prepared, context } = this.#checked;
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
      field: field === undefined ? undefined : (error.fields ?? []).join(", "),
      cause: {
        nearest: error.nearest,
        login:
          logins.length === 0
            ? undefined
            : logins.map(({ id, auth }) => ({ driver: id, login: auth?.login })),
        failed: this.#tried?.filter((id) => !this.#starting.includes(id)),
      },
    });
  }
}

/** Returns false at the end of the wait, and throws every other error. */
function falseIfLate(error: unknown): false {
  if (isPortolanError(error) && error.code === "TIMEOUT") return false;
  throw error;
}
