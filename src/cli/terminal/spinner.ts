// Spinner: one line on stderr with the current work and its duration. Quick work shows nothing.

import type { OutputStream } from "../context.ts";
import type { Screen } from "../output/output.ts";
import type { Colors } from "./colors.ts";
import { cut } from "./layout.ts";
import { plainLine } from "./safe-text.ts";

export interface Spinner extends Screen {
  /** Starts a new piece of work, and its clock. */
  start(label: string): void;
  /** Changes the label of the current work; its clock continues. */
  rename(label: string): void;
  /** Sets the details of the current work. */
  update(detail: string): void;
  /** Draws nothing while `work` uses the terminal. */
  pausedFor<T>(work: () => Promise<T>): Promise<T>;
  /** The end of the work that uses the terminal; undefined if there is none. */
  readonly pause: Promise<unknown> | undefined;
}

export interface SpinnerOptions {
  readonly stream: OutputStream;
  readonly colors: Colors;
  readonly enabled: boolean;
  readonly now?: () => number;
  readonly unicode?: boolean;
}

const DELAY_MS = 300;
const FRAME_MS = 80;
const CLEAR = "\r\u001b[K";

export function createSpinner(options: SpinnerOptions): Spinner {
  const { stream, colors, enabled } = options;
  const now = options.now ?? ((): number => performance.now());
  const frames = Array.from(options.unicode === false ? "|/-\\" : "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏");
  let label = "";
  let detail = "";
  let since = 0;
  let frame = 0;
  /** The work that uses the terminal. */
  const works = new Set<Promise<unknown>>();
  let drawn = false;
  let timer: NodeJS.Timeout | undefined;

  const erase = (): void => {
    if (drawn) stream.write(CLEAR);
    drawn = false;
  };
  const draw = (): void => {
    const elapsed = now() - since;
    if (works.size > 0 || elapsed < DELAY_MS) return;
    const width = Math.max(20, (stream.columns || 80) - 14);
    const text = cut(plainLine(detail === "" ? label : `${label}: ${detail}`, width), width);
    const mark = frames[frame % frames.length] ?? "";
    stream.write(`${CLEAR}${colors.cyan(mark)} ${text} ${colors.dim(formatSeconds(elapsed))}`);
    drawn = true;
  };
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
    erase();
  };

  return {
    start(next) {
      if (!enabled) return;
      stop();
      label = next;
      detail = "";
      since = now();
      timer = setInterval(() => {
        frame += 1;
        draw();
      }, FRAME_MS);
      timer.unref?.();
    },
    rename(next) {
      label = next;
      detail = "";
    },
    update(next) {
      detail = next;
    },
    stop,
    hide: erase,
    show() {
      if (timer !== undefined) draw();
    },
    async pausedFor(work) {
      erase();
      const running = Promise.resolve().then(work);
      works.add(running);
      try {
        return await running;
      } finally {
        works.delete(running);
      }
    },
    get pause() {
      return works.size === 0 ? undefined : Promise.allSettled(works);
    },
  };
}

function formatSeconds(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)}s`;
  return `${Math.floor(seconds / 60)}m${String(Math.floor(seconds % 60)).padStart(2, "0")}s`;
}
