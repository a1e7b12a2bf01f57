// Prompts and resources of drivers: finds the driver that has one and may serve the caller, forwards the request, and audits it.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import { isObject, type JsonObject, type PromptDefinition } from "../../model/index.ts";
import type { Call, Upstream } from "../../upstream/index.ts";
import { auditOfCalls, forwardedEvent } from "../dispatch/audit.ts";
import type { ContractSet } from "../contract-set.ts";
import { ERROR_CODE_OF, toFailure } from "../dispatch/failure.ts";
import { policyDenial } from "../routing/policy.ts";
import type { RegisteredDriver } from "../driver/registered-driver.ts";
import {
  checkHash,
  findResource,
  findTemplate,
  type FoundResource,
  kindOf,
  type OfferedPrompt,
  offerPrompts,
  offerResources,
  resourceLists,
} from "./find-surface.ts";
import type { CallContext } from "../contract/call-context.ts";

/** A request as it is audited: no URI, and only the names of inputs. */
interface AuditedRequest {
  readonly method: string;
  readonly id: string;
  readonly inputKeys: readonly string[];
}

export class DriverSurfaces {
  readonly #name: string;
  readonly #set: ContractSet;
  /** Warnings that were reported. */
  readonly #reported = new Set<string>();

  constructor(name: string, set: ContractSet) {
    this.#name = name;
    this.#set = set;
  }

  prompts(context: CallContext = {}): readonly PromptDefinition[] {
    const offered = offerPrompts(this.#allowed(context), (name, one, other) => {
      const message = `the drivers ${other.driver.id} and ${one.driver.id} both have the prompt ${name}: ${one.driver.id} serves it only to callers for whom the policy excludes ${other.driver.id}`;
      // Lists are made again with every change, and a warning is reported once.
      if (this.#reported.has(message)) return;
      this.#reported.add(message);
      this.#set.options.report?.({
        code: "NAME_AMBIGUOUS",
        severity: "warning",
        server: one.driver.id,
        message,
      });
    });
    return Array.from(offered.values(), ({ definition }) => definition);
  }

  resources(context: CallContext = {}): ReturnType<typeof resourceLists> {
    return resourceLists(offerResources(this.#allowed(context)));
  }

  getPrompt(name: string, context: CallContext, call: Call): Promise<JsonObject> {
    const offered = this.#prompt(name, context);
    const given = call.params?.arguments;
    const request = {
      method: call.method,
      id: `prompt:${name}`,
      inputKeys: isObject(given) ? Object.keys(given) : [],
    };
    const own = { ...call, params: { ...call.params, name: offered.name } };
    return this.forward(offered.registered, context, request, (upstream) => upstream.request(own), call);
  }

  async read(uri: string, context: CallContext, call: Call): Promise<JsonObject> {
    const found = this.find(uri, context);
    const own = { ...call, params: { ...call.params, uri: found.uri } };
    const { registered } = found.offer;
    const result = await this.forward(
      registered,
      context,
      { method: call.method, id: kindOf(found.offer), inputKeys: ["uri"] },
      async (upstream) => upstream.request(own),
      call,
      () => this.checkUri(found),
    );
    if (found.sha256 !== undefined) checkHash(result, found.sha256, uri);
    return found.uri === uri ? result : renamed(result, found.uri, uri);
  }

  /** Completes an argument of a prompt or a variable of a resource template. */
  complete(context: CallContext, call: Call): Promise<JsonObject> {
    const ref = isObject(call.params?.ref) ? call.params.ref : {};
    const argument = isObject(call.params?.argument) ? call.params.argument : {};
    const inputKeys = typeof argument.name === "string" ? [argument.name] : [];
    const send = (registered: RegisteredDriver, id: string, own: JsonObject): Promise<JsonObject> =>
      this.forward(
        registered,
        context,
        { method: call.method, id, inputKeys },
        async (upstream) =>
          // The contracts declare completions for all drivers; a server without them has no proposals.
          upstream.describe().capabilities.completions === undefined
            ? { resultType: "complete", completion: { values: [], total: 0, hasMore: false } }
            : upstream.request({ ...call, params: { ...call.params, ref: { ...ref, ...own } } }),
        call,
      );
    if (ref.type === "ref/resource" && typeof ref.uri === "string") {
      const uri = ref.uri;
      const found = this.#among(context, (drivers) => findTemplate(uri, offerResources(drivers)));
      return send(found.offer.registered, kindOf(found.offer), { uri: found.uri });
    }
    if (ref.type === "ref/prompt" && typeof ref.name === "string") {
      const { registered, name } = this.#prompt(ref.name, context);
      return send(registered, `prompt:${ref.name}`, { name });
    }
    throw new PortolanError("INPUT_INVALID", `${call.method} needs a prompt or a resource template as "ref"`);
  }

  /** Finds the driver that has the resource. Throws when none has that may serve this caller. */
  find(uri: string, context: CallContext): FoundResource {
    return this.#among(context, (drivers) => findResource(uri, offerResources(drivers)));
  }

  /** Throws for a URI that must not reach the server. */
  async checkUri({ uri, offer: { registered } }: FoundResource): Promise<void> {
    const { driver } = registered;
    const problem = await this.#set.options.checkUri(driver, uri);
    if (problem !== undefined)
      throw new PortolanError("SANDBOX_DENIED", `${driver.id}: ${problem}`, { server: driver.id });
  }

  /** Sends a request to the server of one driver. It is not routed, but audited like a contract call. */
  async forward<T>(
    registered: RegisteredDriver,
    given: CallContext,
    { method, id, inputKeys }: AuditedRequest,
    work: (upstream: Upstream) => Promise<T>,
    limits: Pick<Call, "signal" | "timeoutMs"> = {},
    check?: () => Promise<void>,
  ): Promise<T> {
    const context = this.#set.context(given);
    const { driver, hooks } = registered;
    const started = performance.now();
    let code: string | undefined;
    try {
      await check?.();
      return await this.#acquire(registered, context, limits)
        .then(work)
        .catch((thrown: unknown) => {
          // The next request that needs the login refreshes it, or reports that it has expired.
          this.#set.auth.detectExpiry(driver, hooks, context, toFailure(thrown));
          throw thrown;
        });
    } catch (thrown) {
      const failure = toFailure(thrown).error;
      ({ code } = failure);
      if (thrown instanceof PortolanError) throw thrown;
      const own = ERROR_CODE_OF[code] ?? "SERVER_UNAVAILABLE";
      throw new PortolanError(own, failure.message, { server: driver.id, cause: thrown });
    } finally {
      const outcome = { inputKeys, ms: performance.now() - started, code, retries: 0 };
      const auth = this.#set.auth.stateOf(driver, hooks, context);
      auditOfCalls(this.#set.options.audit)?.(
        forwardedEvent(driver, { method, id }, context, { ...outcome, auth }),
      );
    }
  }

  async #acquire(
    registered: RegisteredDriver,
    context: CallContext,
    { signal, timeoutMs }: Pick<Call, "signal" | "timeoutMs">,
  ): Promise<Upstream> {
    const { driver, hooks, bound } = registered;
    const [tool = ""] = bound.keys();
    this.#set.grants?.requireBind(driver, tool, context);
    if (this.#set.auth.needsLogin(driver, hooks)) {
      const state = await this.#set.auth.ready(driver, hooks, context, signal);
      if (!state.ok) throw state.failure;
    }
    const time = timeoutMs === undefined || timeoutMs === 0 ? undefined : { left: timeoutMs };
    return registered.acquire({ context, tool, signal, time });
  }

  #prompt(name: string, context: CallContext): OfferedPrompt {
    return this.#among(context, (drivers) => {
      const prompts = offerPrompts(drivers, () => {});
      const offered = prompts.get(name);
      if (offered !== undefined) return offered;
      const message = `${this.#name} has no prompt ${JSON.stringify(name.slice(0, 200))}`;
      const hint = didYouMean(name, prompts.keys());
      throw new PortolanError("PROMPT_NOT_FOUND", message, { server: this.#name, hint });
    });
  }

  /** The drivers that the policy allows for this caller. */
  #allowed(context: CallContext): RegisteredDriver[] {
    const policy = this.#set.options.policy ?? {};
    return this.#matching().filter(({ driver }) => policyDenial(driver, policy, context) === undefined);
  }

  #matching(): RegisteredDriver[] {
    return this.#set.registry.all().filter(({ status }) => status !== "refused");
  }

  /** Finds something among the drivers that may serve this caller. When only another driver has it, the error says why that one may not. */
  #among<T>(context: CallContext, find: (drivers: readonly RegisteredDriver[]) => T): T {
    try {
      return find(this.#allowed(context));
    } catch (missing) {
      for (const registered of this.#matching()) {
        const { driver } = registered;
        const why = policyDenial(driver, this.#set.options.policy ?? {}, context);
        if (why === undefined || !succeeds(() => find([registered]))) continue;
        throw new PortolanError(
          "FORBIDDEN",
          `the driver ${driver.id} is not allowed for this request: ${why.reason}`,
          {
            server: driver.id,
            data: { code: why.code },
            hint: "The policy in the section contracts of portolan.yaml also applies to prompts and resources. A client can restrict a request further, to one driver or one region, with portolan/pinnedProvider and portolan/regionConstraint in _meta.",
          },
        );
      }
      throw missing;
    }
  }
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
}

/** The content under the URI that the client requested. */
function renamed(result: JsonObject, from: string, to: string): JsonObject {
  if (!Array.isArray(result.contents)) return result;
  const contents = (result.contents as JsonObject[]).map((one) =>
    one?.uri === from ? { ...one, uri: to } : one,
  );
  return { ...result, contents };
}
