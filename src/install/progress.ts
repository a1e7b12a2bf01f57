// Progress of an installation, as callers show it.

/** A step that takes a while. */
export interface Progress {
  readonly what: string;
  /** The bytes received so far; absent at the begin and the end. */
  readonly bytes?: { readonly received: number; readonly total?: number };
}
