// Process pool: one open session per identical resolved definition, shared by its users and closed with the last of them.

import { isPortolanError, renamedError } from "../../errors/index.ts";
import type { LaunchNews } from "../../launch/index.ts";
import type { ServerDefinition } from "../../model/index.ts";
import {
  type LaunchDiagnostics,
  openSessionUpstream,
  type SessionHandle,
  type Upstream,
} from "../../upstream/index.ts";
import { requestAuthOf } from "./request-auth.ts";
import type { ServerContext } from "./open-server-session.ts";

/** Receives the stderr output of a server, and reports of its start. */
export interface ProcessListener {
  readonly stderr: (text: string) => void;
  readonly launch: (news: LaunchNews) => void;
}

interface SharedSession {
  /** The server that opened it, which its errors name. */
  readonly openedBy: string;
  readonly opening: Promise<Upstream>;
  readonly abandoned: AbortController;
  /** One listener per user, because every user gets the server's output. */
  readonly listeners: Set<ProcessListener>;
  /** The launch plan and the process, for later users. */
  planned: LaunchNews | undefined;
  started: LaunchNews | undefined;
  users: number;
}

export class ProcessPool {
  /** How often the process of a driver was replaced after a login, by process key: an old one must not be used again. */
  readonly replacements: Map<string, number> = new Map();
  readonly #entries = new Map<string, SharedSession>();

  /**
   * The key identifies the resolved definition. `open` is called for the first user only, and aborted when the last one has
   * left. An error names `server`, whichever user opened the session.
   */
  async acquire(
    key: string,
    server: string,
    open: (signal: AbortSignal, listener: ProcessListener) => Promise<Upstream>,
    leave: AbortSignal,
    listener: ProcessListener,
  ): Promise<SessionHandle> {
    // After the close of a workspace, nothing may be installed or started.
    leave.throwIfAborted();
    let shared = this.#entries.get(key);
    if (shared === undefined) {
      const abandoned = new AbortController();
      const listeners = new Set<ProcessListener>();
      const opening = open(abandoned.signal, {
        stderr: (text) => {
          for (const one of listeners) one.stderr(text);
        },
        launch: (news) => {
          if (news.type === "planned" && shared !== undefined) shared.planned = news;
          if (news.type === "started" && shared !== undefined) shared.started = news;
          for (const one of listeners) one.launch(news);
        },
      });
      const entry: SharedSession = {
        openedBy: server,
        opening,
        abandoned,
        listeners,
        planned: undefined,
        started: undefined,
        users: 0,
      };
      shared = entry;
      this.#entries.set(key, entry);
      // A session that has ended is removed, so that later users get a new one.
      const evict = (): void => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
      };
      opening.then(
        (upstream) =>
          upstream.on("stateChanged", (state) => {
            if (state === "closed" || state === "failed") evict();
          }),
        () => {},
      );
    }
    const own = shared;
    own.users += 1;
    // A separate object per user, because a member that is replaced is two users for a moment.
    const userListener: ProcessListener = { ...listener };
    own.listeners.add(userListener);
    if (own.planned !== undefined) userListener.launch(own.planned);
    if (own.started !== undefined) userListener.launch(own.started);
    let released = false;
    const release = async (): Promise<void> => {
      if (!released) {
        released = true;
        own.users -= 1;
        own.listeners.delete(userListener);
      }
      if (own.users > 0) return;
      if (this.#entries.get(key) === own) this.#entries.delete(key);
      own.abandoned.abort();
      await own.opening.then((upstream) => upstream.close()).catch(() => {});
    };
    const left = (): void => void release();
    leave.addEventListener("abort", left, { once: true });
    try {
      return { upstream: await own.opening, release };
    } catch (error) {
      await release();
      const isOther = isPortolanError(error) && error.server === own.openedBy;
      throw isOther ? renamedError(error, server) : error;
    } finally {
      leave.removeEventListener("abort", left);
    }
  }
}

export interface PoolTerms {
  readonly leave: AbortSignal;
  readonly listener: ProcessListener;
  readonly launches: LaunchDiagnostics;
  /** An earlier session found the server to be legacy. */
  readonly knownLegacy?: boolean;
}

/** Takes a session of the process pool, which opens one for the first user of the key. */
export function openPooledSession(
  context: ServerContext,
  definition: ServerDefinition,
  key: string,
  { leave, listener, launches, knownLegacy }: PoolTerms,
): Promise<SessionHandle> {
  return context.pool.acquire(
    key,
    definition.name,
    (signal, { stderr: onStderr, launch: onLaunch }) =>
      openSessionUpstream({
        ...sessionOptions(context, definition),
        ...{ signal, knownLegacy, onStderr, onLaunch, launches },
      }),
    leave,
    listener,
  );
}

export function sessionOptions(
  context: ServerContext,
  definition: ServerDefinition,
): Omit<Parameters<typeof openSessionUpstream>[0], "launches"> {
  const { caller, onServerRequest, report, redactor, eras, launchContext } = context;
  const auth = requestAuthOf(definition, context);
  return { definition, caller, onServerRequest, watch: true, report, redactor, eras, launchContext, auth };
}
