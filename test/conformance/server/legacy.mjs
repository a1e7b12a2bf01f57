/** The legacy era: one client, its handshake, and the questions that are put to it while a call runs. */
import {
  CODE,
  isAnswer,
  LEGACY_VERSIONS,
  NoAnswer,
  notification,
  RpcError,
} from "../../fixtures/lib/rpc.mjs";
import { missingCapabilities } from "./questions.mjs";
import { CAPABILITIES, commonMethods, handlerOf, LEVELS, SERVER_INFO, toRpcError } from "./surface.mjs";

const methods = {
  ...commonMethods,
  initialize({ peer, params }) {
    const { protocolVersion: wanted, capabilities = {} } = params;
    peer.capabilities = capabilities;
    peer.version = LEGACY_VERSIONS.includes(wanted) ? wanted : LEGACY_VERSIONS[0];
    return { protocolVersion: peer.version, capabilities: CAPABILITIES, serverInfo: SERVER_INFO };
  },
  ping: () => ({}),
  "logging/setLevel"({ peer, params }) {
    if (!LEVELS.includes(params.level)) {
      throw new RpcError(CODE.invalidParams, `Unknown level: ${params.level}`);
    }
    peer.level = params.level;
    return {};
  },
  "resources/subscribe"({ peer, params }) {
    peer.watched.add(params.uri);
    return {};
  },
  "resources/unsubscribe"({ peer, params }) {
    peer.watched.delete(params.uri);
    return {};
  },
};

const BEFORE_THE_HANDSHAKE = ["initialize", "ping"];

export class LegacyPeer {
  /** Set by `initialize`. */
  version;
  capabilities = {};
  level = "debug";
  watched = new Set();
  #surface;
  #calls = new Map();
  #questions = new Map();
  #timesAsked = new Map();
  #stop;

  /** `send` carries what belongs to no call. */
  constructor(surface, send) {
    this.#surface = surface;
    this.#stop = surface.onChange((method) => {
      if (this.version !== undefined) send(notification(method));
    });
  }

  /** `reply` carries what belongs to this message; `interrupt` closes its stream if there is one to come back to. */
  receive(message, reply, interrupt = () => {}) {
    if (isAnswer(message)) return this.#answered(message);
    if (message.id !== undefined) return void this.#call(message, reply, interrupt);
    if (message.method === "notifications/cancelled") {
      this.#calls.get(message.params?.requestId)?.abort();
    }
  }

  close() {
    this.#stop();
    for (const call of this.#calls.values()) call.abort();
  }

  async #call(message, reply, interrupt) {
    const { id, method, params = {} } = message;
    const call = new AbortController();
    this.#calls.set(id, call);
    const answer = { jsonrpc: "2.0", id };
    try {
      if (this.version === undefined && !BEFORE_THE_HANDSHAKE.includes(method)) {
        // The name is looked up first: a probe for the other era must hear that this server does not know it.
        handlerOf(methods, method);
        throw new RpcError(CODE.invalidRequest, `${method} came before initialize`);
      }
      const ctx = this.#context({ id, method, params, reply, interrupt, signal: call.signal });
      answer.result = await handlerOf(methods, method)(ctx);
    } catch (error) {
      if (error instanceof NoAnswer) return;
      answer.error = toRpcError(error).toJSON();
    } finally {
      this.#calls.delete(id);
    }
    if (!call.signal.aborted) reply(answer);
  }

  #context(base) {
    const { params, reply, signal } = base;
    return {
      ...base,
      era: "legacy",
      surface: this.#surface,
      peer: this,
      ask: (questions) => this.#ask(questions, reply, signal),
      can: (capability) => this.capabilities[capability] !== undefined,
      log: (level, data) => {
        if (LEVELS.indexOf(level) < LEVELS.indexOf(this.level)) return;
        reply(notification("notifications/message", { level, logger: "conformance", data }));
      },
      progress(progress, total) {
        const progressToken = params._meta?.progressToken;
        if (progressToken === undefined) return;
        reply(notification("notifications/progress", { progressToken, progress, total }));
      },
    };
  }

  /** All at once; the answers come back under the keys of the questions. */
  async #ask(questions, reply, signal) {
    const missing = missingCapabilities(questions, this.capabilities);
    if (missing) throw new Error(`The client does not support ${Object.keys(missing).join(", ")}`);
    const answers = Object.entries(questions).map(async ([key, question]) => {
      return [key, await this.#request(key, question, reply, signal)];
    });
    return Object.fromEntries(await Promise.all(answers));
  }

  #request(key, question, reply, signal) {
    const id = this.#nextId(key);
    return new Promise((resolve, reject) => {
      this.#questions.set(id, { resolve, reject });
      const cancel = () => {
        if (!this.#questions.delete(id)) return;
        reply(notification("notifications/cancelled", { requestId: id }));
        reject(new NoAnswer());
      };
      if (signal.aborted) return cancel();
      signal.addEventListener("abort", cancel, { once: true });
      reply({ jsonrpc: "2.0", id, ...question });
    });
  }

  // The key is the id, so that who turns the question into a named one can keep the name; no id may be used twice.
  #nextId(key) {
    const times = (this.#timesAsked.get(key) ?? 0) + 1;
    this.#timesAsked.set(key, times);
    return times === 1 ? key : `${key}-${times}`;
  }

  #answered({ id, result, error }) {
    const question = this.#questions.get(id);
    this.#questions.delete(id);
    if (error) question?.reject(new Error(`The client refused: ${error.message}`));
    else question?.resolve(result);
  }
}
