// Result of an API method that a page shows: loaded with the page, and again on request, when lists change, or when `seen` does.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../api.ts";
import { listVersion } from "./live.ts";

export interface LoadedValue<T> {
  readonly value: Signal<T | undefined>;
  readonly error: Signal<unknown>;
  readonly load: () => Promise<void>;
}

export function useLoaded<T>(method: string, params: object = {}, seen?: unknown): LoadedValue<T> {
  const value = useSignal<T | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const load = async (): Promise<void> => {
    try {
      value.value = await call<T>(method, params);
      error.value = undefined;
    } catch (thrown) {
      error.value = thrown;
    }
  };
  const version = listVersion.value;
  useEffect(() => void load(), [method, version, seen]);
  return { value, error, load };
}
