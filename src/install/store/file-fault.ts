// A file or folder of a store entry that is not as it was installed.

export interface FileFault {
  /** Its path in the folder of the entry. */
  readonly path: string;
  readonly state: "changed" | "missing" | "added";
}

export function describeFault({ path, state }: FileFault): string {
  return `${path} ${state === "missing" ? "is missing" : `was ${state}`}`;
}
