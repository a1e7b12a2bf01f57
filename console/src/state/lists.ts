// Lists of tools, prompts and resources: loaded when a page needs them, and again when the gateway reports a change.

import { effect, signal, type Signal } from "@preact/signals";
import { ApiError, call, mcp } from "../api.ts";
import type { Prompt, Resource, ResourceTemplate, Tool } from "../types.ts";
import { listVersion } from "./live.ts";

export interface Named {
  /** The alias of the server, and the server's own name of the tool or prompt. */
  readonly server: string;
  readonly own: string;
}

export type NamedTool = Tool & Named;
export type NamedPrompt = Prompt & Named;

export interface Loaded<T> {
  readonly items: readonly T[];
  readonly error?: ApiError;
  readonly isLoading: boolean;
}

interface Names {
  readonly tools: readonly (readonly [string, { server: string; name: string }])[];
  readonly prompts: readonly (readonly [string, { server: string; name: string }])[];
}

const EMPTY: Loaded<never> = { items: [], isLoading: true };

export const tools: Signal<Loaded<NamedTool>> = signal(EMPTY);
export const prompts: Signal<Loaded<NamedPrompt>> = signal(EMPTY);
export const resources: Signal<Loaded<Resource>> = signal(EMPTY);
export const templates: Signal<Loaded<ResourceTemplate>> = signal(EMPTY);

/** Begins to keep a list current. Later calls do nothing. */
export const watchTools = once(() =>
  keep(tools, async () => {
    const [{ tools: found }, names] = await Promise.all([mcp<{ tools: Tool[] }>("tools/list"), readNames()]);
    return withNames(found, names.tools);
  }),
);

export const watchPrompts = once(() =>
  keep(prompts, async () => {
    const [{ prompts: found }, names] = await Promise.all([
      mcp<{ prompts: Prompt[] }>("prompts/list"),
      readNames(),
    ]);
    return withNames(found, names.prompts);
  }),
);

export const watchResources = once(() => {
  keep(resources, async () => (await mcp<{ resources: Resource[] }>("resources/list")).resources);
  keep(
    templates,
    async () =>
      (await mcp<{ resourceTemplates: ResourceTemplate[] }>("resources/templates/list")).resourceTemplates,
  );
});

function readNames(): Promise<Names> {
  return call<Names>("snapshot");
}

function withNames<T extends { readonly name: string }>(
  found: readonly T[],
  names: Names["tools"],
): (T & Named)[] {
  const owners = new Map(names);
  return found.map((one) => {
    const owner = owners.get(one.name);
    return { ...one, server: owner?.server ?? "", own: owner?.name ?? one.name };
  });
}

function keep<T>(list: Signal<Loaded<T>>, load: () => Promise<readonly T[]>): void {
  let newest = 0;
  effect(() => {
    // Read, so that a change of the lists loads them again.
    if (listVersion.value < 0) return;
    const own = (newest += 1);
    load().then(
      (items) => {
        if (own === newest) list.value = { items, isLoading: false };
      },
      (error: unknown) => {
        if (own === newest && error instanceof ApiError)
          list.value = { items: list.value.items, error, isLoading: false };
      },
    );
  });
}

function once(begin: () => void): () => void {
  let begun = false;
  return () => {
    if (begun) return;
    begun = true;
    begin();
  };
}
