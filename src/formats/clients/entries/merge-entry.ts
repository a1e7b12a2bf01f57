// Updates an existing entry with as few changes as possible.

import { isObject } from "../../../model/index.ts";
import type { ReadContext } from "../known/context.ts";
import { fieldOf } from "./fields.ts";
import { type EntryServer, readEntry } from "./read-entry.ts";
import type { FoundEntry } from "./read-servers.ts";
import type { ClientId } from "../types.ts";
import { applyChange, type Change, sameValue } from "../../document/edit/index.ts";
import { writeEntry } from "./write-entry.ts";

type Entry = Readonly<Record<string, unknown>>;

/** The wanted entry, as Portolan writes it. */
export interface Wanted {
  readonly entry: Entry;
  readonly enabled: boolean;
  readonly client: ClientId;
  readonly context: ReadContext;
  readonly second: boolean;
}

/**
 * The changes that an existing entry needs. Both sides are compared as Portolan would write them, so other spellings and
 * `${workspaceFolder}` stay as they are if they mean the same.
 */
export function changesOf({ raw, path, server }: FoundEntry, wanted: Wanted): Change[] {
  const now = server === undefined ? undefined : canonical(server, wanted);
  const few = now === undefined ? undefined : compare(raw, now, wanted.entry);
  const changes = few !== undefined && isWanted(few, raw, wanted) ? few : rewrite(raw, wanted.entry);
  return changes.map((change) => ({ ...change, path: [...path, ...change.path] }));
}

/** Written as enabled if the client cannot disable servers. */
function canonical(server: EntryServer, { client, second, entry }: Wanted): Entry | undefined {
  const origin = { file: "", line: 1, column: 1, format: client };
  // An update without a sandbox does not remove an existing one.
  const launch = "sandboxEnabled" in entry ? server.launch : undefined;
  const whole = { alias: "server", origin, ...server, launch };
  return (
    writeEntry(client, whole, second).entry ?? writeEntry(client, { ...whole, enabled: true }, second).entry
  );
}

function compare(raw: Entry, now: Entry, wanted: Entry): Change[] {
  const ours = new Set([...Object.keys(now), ...Object.keys(wanted)]);
  return [...ours].flatMap((key) => {
    if (sameValue(now[key], wanted[key])) return [];
    const spellings = Object.keys(raw).filter(
      (own) => own === key || (fieldOf(own) === fieldOf(key) && !ours.has(own)),
    );
    if (wanted[key] === undefined) return spellings.map((own) => ({ path: [own] }));
    const [kept = key, ...gone] = spellings.includes(key)
      ? [key, ...spellings.filter((own) => own !== key)]
      : spellings;
    return [
      ...gone.map((own): Change => ({ path: [own] })),
      ...compareValue(raw[kept], now[key], wanted[key]).map((change) => ({
        ...change,
        path: [kept, ...change.path],
      })),
    ];
  });
}

/** Names with texts are compared one by one, so that the others keep their lines and comments. */
function compareValue(raw: unknown, now: unknown, wanted: unknown): Change[] {
  if (!isObject(raw) || !isObject(now) || !isObject(wanted)) return [{ path: [], value: wanted }];
  return [...new Set([...Object.keys(now), ...Object.keys(wanted)])]
    .filter((key) => !sameValue(now[key], wanted[key]))
    .map((key) => ({ path: [key], value: wanted[key] }));
}

function isWanted(changes: readonly Change[], raw: Entry, wanted: Wanted): boolean {
  const changed = changes.reduce<unknown>(applyChange, raw);
  if (!isObject(changed)) return false;
  const { client, context } = wanted;
  const read = readEntry(changed, { path: [], client, context, report: () => undefined });
  return (
    read !== undefined && read.enabled === wanted.enabled && sameValue(canonical(read, wanted), wanted.entry)
  );
}

/** Every member that this room knows as it writes it; unknown ones stay. */
function rewrite(raw: Entry, wanted: Entry): Change[] {
  const gone = Object.keys(raw).filter((key) => {
    const field = fieldOf(key);
    return field !== undefined && !field.startsWith("sandbox") && wanted[key] === undefined;
  });
  const set = Object.entries(wanted).filter(([key, value]) => !sameValue(raw[key], value));
  return [
    ...gone.map((key): Change => ({ path: [key] })),
    ...set.map(([key, value]) => ({ path: [key], value })),
  ];
}
