// Removes containers that outlived the Portolan process that started them. A label on each container identifies
// its owner.

import { isOwnerAnywhereGone, ownerTagAnywhere } from "../../process/index.ts";
import { runEngine, type EngineCommand } from "./engine.ts";

const LABEL = "portolan.owner";
const ENGINE_MS = 10_000;
/**
 * Docker prints labels as `a=b,c=d`, Podman as `map[a:b c:d]`; older versions of Podman cannot print a single
 * label.
 */
const LINE =
  /^([0-9a-f]{12,64})\tportolan-[0-9a-f]{16}\t(?:.*[,[ ])?portolan\.owner[=:]([\d.]+\.[0-9a-f]{32})(?:[,\] ]|$)/;

/** The options that label a container with its owner. */
export function ownerWords(): string[] {
  return ["--label", `${LABEL}=${ownerTagAnywhere()}`];
}

/**
 * Removes the containers of owners that have ended. Keeps those of running owners, of owners that cannot be looked
 * up, and containers that merely inherited the label from their image. Never fails.
 */
export async function reapContainers(engine: EngineCommand, signal?: AbortSignal): Promise<void> {
  const format = "{{.ID}}\t{{.Names}}\t{{.Labels}}";
  const words = ["ps", "--all", "--no-trunc", "--filter", `label=${LABEL}`, "--format", format];
  try {
    const { stdout } = await runEngine(engine, words, ENGINE_MS, signal);
    const gone = orphansAmong(stdout);
    if (gone.length > 0) await runEngine(engine, ["rm", "--force", ...gone], ENGINE_MS, signal);
  } catch {
    // The next start tries again.
  }
}

/** The ids of orphaned containers in an engine's list. */
export function orphansAmong(list: string): string[] {
  return list.split("\n").flatMap((line) => {
    const [, id, owner] = LINE.exec(line.trimEnd()) ?? [];
    return id !== undefined && owner !== undefined && isOwnerAnywhereGone(owner) ? [id] : [];
  });
}
