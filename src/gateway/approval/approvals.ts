// Approvals of a gateway: calls wait here for a person, who decides in the console, in the terminal or in the calling client. No call
// runs before its grant is used up and the decision is in the audit log.

import { randomInt } from "node:crypto";
import type { ApprovalRequest } from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  type ApprovalEvent,
  type CallCheck,
  contractApprovalMessage,
  type OpenedWorkspace,
  shownArguments,
  type ViewTool,
  withRest,
} from "../../hub/index.ts";
import type { ApprovalRule, ApprovalWay } from "../../model/index.ts";
import { argumentDigest } from "../../telemetry/index.ts";
import type { Call } from "../../upstream/index.ts";
import { UNNAMED } from "../common/envelope.ts";
import { decideByProgram } from "./program.ts";
import { contractRequirement, createApprovalPolicy, defaultWays, type Requirement } from "./policy.ts";
import type { ApprovalStore } from "./store.ts";
import { describeRefusal, type Outcome, toRefusal } from "./outcome.ts";
import {
  type ApproveCall,
  type ApprovalSubject,
  type Grant,
  isSame,
  type Verdict,
  type WaitingCall,
} from "./types.ts";
import { waitForDecision } from "./wait.ts";

/** A call that needs approval. */
interface WantedCall {
  readonly caller: string;
  readonly server: string;
  readonly tool: string;
  readonly input: unknown;
  readonly requirement: Requirement;
  readonly call: Pick<
    Call,
    "signal" | "onProgress" | "onWaiting" | "caller" | "observation" | "onServerRequest"
  >;
  /** The text of an elicitation. */
  readonly message: (shown: string) => string;
  /** True for a call that runs if the client cannot be asked. */
  readonly mayRunUnattended: boolean;
}

/** A waiting call as the console and the terminal show it. */
export type ShownApproval = WaitingCall & {
  /** True while the client waits for the result. Without it, the grant is for the next call of the same kind. */
  readonly isConnected: boolean;
};

type Workspace = Pick<OpenedWorkspace, "hub" | "config" | "events" | "calls" | "redactor" | "report">;

interface ApprovalsOptions {
  readonly openStore: () => Promise<ApprovalStore>;
  /** The program that embeds the gateway, if it decides about calls. */
  readonly program: ApproveCall | undefined;
  readonly now?: () => number;
}

/** Letters and digits that nobody confuses. */
const LETTERS = "23456789abcdefghjkmnpqrstuvwxyz";
const ID_LENGTH = 8;
const MAX_SHOWN_CHARS = 8_000;
const MAX_ELICITED_CHARS = 1_000;
const MAX_REASON_CHARS = 500;
const MAX_CLIENT_CHARS = 80;
const MAX_ENDS = 1_000;
const ENDS = {
  granted: "it was approved already",
  denied: "it was denied already",
  expired: "its time for approval has expired",
  withdrawn: "its client has disconnected or cancelled it",
} as const;

export class Approvals {
  readonly #workspace: Workspace;
  readonly #openStore: () => Promise<ApprovalStore>;
  readonly #now: () => number;
  readonly #ways = new Set<ApprovalWay>();
  /** Calls whose client waits, by id. */
  readonly #waiters = new Map<string, (outcome: Outcome) => void>();
  readonly #program: ApproveCall | undefined;
  readonly #defaultWays: readonly ApprovalWay[];
  #policy = createApprovalPolicy();
  #removeCheck: (() => void) | undefined;
  #store: Promise<ApprovalStore> | undefined;
  #openedStore: ApprovalStore | undefined;
  /** How waiting ended, since the gateway started. */
  readonly #decided = { granted: 0, denied: 0, expired: 0, withdrawn: 0 };
  /** How the waiting of the last calls ended, by id. */
  readonly #ends = new Map<string, keyof typeof ENDS>();
  #isClosed = false;

  constructor(workspace: Workspace, { openStore, program, now = Date.now }: ApprovalsOptions) {
    this.#workspace = workspace;
    this.#openStore = openStore;
    this.#program = program;
    this.#defaultWays = defaultWays(program !== undefined);
    this.#now = now;
    workspace.hub.approve = (request) => this.#approveContract(request);
  }

  /** Applies changed rules. Calls that wait keep the rule under which they began to wait. */
  useRules(rules: readonly ApprovalRule[] | undefined): void {
    this.#policy = createApprovalPolicy(rules, this.#defaultWays);
    // Without rules, calls do not pass here.
    if (this.#policy.forTools !== undefined)
      this.#removeCheck ??= this.#workspace.hub.checks.add(this.#check);
    else {
      this.#removeCheck?.();
      this.#removeCheck = undefined;
    }
  }

  /** A person can decide there from now on. */
  addWay(way: "console" | "terminal"): void {
    this.#ways.add(way);
  }

  /** Numbers for `/metrics`. Calls that waited before a restart count as soon as approvals are used. */
  get counts(): { readonly waiting: number; readonly decided: Readonly<Record<string, number>> } {
    return { waiting: this.#openedStore?.waiting.length ?? 0, decided: this.#decided };
  }

  async list(): Promise<readonly ShownApproval[]> {
    const { waiting } = await this.#opened();
    return waiting.map((one) => ({ ...one, isConnected: this.#waiters.has(one.id) }));
  }

  /** Throws if no such call waits, or if its rule does not allow this decision. */
  async decide({ id, approve, forMs, reason }: Verdict, way: ApprovalWay): Promise<WaitingCall> {
    const store = await this.#opened();
    const call = store.waiting.find((one) => one.id === id);
    if (call === undefined) throw this.#unknown(id);
    if (approve && !call.by.includes(way))
      throw new PortolanError("FORBIDDEN", `${call.rule} does not allow approval by ${way}`, {
        hint: `The rule allows approval by: ${call.by.join(", ")}.`,
      });
    if (approve) checkTime(call, forMs);
    const lifeMs = forMs ?? Date.parse(call.expires) - Date.parse(call.time);
    const isDone = approve
      ? await store.approve(id, ({ caller, server, tool, digest }) => ({
          ...{ id, caller, server, tool, digest, by: way, once: forMs === undefined },
          expires: new Date(this.#now() + lifeMs).toISOString(),
        }))
      : await store.remove(id);
    if (!isDone) throw this.#unknown(id);
    const why = reason?.slice(0, MAX_REASON_CHARS);
    this.#emit(approve ? "granted" : "denied", call, {
      by: way,
      reason: approve ? undefined : why,
    });
    this.#waiters.get(id)?.(approve ? { kind: "approved" } : { kind: "denied", by: way, reason: why });
    return call;
  }

  /** Calls that wait stay in the store: their clients repeat them after the restart. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const settle of [...this.#waiters.values()]) settle({ kind: "stopped" });
    await (await this.#store)?.close();
  }

  readonly #check: CallCheck = ({ call, tool }, send) => {
    const caller = callerOf(call.caller);
    const { alias: server, own } = tool;
    const requirement = this.#policy.forTools?.(tool, caller);
    if (requirement === undefined) return send(call);
    const message = (shown: string): string =>
      `Allow ${caller} to call ${own} of ${server}? ${requirement.reason}. Arguments: ${shown}`;
    const input = call.params?.arguments;
    const wanted = { caller, server, tool: own, input, requirement, call, message, mayRunUnattended: false };
    return this.#obtain(wanted).then((outcome) =>
      outcome.kind === "approved"
        ? send({ ...call, approved: true })
        : toRefusal(outcome, `${server}.${own}`),
    );
  };

  async #approveContract(request: ApprovalRequest): Promise<boolean | string | undefined> {
    const { contract, driver, input, reason, call, mayRunUnattended } = request;
    const caller = callerOf(call.caller);
    const requirement =
      this.#policy.forContracts(this.#contractTool(contract.id), caller) ??
      contractRequirement(contract.id, reason, this.#defaultWays);
    const outcome = await this.#obtain({
      ...{ caller, server: driver, tool: contract.id, input, requirement, mayRunUnattended },
      call: { ...call, onServerRequest: call.ask },
      message: (shown) => contractApprovalMessage(request, shown),
    });
    if (outcome.kind === "approved") return true;
    return outcome.kind === "unavailable" ? undefined : describeRefusal(outcome);
  }

  /** The tool of a contract, as rules see it. */
  #contractTool(own: string): ViewTool {
    const { hub } = this.#workspace;
    const member = hub.members.find(({ config }) => config.endpoint.transport === "contracts");
    if (member === undefined) return { name: own, own, alias: "contracts", tags: [], annotations: undefined };
    const { alias, inventory } = member;
    const annotations = inventory.tools.find(({ name }) => name === own)?.annotations;
    return { name: hub.fullToolName(alias, own), own, alias, ...member.tagsOf(own), annotations };
  }

  /** Resolves when the call may run, or must not. Rejects when its client cancelled it, or the decision cannot be written. */
  async #obtain(wanted: WantedCall): Promise<Outcome> {
    const { caller, server, tool, input, requirement, call } = wanted;
    const { observation } = call;
    const { rule } = requirement;
    const digest = argumentDigest(input);
    const shown = shownArguments(input ?? {}, this.#workspace.redactor, MAX_SHOWN_CHARS);
    let outcome: Outcome;
    let grant: Grant | undefined;
    if (this.#isClosed) outcome = { kind: "stopped" };
    else if (digest === undefined || shown === undefined) outcome = { kind: "unbound" };
    else {
      const subject = { caller, server, tool, digest };
      const store = await this.#opened();
      for (;;) {
        grant = await store.take(subject);
        outcome = grant === undefined ? await this.#wait(subject, shown, wanted) : { kind: "approved" };
        // Another call with the same arguments may have used the grant first.
        if (grant !== undefined || outcome.kind !== "approved") break;
      }
    }
    if (outcome.kind === "approved") {
      observation?.current.decide({ kind: "approved", by: grant?.by, rule, grant: grant?.id });
      if (observation !== undefined) await this.#workspace.calls.beforeApproved(observation.current);
    } else if (outcome.kind !== "unavailable" || !wanted.mayRunUnattended) {
      const by = outcome.kind === "denied" ? outcome.by : undefined;
      observation?.current.decide({ kind: outcome.kind === "expired" ? "expired" : "denied", by, rule });
    }
    return outcome;
  }

  async #wait(
    subject: ApprovalSubject,
    shown: NonNullable<ReturnType<typeof shownArguments>>,
    { requirement, call, input, message, mayRunUnattended }: WantedCall,
  ): Promise<Outcome> {
    const { by, timeoutMs, maxForMs, rule, reason } = requirement;
    const ask = by.includes("caller") ? call.onServerRequest : undefined;
    const program = by.includes("program") ? this.#program : undefined;
    const hasPerson = by.some((way) => this.#ways.has(way));
    if ((!hasPerson || mayRunUnattended) && ask === undefined && program === undefined)
      return { kind: "unavailable", by };
    const store = await this.#opened();
    // A call that waited before a restart of the gateway, or before its client lost the connection.
    let waiting = store.waiting.find((one) => isSame(one, subject) && !this.#waiters.has(one.id));
    let early: Outcome | undefined;
    if (waiting === undefined) {
      waiting = {
        ...{ id: createId(), ...subject, arguments: shown.text, cut: shown.cut, reason, rule, by, maxForMs },
        client: clientOf(call.caller),
        time: new Date(this.#now()).toISOString(),
        expires: new Date(this.#now() + timeoutMs).toISOString(),
      };
      const { id } = waiting;
      // From now on no other call takes it over, and no decision is missed.
      this.#waiters.set(id, (outcome) => (early = outcome));
      await store.add(waiting).catch((error: unknown) => {
        this.#waiters.delete(id);
        throw error;
      });
    }
    const { id, expires } = waiting;
    // A call that waited before keeps the ways of its rule.
    const decider = waiting.by.includes("program") ? program : undefined;
    const shortText = message(withRest(cutTo(shown, MAX_ELICITED_CHARS)));
    const observation = call.observation?.current;
    try {
      observation?.waits();
      this.#emit("requested", waiting, { ways: waiting.by, reason, expires });
      const outcome = await waitForDecision({
        // Other callers must not learn where the workspace is.
        folder: callerOf(call.caller) === "local" ? this.#workspace.config.folder : undefined,
        ...{ id, tool: subject.tool, call, by, ask, hasPerson, mayRunUnattended, message: shortText },
        places: by.filter((way) => this.#ways.has(way)),
        untilMs: Date.parse(expires) - this.#now(),
        onSettle: (settle) => {
          this.#waiters.set(id, settle);
          if (early !== undefined) settle(early);
        },
        decide: (approve) => this.decide({ id, approve }, "caller"),
        program:
          decider &&
          (async (signal) => {
            const { report } = this.#workspace;
            const verdict = await decideByProgram(decider, { waiting, input }, { signal, report });
            // A person elsewhere may have decided at the same time, and that decision counts.
            if (verdict !== undefined && !signal.aborted)
              await this.decide({ id, ...verdict }, "program").catch((error: unknown) => {
                if (!signal.aborted) throw error;
              });
            return verdict !== undefined;
          }),
        expire: async () => {
          await store.remove(id);
          this.#emit("expired", waiting, {});
        },
        withdraw: async () => {
          if (!this.#isClosed && (await store.remove(id))) this.#emit("withdrawn", waiting, {});
        },
      });
      // The call has ended, so that no approval may be given for it later.
      if (outcome.kind === "unavailable" || outcome.kind === "denied") await store.remove(id);
      return outcome;
    } finally {
      this.#waiters.delete(id);
      observation?.resumed();
    }
  }

  #opened(): Promise<ApprovalStore> {
    this.#store ??= this.#openStore().then((store) => (this.#openedStore = store));
    return this.#store;
  }

  #unknown(id: string): PortolanError {
    const end = this.#ends.get(id);
    const shown = JSON.stringify(id.slice(0, 40));
    return new PortolanError(
      "APPROVAL_UNKNOWN",
      end === undefined
        ? `no call with the id ${shown} waits for approval`
        : `the call with the id ${shown} does not wait for approval any more: ${ENDS[end]}`,
      {
        data: { end },
        hint: `${end === undefined ? "The id is wrong, or the call does not wait any more: it was approved or denied, its time has expired, or its client has disconnected. " : ""}To see the calls that wait: portolan approve`,
      },
    );
  }

  #emit(
    step: "requested" | "granted" | "denied" | "expired" | "withdrawn",
    { id, server, tool, caller, rule }: WaitingCall,
    more: Pick<ApprovalEvent, "by" | "ways" | "reason" | "expires">,
  ): void {
    if (step !== "requested") {
      this.#decided[step] += 1;
      this.#ends.set(id, step);
      for (const oldest of this.#ends.keys()) if (this.#ends.size > MAX_ENDS) this.#ends.delete(oldest);
    }
    const type = `gateway.approval_${step}` as const;
    this.#workspace.events.emit({ type, server, tool, caller, id, rule, ...more });
  }
}

function callerOf(caller: Call["caller"]): string {
  return caller?.account ?? "local";
}

function clientOf(caller: Call["caller"]): string | undefined {
  const name = caller?.clientInfo?.name;
  return name === UNNAMED.name ? undefined : name?.slice(0, MAX_CLIENT_CHARS);
}

function createId(): string {
  return Array.from({ length: ID_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join("");
}

function cutTo({ text, cut }: { text: string; cut: number }, max: number): { text: string; cut: number } {
  if (text.length <= max) return { text, cut };
  const shown = text.slice(0, max).replace(/[\uD800-\uDBFF]$/, "");
  return { text: shown, cut: cut + text.length - shown.length };
}

function checkTime({ maxForMs, rule }: WaitingCall, forMs: number | undefined): void {
  if (forMs === undefined) return;
  const limit =
    maxForMs === undefined
      ? "allows approval of single calls only, not for a period of time"
      : `allows approval for at most ${maxForMs / 1_000} seconds`;
  if (maxForMs !== undefined && forMs > 0 && forMs <= maxForMs) return;
  const shorter = maxForMs === undefined ? "" : `Approve with --for ${maxForMs / 1_000}s or less. Or approve`;
  const now = `${shorter || "Approve"} only this call: leave out --for.`;
  const later = rule.startsWith("gateway.")
    ? "To allow a longer time for later calls, set `for` of this rule in portolan.yaml."
    : "To allow approval of later calls for a period of time, add a rule with contract: true and `for` to gateway.approval in portolan.yaml.";
  throw new PortolanError("INPUT_INVALID", `${rule} ${limit}`, {
    hint: `${now} ${later} Calls that wait already keep the rule under which they began to wait.`,
  });
}
