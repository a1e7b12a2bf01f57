// Prompts and resources of drivers, straight from the one that has them: found among those who may serve the caller, and written down like a call.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import { isObject, type JsonObject, type PromptDefinition } from "../../model/index.ts";
import type { Call, Upstream } from "../../upstream/index.ts";
import { auditOfCalls, forwardedEvent } from "../dispatch/audit.ts";
import type { ContractSet } from "../contract-set.ts";
import { toFailure } from "../dispatch/failure.ts";
import { turnedAway } from "../routing/policy.ts";
import type { Registered } from "../driver/registered-driver.ts";
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
import type { CallContext } from "../driver/bound-tool.ts";

/** What is asked of a driver's server, as it is written down: no address, and names of inputs only. */
interface Asked {
  readonly method: string;
  readonly id: string;
  readonly inputKeys: readonly string[];
}

export class DriverSurfaces {
  readonly #name: string;
  readonly #set: ContractSet;
  readonly #told = new Set<string>();

  constructor(name: string, set: ContractSet) {
    this.#name = name;
    this.#set = set;
  }

  prompts(context: CallContext = {}): readonly PromptDefinition[] {
    const offered = offerPrompts(this.#allowed(context), (name, one, other) => {
      const message = `the prompt ${name} of ${one.driver.id} is only for whom ${other.driver.id} may not serve, which has one of that name`;
      // Lists are made again with every change; what was odd before is not news.
      if (this.#told.has(message)) return;
      this.#told.add(message);
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
    const asked = {
      method: call.method,
      id: `prompt:${name}`,
      inputKeys: isObject(given) ? Object.keys(given) : [],
    };
    const own = { ...call, params: { ...call.params, name: offered.name } };
    return this.ask(offered.registered, context, asked, (upstream) => upstream.request(own), call);
  }

  async read(uri: string, context: CallContext, call: Call): Promise<JsonObject> {
    const found = this.find(uri, context);
    const own = { ...call, params: { ...call.params, uri: found.uri } };
    const { registered } = found.offer;
    const result = await this.ask(
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

  /** Of a prompt's argument, or of a gap in a template. */
  complete(context: CallContext, call: Call): Promise<JsonObject> {
    const ref = isObject(call.params?.ref) ? call.params.ref : {};
    const argument = isObject(call.params?.argument) ? call.params.argument : {};
    const inputKeys = typeof argument.name === "string" ? [argument.name] : [];
    const send = (registered: Registered, id: string, own: JsonObject): Promise<JsonObject> =>
      this.ask(
        registered,
        context,
        { method: call.method, id, inputKeys },
        async (upstream) =>
          // All drivers together say that they can; one that cannot has nothing to propose.
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

  /** Whose resource it is. Throws for what no driver has that may serve this caller. */
  find(uri: string, context: CallContext): FoundResource {
    return this.#among(context, (drivers) => findResource(uri, offerResources(drivers)));
  }

  /** Throws for an address that must not reach the server. */
  async checkUri({ uri, offer: { registered } }: FoundResource): Promise<void> {
    const { driver } = registered;
    const problem = await this.#set.options.checkUri(driver, uri);
    if (problem !== undefined)
      throw new PortolanError("SANDBOX_DENIED", `${driver.id}: ${problem}`, { server: driver.id });
  }

  /** Something of one driver's server: what is not a contract is not routed. It is written down like a call of one. */
  async ask<T>(
    registered: Registered,
    said: CallContext,
    { method, id, inputKeys }: Asked,
    work: (upstream: Upstream) => Promise<T>,
    limits: Pick<Call, "signal" | "timeoutMs"> = {},
    check?: () => Promise<void>,
  ): Promise<T> {
    const context = this.#set.context(said);
    const { driver, hooks } = registered;
    const started = performance.now();
    let code: string | undefined;
    try {
      await check?.();
      return await this.#acquire(registered, context, limits)
        .then(work)
        .catch((thrown: unknown) => {
          // The next one to need the login hears that it has expired, or gets a fresh one.
          this.#set.auth.noticed(driver, hooks, context, toFailure(thrown));
          throw thrown;
        });
    } catch (thrown) {
      const failure = toFailure(thrown).error;
      ({ code } = failure);
      if (thrown instanceof PortolanError) throw thrown;
      const known = { auth_required: "AUTH_REQUIRED", unauthorised: "FORBIDDEN" } as const;
      const own = code in known ? known[code as keyof typeof known] : "SERVER_UNAVAILABLE";
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
    registered: Registered,
    context: CallContext,
    { signal, timeoutMs }: Pick<Call, "signal" | "timeoutMs">,
  ): Promise<Upstream> {
    const { driver, hooks, bound } = registered;
    const [tool = ""] = bound.keys();
    this.#set.grants?.requireBind(driver, tool, context);
    if (this.#set.auth.concerns(driver, hooks)) {
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

  /** Those that the rules let serve this caller. */
  #allowed(context: CallContext): Registered[] {
    const policy = this.#set.options.policy ?? {};
    return this.#fitting().filter(({ driver }) => turnedAway(driver, policy, context) === undefined);
  }

  #fitting(): Registered[] {
    return [...this.#set.registry.all()].filter(({ server }) => server !== "refused");
  }

  /** What one of those has who may serve this caller. Where only another one has it, the reason says why not that one. */
  #among<T>(context: CallContext, find: (drivers: readonly Registered[]) => T): T {
    try {
      return find(this.#allowed(context));
    } catch (missing) {
      for (const registered of this.#fitting()) {
        const { driver } = registered;
        const why = turnedAway(driver, this.#set.options.policy ?? {}, context);
        if (why === undefined || !succeeds(() => find([registered]))) continue;
        throw new PortolanError("FORBIDDEN", `${driver.id} may not serve this: ${why.reason}`, {
          server: driver.id,
          data: { code: why.code },
          hint: "The rules for tools hold for prompts and resources, too: contracts: in portolan.yaml, and what the request asks for.",
        });
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

/** What was read comes back under the name by which it was asked for. */
function renamed(result: JsonObject, from: string, to: string): JsonObject {
  if (!Array.isArray(result.contents)) return result;
  const contents = (result.contents as JsonObject[]).map((one) =>
    one?.uri === from ? { ...one, uri: to } : one,
  );
  return { ...result, contents };
}
