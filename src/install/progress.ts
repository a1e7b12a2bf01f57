// Progress of an installation, as callers show it.

/** How far something is that takes a while. */
export interface Progress {
  readonly what: string;
  /** How much of it is there, as it comes; absent when it begins and when it is done. */
  readonly bytes?: { readonly received: number; readonly total?: number | undefined } | undefined;
}
