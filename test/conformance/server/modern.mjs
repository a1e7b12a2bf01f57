/** The modern era: every request stands alone, and questions are results. */
import { CODE, META, MODERN_VERSION, NoAnswer, notification, RpcError } from "../../fixtures/lib/rpc.mjs";
import { missingCapabilities } from "./questions.mjs";
import { createAsk, InputRequired } from "./rounds.mjs";
import { taskMethods, TASKS, watchTasks } from "./tasks.mjs";
import { CAPABILITIES, commonMethods, handlerOf, LEVELS, SERVER_INFO } from "./surface.mjs";

const SUPPORTED = [MODERN_VERSION];

/** What a result may be kept for; the differences are there to be merged by who stands in front. */
const CACHE = {
  "server/discover": { ttlMs: 3_600_000, cacheScope: "public" },
  "tools/list": { ttlMs: 60_000, cacheScope: "public" },
  "prompts/list": { ttlMs: 30_000, cacheScope: "public" },
  "resources/list": { ttlMs: 60_000, cacheScope: "private" },
  "resources/templates/list": { ttlMs: 60_000, cacheScope: "public" },
  "resources/read": { ttlMs: 0, cacheScope: "private" },
};

const methods = {
  ...commonMethods,
  ...taskMethods,
  "server/discover": () => ({
    supportedVersions: SUPPORTED,
    capabilities: { ...CAPABILITIES, extensions: { [TASKS]: {} } },
    instructions: "Call the tools that the conformance suite asks for.",
  }),
  "subscriptions/listen": listen,
};

/** Answers one request with a result, or throws what is to be answered. `notify` carries what comes before the answer. */
export async function answerModern({ surface, message, notify, signal }) {
  const { id, method, params = {} } = message;
  checkEnvelope(params);
  const handler = handlerOf(methods, method, method === "initialize" ? { supported: SUPPORTED } : undefined);
  const ctx = createContext({ surface, id, method, params, notify, signal });
  let result;
  try {
    result = { resultType: "complete", ...CACHE[method], ...(await handler(ctx)) };
  } catch (error) {
    if (!(error instanceof InputRequired)) throw error;
    result = error.result;
  }
  return { ...result, _meta: { ...result._meta, [META.serverInfo]: SERVER_INFO } };
}

/** `_meta` must say the version and the capabilities before anything else is looked at. */
export function checkEnvelope({ _meta: meta }) {
  for (const key of [META.version, META.capabilities]) {
    if (meta?.[key] === undefined) {
      throw new RpcError(CODE.invalidParams, `Missing in _meta: ${key}`, { status: 400 });
    }
  }
}

/** Apart from the envelope, because over HTTP a header that says something else is the earlier fault. */
export function checkVersion({ _meta: meta }) {
  const requested = meta[META.version];
  if (SUPPORTED.includes(requested)) return;
  throw new RpcError(CODE.unsupportedVersion, `Unsupported protocol version: ${requested}`, {
    data: { supported: SUPPORTED, requested },
    status: 400,
  });
}

function createContext(base) {
  const { params, notify } = base;
  const meta = params._meta;
  const declared = meta[META.capabilities];
  return {
    ...base,
    era: "modern",
    ask: createAsk(base, (questions) => requireCapabilities(questions, declared)),
    can: (capability) => declared[capability] !== undefined,
    log(level, data) {
      const least = meta[META.logLevel];
      if (least === undefined || LEVELS.indexOf(level) < LEVELS.indexOf(least)) return;
      notify(notification("notifications/message", { level, logger: "conformance", data }));
    },
    progress(progress, total) {
      const { progressToken } = meta;
      if (progressToken === undefined) return;
      notify(notification("notifications/progress", { progressToken, progress, total }));
    },
    // A broken stream is a lost request in this era, so there is nothing to come back to.
    interrupt() {},
  };
}

function requireCapabilities(questions, declared) {
  const requiredCapabilities = missingCapabilities(questions, declared);
  if (requiredCapabilities === undefined) return;
  throw new RpcError(CODE.missingCapability, "Missing required client capability", {
    data: { requiredCapabilities },
    status: 400,
  });
}

const FILTERS = {
  "notifications/tools/list_changed": "toolsListChanged",
  "notifications/prompts/list_changed": "promptsListChanged",
};

/** Goes on until the client leaves. */
async function listen({ surface, id, params, notify, signal }) {
  const filter = params.notifications;
  if (typeof filter !== "object" || filter === null) {
    throw new RpcError(CODE.invalidParams, "subscriptions/listen needs `notifications`", { status: 400 });
  }
  const _meta = { [META.subscriptionId]: id };
  const { known, stop: stopTasks } = watchTasks(surface, params, (task) =>
    notify(notification("notifications/tasks", { ...task, _meta })),
  );
  const notifications = { ...filter, ...(known === undefined ? {} : { taskIds: known }) };
  notify(notification("notifications/subscriptions/acknowledged", { _meta, notifications }));
  const stop = surface.onChange((method) => {
    if (filter[FILTERS[method]] === true) notify(notification(method, { _meta }));
  });
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  stop();
  stopTasks();
  throw new NoAnswer();
}
