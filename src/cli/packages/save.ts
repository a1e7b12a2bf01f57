// Saves a decision about a package: secrets, portolan.lock and portolan.yaml, all of them or none.

import { rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { toFileChange } from "../../catalog/index.ts";
import { type Lock, lockFileOf, type LockedServer, updateLock } from "../../packages/index.ts";
import type { SecretStore } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import { editWorkspaceFile, type WorkspaceFile } from "../edit/workspace-file.ts";
import { orInterrupted } from "../terminal/interrupt.ts";
import type { SettingValue } from "./configuration.ts";

export interface Saved {
  readonly file: string;
  readonly label: string;
  readonly lockFile: string;
  readonly isNew: boolean;
}

export interface SaveRequest {
  readonly change: (own: WorkspaceFile) => string;
  /** The new entries of the lock file by alias. Undefined removes an entry. */
  readonly entries: Entries;
  readonly values?: readonly SettingValue[];
  readonly secrets?: () => SecretStore;
}

type Entries = ReadonlyMap<string, LockedServer | undefined>;

type Undo = () => Promise<void>;

/**
 * The lock file is written before portolan.yaml. If a process is killed in between, the lock file has an entry that no
 * server uses, which `portolan audit` reports and the next `add` replaces.
 */
export async function saveDecision(cli: Cli, request: SaveRequest): Promise<Saved> {
  const undone: Undo[] = [];
  try {
    // A vault may ask for its passphrase; nobody waits for the files meanwhile.
    await storeSecrets(request, undone);
    const { file, label, text } = await editWorkspaceFile(cli, false, request.change, (own) =>
      changeLock(cli, lockFileOf(dirname(own.file)), request, undone),
    );
    return { file, label, lockFile: lockFileOf(dirname(file)), isNew: text === undefined };
  } catch (error) {
    for (const undo of undone.toReversed()) await undo();
    throw error;
  }
}

async function storeSecrets({ values = [], secrets }: SaveRequest, undone: Undo[]): Promise<void> {
  const toStore = values.flatMap(({ store }) => (store === undefined ? [] : [store]));
  if (toStore.length === 0 || secrets === undefined) return;
  const store = secrets();
  for (const { name, value } of toStore) {
    const before = await store.get(name);
    const source = await store.set(name, value);
    undone.push(async () => {
      if (before === undefined) await store.remove(name);
      else await store.set(name, before.secret, { to: source });
    });
  }
}

async function changeLock(
  { changes }: Cli,
  file: string,
  { entries }: SaveRequest,
  undone: Undo[],
): Promise<void> {
  const isNew = await stat(file).then(
    () => false,
    () => true,
  );
  if (isNew && [...entries.values()].every((entry) => entry === undefined)) return;
  let before: Entries = new Map();
  await updateLock(
    file,
    (lock) => {
      const known = new Map(Object.entries(lock.servers));
      before = new Map([...entries.keys()].map((alias) => [alias, known.get(alias)]));
      return withEntries(lock, entries);
    },
    (text, after) => changes.push(toFileChange(file, text, after)),
  );
  undone.push(async () => {
    const { servers } = await updateLock(file, (lock) => withEntries(lock, before));
    if (isNew && Object.keys(servers).length === 0) await rm(file, { force: true });
  });
}

function withEntries(lock: Lock, entries: Entries): Lock {
  const others = Object.entries(lock.servers).filter(([alias]) => !entries.has(alias));
  const own = [...entries].flatMap(([alias, entry]) =>
    entry === undefined ? [] : [[alias, entry] as const],
  );
  return { ...lock, servers: Object.fromEntries([...others, ...own]) };
}

/**
 * Ctrl-C before the decision is saved: the message says that both files are as they were. `what` is the part of the sentence
 * before "was changed".
 */
export function orUnchanged<T>(
  cli: Pick<Cli, "interrupt">,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  return orInterrupted(cli, () => ({ message: `${what} was changed.` }), work);
}
