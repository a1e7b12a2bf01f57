// Public exports of the console room.

import type * as opened from "./console.ts";

export type { Console, ConsoleMethods, ConsoleOptions } from "./console.ts";

/** Opens the console of a gateway. Loaded on first use, because most commands have none. */
export const openConsole: typeof opened.openConsole = async (options) =>
  (await import("./console.ts")).openConsole(options);
