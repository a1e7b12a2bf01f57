// Watches a catalog: a valid change is applied, an invalid one is reported and the old state stays.

import { isDeepStrictEqual } from "node:util";
import { type Diagnostic, toPortolanError } from "../../errors/index.ts";
import { AcceptedFiles, type FileChange } from "../files/accepted-files.ts";
import { createMemory, load, type Loaded } from "../load.ts";
import { sameDefinition } from "../merge.ts";
import type { Catalog, CatalogOptions } from "../types.ts";
import { type FileWatch, watchPlan } from "./watch-files.ts";

export interface WatchOptions extends CatalogOptions {
  /** Time without changes before files are read again. */
  readonly debounceMs?: number;
  /**
   * Begins to watch after this time, and reads the files again then: no change is missed. The watcher takes time to load, which
   * belongs to the servers during a start, and a program that ends soon does not need it. Without it, opening waits for the watch.
   */
  readonly watchAfterMs?: number;
}

export interface CatalogWatch extends AsyncDisposable {
  /** Current state. */
  readonly catalog: Catalog;
  /** Reads all files again without waiting for a change. `trusted` are changes that the user made with a command. */
  reload(trusted?: readonly FileChange[]): Promise<Catalog>;
  close(): Promise<void>;
}

const DEBOUNCE_MS = 100;
/** The watcher drops a second change of a file within 50 ms, so files are read after that time. */
const LEAST_DEBOUNCE_MS = 60;
/** An editor or git may remove a file and write it again within this time. */
const GONE_MS = 1_000;
/** Continuous changes are read at this interval. */
const MAX_WAIT_MS = 1_000;

/** Resolves when the files are read, and watched unless `watchAfterMs` is set. `onChange` is called once per change, never after `close()`. */
export async function watchCatalog(
  folder: string,
  onChange: (change: CatalogChange) => void,
  signal?: AbortSignal,
  options: WatchOptions = {},
): Promise<CatalogWatch> {
  const memory = createMemory(options);
  const accepted = new AcceptedFiles(options.writerOf);
  const debounceMs = Math.max(LEAST_DEBOUNCE_MS, options.debounceMs ?? DEBOUNCE_MS);
  let { catalog, plan } = await load(folder, options, memory, accepted);
  let watch: FileWatch | undefined;
  let timer: NodeJS.Timeout | undefined;
  let beginTimer: NodeJS.Timeout | undefined;
  let firstChange: number | undefined;
  let goneSince: number | undefined;
  let running: Promise<void> = Promise.resolve();
  let watchProblem: Diagnostic | undefined;
  let closed = false;

  const schedule = (): void => {
    if (closed) return;
    firstChange ??= performance.now();
    const left = Math.max(0, MAX_WAIT_MS - (performance.now() - firstChange));
    clearTimeout(timer);
    timer = setTimeout(
      () => {
        firstChange = undefined;
        void reload();
        // Files were read between two changes, so they are read again afterwards.
        if (left < debounceMs) schedule();
      },
      Math.min(debounceMs, left),
    );
  };

  /** A lost watch is not fatal. The next change that is seen updates everything. */
  const onError = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `Portolan may miss changes to config files: ${reason}`;
    const hint = "After you change a config file, run portolan reload, or restart your program.";
    watchProblem = { code: "FILE_FAILED", severity: "warning", message, file: catalog.folder, hint };
    schedule();
  };

  const watchAgain = async (): Promise<void> => {
    if (closed) return;
    const old = watch;
    watch = undefined;
    await old?.close();
    // A new watch reports its own errors.
    watchProblem = undefined;
    const fresh = watchPlan(catalog.folder, plan, schedule, onError);
    watch = fresh;
    await fresh.ready;
  };

  /** True if the workspace's own file is gone for such a short time that it may just be replaced; then it is read again later. */
  const isReplaced = ({ isGone }: Loaded): boolean => {
    if (isGone) goneSince ??= performance.now();
    else goneSince = undefined;
    const left = goneSince === undefined ? 0 : goneSince + GONE_MS - performance.now();
    if (left <= 0) return false;
    clearTimeout(timer);
    timer = setTimeout(() => void reload(), left);
    return true;
  };

  /** `trusted` is undefined if nobody requested the read. */
  const readAgain = async (trusted: readonly FileChange[] | undefined): Promise<void> => {
    if (closed) return;
    await accepted.trust(trusted ?? []);
    const loaded = await load(folder, options, memory, accepted);
    if (closed || (isReplaced(loaded) && trusted === undefined)) return;
    const usable = withoutUnknownServers(catalog, loaded);
    const next = watchProblem === undefined ? usable : withDiagnostic(usable, watchProblem);
    const moved = JSON.stringify(next.plan) !== JSON.stringify(plan);
    const change = compareCatalogs(catalog, next.catalog);
    ({ catalog, plan } = next);
    if (change !== undefined) onChange(change);
    if (!moved || closed) return;
    await watchAgain();
    // Another read finds the changes that happened without a watch.
    schedule();
  };

  /** No error here may end a gateway. The old state stays, and the error is reported. */
  const keepTheOld = (thrown: unknown): void => {
    if (closed) return;
    const failure = notReadAgain(thrown, catalog.folder);
    const others = catalog.diagnostics.filter(({ message }) => message !== failure.message);
    const next = { ...catalog, diagnostics: [...others, failure] };
    const change = compareCatalogs(catalog, next);
    catalog = next;
    try {
      if (change !== undefined) onChange(change);
    } catch {
      // The listener itself may have failed, and has no other way to report it.
    }
  };

  const reload = (trusted?: readonly FileChange[]): Promise<void> => {
    running = running.then(() => readAgain(trusted)).catch(keepTheOld);
    return running;
  };

  const close = async (): Promise<void> => {
    closed = true;
    clearTimeout(timer);
    clearTimeout(beginTimer);
    signal?.removeEventListener("abort", onAbort);
    await running;
    await watch?.close();
  };
  const onAbort = (): void => void close();

  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted === true) await close();
  const begin = (): Promise<void> => {
    running = running.then(watchAgain).catch(keepTheOld);
    return reload();
  };
  if (options.watchAfterMs === undefined) await begin();
  else if (!closed) beginTimer = setTimeout(() => void begin(), options.watchAfterMs).unref();
  return {
    get catalog() {
      return catalog;
    },
    reload: async (trusted = []) => {
      // The cause of an error, such as too many watched files, may be gone.
      if (watchProblem !== undefined) running = running.then(watchAgain).catch(keepTheOld);
      await reload(trusted);
      return catalog;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Settings that name a server that does not exist could give a caller rights that nobody meant: `deny` of a misspelt server denies
 * nothing. So nothing of such a change is used.
 */
function withoutUnknownServers(before: Catalog, loaded: Loaded): Loaded {
  const { namesUnknownServers, diagnostics } = loaded.catalog;
  if (namesUnknownServers !== true || before.namesUnknownServers === true) return loaded;
  const kept: Diagnostic = {
    code: "FILE_INVALID",
    severity: "warning",
    message: "the settings name a server that does not exist, so Portolan keeps using the previous config",
    file: before.folder,
    hint: "Correct the name. Portolan reads the files again when they change.",
  };
  const told = loaded.isEarlier ? diagnostics : [...diagnostics, kept];
  return { ...loaded, catalog: { ...before, diagnostics: told } };
}

function withDiagnostic({ catalog, ...rest }: Loaded, diagnostic: Diagnostic): Loaded {
  return { ...rest, catalog: { ...catalog, diagnostics: [...catalog.diagnostics, diagnostic] } };
}

function notReadAgain(thrown: unknown, file: string): Diagnostic {
  const { code, message: reason, hint } = toPortolanError(thrown);
  const message = `Portolan could not apply a change of the config files, and keeps using the previous config: ${reason}`;
  return { code, severity: "error", message, file, hint };
}

export interface CatalogChange {
  readonly catalog: Catalog;
  /** Sorted aliases. All three lists are empty if only settings, positions or diagnostics changed. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  readonly settingsChanged: boolean;
  readonly lockChanged: boolean;
}

/** Returns undefined if both are equal, including line numbers. */
function compareCatalogs(before: Catalog, after: Catalog): CatalogChange | undefined {
  if (isDeepStrictEqual(before, after)) return undefined;
  const old = new Map(before.servers.map((server) => [server.alias, server]));
  const added: string[] = [];
  const changed: string[] = [];
  for (const server of after.servers) {
    const known = old.get(server.alias);
    old.delete(server.alias);
    if (known === undefined) added.push(server.alias);
    else if (!sameDefinition(known, server)) changed.push(server.alias);
  }
  const settingsChanged = !isDeepStrictEqual(before.settings, after.settings);
  const lockChanged = !isDeepStrictEqual(before.lock, after.lock);
  return { catalog: after, added, removed: [...old.keys()], changed, settingsChanged, lockChanged };
}
