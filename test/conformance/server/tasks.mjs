/** The tasks extension (SEP-2663) of the modern era: tools that go on after their answer, and the methods about them. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { CODE, META, RpcError } from "../../fixtures/lib/rpc.mjs";
import { says } from "./content.mjs";
import { form } from "./questions.mjs";

export const TASKS = "io.modelcontextprotocol/tasks";
const TTL_MS = 600_000;
const ENDED = new Set(["completed", "failed", "cancelled"]);

const CONFIRM = form("Delete it?", { confirm: { type: "boolean" } });
const NAME = form("What is your name?", { name: { type: "string" } });

/** Tools of the extension. `work` runs as a task where the client supports that; `required` ones run in no other way. */
export const taskTools = [
  {
    name: "greet",
    description: "Says hello at once",
    inputSchema: { type: "object", properties: { name: { type: "string" } } },
    run: ({ name }) => says(`Hello, ${name}!`),
  },
  {
    name: "slow_compute",
    description: "Takes as many seconds as it is told to",
    inputSchema: {
      type: "object",
      properties: { seconds: { type: "number" }, label: { type: "string" } },
    },
    async work({ seconds, label }, { signal }) {
      await delay(seconds * 1_000, undefined, { signal });
      return says(`Computed ${label} in ${seconds} s`);
    },
  },
  {
    name: "failing_job",
    description: "Fails as a tool fails",
    required: true,
    async work(_args, { signal }) {
      await delay(200, undefined, { signal });
      return { ...says("The job failed"), isError: true };
    },
  },
  {
    name: "protocol_error_job",
    description: "Fails as a server fails",
    work() {
      throw new RpcError(CODE.internal, "The server has failed");
    },
  },
  {
    name: "confirm_delete",
    description: "Asks before it deletes",
    inputSchema: { type: "object", properties: { filename: { type: "string" } } },
    async work({ filename }, { ask }) {
      const { content } = await ask(CONFIRM);
      return says(content?.confirm === true ? `Deleted ${filename}` : `Kept ${filename}`);
    },
  },
  {
    name: "multi_input",
    description: "Asks two questions at once",
    async work(_args, { ask }) {
      const answers = await Promise.all([ask(NAME), ask(CONFIRM)]);
      return says(JSON.stringify(answers.map(({ content }) => content)));
    },
  },
  {
    name: "test_tool_with_task",
    description: "Asks for a name first, and then goes on as a task",
    required: true,
    before: ({ ask }) => ask({ user_name: NAME }, { sealed: true }),
    work: (_args, _task, answers) => says(`Done for ${answers.user_name.content?.name}`),
  },
].map((tool) => ({
  inputSchema: { type: "object", properties: {} },
  ...tool,
  ...(tool.work === undefined ? {} : { run: (args, ctx) => begin(tool, args, ctx) }),
}));

/** As it is listed: what the server needs of a tool is its own. */
export const listedTask = ({ work: _work, before: _before, required: _required, ...listed }) => listed;

async function begin({ work, before, required = false }, args, ctx) {
  const isDeclared = declares(ctx.params);
  if (!isDeclared && required) throw missing();
  const answers = await before?.(ctx);
  // Without a task there is nobody to ask in the middle of the work.
  if (!isDeclared) return await work(args, { signal: ctx.signal, ask: async () => ({ action: "decline" }) });
  const task = new Task(ctx.surface.tasks);
  void task.run(async () => work(args, task, answers));
  return { resultType: "task", ...task.summary() };
}

function declares({ _meta: meta }) {
  return meta?.[META.capabilities]?.extensions?.[TASKS] !== undefined;
}

export function missing() {
  return new RpcError(CODE.missingCapability, "Missing required client capability", {
    data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    status: 400,
  });
}

class Task {
  #tasks;
  #id = randomUUID();
  #createdAt = new Date().toISOString();
  #updatedAt = this.#createdAt;
  #status = "working";
  #outcome = {};
  #questions = new Map();
  #nextKey = 1;
  #controller = new AbortController();

  constructor(tasks) {
    this.#tasks = tasks;
    tasks.byId.set(this.#id, this);
  }

  get signal() {
    return this.#controller.signal;
  }

  /** Resolves when `tasks/update` brings the answer. */
  ask = (question) =>
    new Promise((resolve) => {
      this.#questions.set(`q${this.#nextKey++}`, { question, resolve });
      this.#become("input_required");
    });

  async run(work) {
    try {
      const result = await work();
      this.#become("completed", { result });
    } catch (error) {
      if (this.signal.aborted) return;
      this.#become("failed", { error: { code: error.code ?? CODE.internal, message: error.message } });
    }
  }

  summary() {
    return {
      taskId: this.#id,
      status: this.#status,
      createdAt: this.#createdAt,
      lastUpdatedAt: this.#updatedAt,
      ttlMs: TTL_MS,
      pollIntervalMs: 100,
    };
  }

  detailed() {
    const questions = [...this.#questions].map(([key, { question }]) => [key, question]);
    return {
      ...this.summary(),
      ...this.#outcome,
      ...(this.#status === "input_required" ? { inputRequests: Object.fromEntries(questions) } : {}),
    };
  }

  update(responses) {
    for (const [key, answer] of Object.entries(responses)) {
      this.#questions.get(key)?.resolve(answer);
      this.#questions.delete(key);
    }
    if (this.#status === "input_required" && this.#questions.size === 0) this.#become("working");
  }

  cancel() {
    if (ENDED.has(this.#status)) return;
    this.#controller.abort();
    this.#become("cancelled");
  }

  #become(status, outcome = {}) {
    if (ENDED.has(this.#status)) return;
    this.#status = status;
    this.#outcome = outcome;
    this.#updatedAt = new Date().toISOString();
    for (const listener of this.#tasks.listeners) listener(this.#id, this.detailed());
  }
}

/** The tasks of one server, and those who want to hear of them. */
export const createTasks = () => ({ byId: new Map(), listeners: new Set() });

const about = (handle) => (ctx) => {
  if (!declares(ctx.params)) throw missing();
  const task = ctx.surface.tasks.byId.get(ctx.params.taskId);
  if (task === undefined) throw new RpcError(CODE.invalidParams, "Task not found");
  return handle(task, ctx.params) ?? {};
};

export const taskMethods = {
  "tasks/get": about((task) => task.detailed()),
  "tasks/update": about((task, { inputResponses = {} }) => void task.update(inputResponses)),
  "tasks/cancel": about((task) => void task.cancel()),
};

/** Those of the wanted tasks that exist; `changed` is called with the id and the state of each that changes. */
export function watchTasks(surface, params, changed) {
  const wanted = params.notifications.taskIds;
  if (wanted === undefined) return { known: undefined, stop: () => {} };
  if (!declares(params)) throw missing();
  const known = wanted.filter((id) => surface.tasks.byId.has(id));
  const listener = (id, task) => {
    if (known.includes(id)) changed(task);
  };
  surface.tasks.listeners.add(listener);
  return { known, stop: () => void surface.tasks.listeners.delete(listener) };
}
