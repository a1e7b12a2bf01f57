// Keeps a catalog true while its files change: a good change is applied, a bad one is reported and the old state stays.

import { type Diagnostic, toPortolanError } from "../../errors/index.ts";
import { type CatalogChange, compareCatalogs } from "./changes.ts";
import { load, type Loaded } from "../load.ts";
import type { Memory } from "../read-source.ts";
import { Taken } from "../files/taken.ts";
import type { Catalog, CatalogOptions } from "../types.ts";
import { type FileWatch, watchPlan } from "./watch-files.ts";

export interface WatchOptions extends CatalogOptions {
  /** Quiet time after the last change before files are read again. */
  readonly debounceMs?: number | undefined;
}

export interface CatalogWatch extends AsyncDisposable {
  /** The state now. */
  readonly catalog: Catalog;
  /** Reads everything again without waiting for a change. */
  reload(): Promise<Catalog>;
  close(): Promise<void>;
}

const DEBOUNCE_MS = 100;
/** The watcher drops a second change of a file within 50 ms, so nothing is read before they are over. */
const LEAST_DEBOUNCE_MS = 60;
/** Changes that never pause are still read this often. */
const MAX_WAIT_MS = 1_000;

/** Resolves when every file is watched. `onChange` is called once per change, never after `close()`. */
export async function watchCatalog(
  folder: string,
  onChange: (change: CatalogChange) => void,
  signal?: AbortSignal,
  options: WatchOptions = {},
): Promise<CatalogWatch> {
  const memory: Memory = new Map();
  const taken = new Taken(options.writerOf);
  const debounceMs = Math.max(LEAST_DEBOUNCE_MS, options.debounceMs ?? DEBOUNCE_MS);
  let { catalog, plan } = await load(folder, options, memory, taken);
  let watch: FileWatch | undefined;
  let timer: NodeJS.Timeout | undefined;
  let firstChange: number | undefined;
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
        // Read in the middle of changes: once more when they are over.
        if (left < debounceMs) schedule();
      },
      Math.min(debounceMs, left),
    );
  };

  /** A lost watch is no reason to stop: the next change that is seen brings everything up to date. */
  const onError = (error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    const message = `changes of files may be missed: ${reason}`;
    watchProblem = { code: "FILE_FAILED", severity: "warning", message, file: catalog.folder };
    schedule();
  };

  const watchAgain = async (): Promise<void> => {
    const old = watch;
    watch = undefined;
    await old?.close();
    const fresh = watchPlan(catalog.folder, plan, schedule, onError);
    watch = fresh;
    await fresh.ready;
  };

  const readAgain = async (): Promise<void> => {
    if (closed) return;
    const loaded = await load(folder, options, memory, taken);
    if (closed) return;
    const next = watchProblem === undefined ? loaded : withDiagnostic(loaded, watchProblem);
    const moved = JSON.stringify(next.plan) !== JSON.stringify(plan);
    const change = compareCatalogs(catalog, next.catalog);
    ({ catalog, plan } = next);
    if (change !== undefined) onChange(change);
    if (!moved || closed) return;
    await watchAgain();
    // What changed while nobody watched is found by looking once more.
    schedule();
  };

  /** Whatever goes wrong here, a program that serves must not end of it: what was there stays, and the reason is told. */
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
      // It may have been the listener that failed, and it has nobody else to tell.
    }
  };

  const reload = (): Promise<void> => {
    running = running.then(readAgain).catch(keepTheOld);
    return running;
  };

  const close = async (): Promise<void> => {
    closed = true;
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    await running;
    await watch?.close();
  };
  const onAbort = (): void => void close();

  signal?.addEventListener("abort", onAbort, { once: true });
  await watchAgain();
  if (signal?.aborted === true) await close();
  await reload();
  return {
    get catalog() {
      return catalog;
    },
    reload: async () => {
      await reload();
      return catalog;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function withDiagnostic({ catalog, plan }: Loaded, diagnostic: Diagnostic): Loaded {
  return { catalog: { ...catalog, diagnostics: [...catalog.diagnostics, diagnostic] }, plan };
}

function notReadAgain(thrown: unknown, file: string): Diagnostic {
  const { code, message: reason, hint } = toPortolanError(thrown);
  const message = `a change of the declarations could not be applied, so that what was there stays in use: ${reason}`;
  return { code, severity: "error", message, file, hint };
}
