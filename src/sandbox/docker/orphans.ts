// Containers that outlived their program: an engine keeps what it runs, and only a label tells whose it was.

import { isOwnerAnywhereGone, ownerTagAnywhere } from "../../process/index.ts";
import { ask, type EngineCommand } from "./engine.ts";

const LABEL = "portolan.owner";
const ENGINE_MS = 10_000;
/** Docker writes labels as `a=b,c=d`, Podman as `map[a:b c:d]`; for single ones, older Podmans have no word. */
const LINE =
  /^([0-9a-f]{12,64})\tportolan-[0-9a-f]{16}\t(?:.*[,[ ])?portolan\.owner[=:]([\d.]+\.[0-9a-f]{32})(?:[,\] ]|$)/;

/** How a container says whose it is. */
export function ownerWords(): string[] {
  return ["--label", `${LABEL}=${ownerTagAnywhere()}`];
}

/**
 * Removes them. Those of a program that lives, or that cannot be looked up from here, are not touched; nor are others that
 * only carry the label, as containers of an image that was made from one of ours do. Never fails.
 */
export async function reapContainers(engine: EngineCommand, signal?: AbortSignal): Promise<void> {
  const format = "{{.ID}}\t{{.Names}}\t{{.Labels}}";
  const words = ["ps", "--all", "--no-trunc", "--filter", `label=${LABEL}`, "--format", format];
  try {
    const { stdout } = await ask(engine, words, ENGINE_MS, signal);
    const gone = orphansAmong(stdout);
    if (gone.length > 0) await ask(engine, ["rm", "--force", ...gone], ENGINE_MS, signal);
  } catch {
    // The next start tries again.
  }
}

/** The numbers of those whose owner is gone, from an engine's list. */
export function orphansAmong(list: string): string[] {
  return list.split("\n").flatMap((line) => {
    const [, id, owner] = LINE.exec(line.trimEnd()) ?? [];
    return id !== undefined && owner !== undefined && isOwnerAnywhereGone(owner) ? [id] : [];
  });
}
