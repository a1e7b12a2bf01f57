// Config state for `/metrics`: whether the gateway uses the config files as they are now, and when it last read valid ones.

import type { OpenedWorkspace } from "../../hub/index.ts";

export interface ConfigState {
  /** False while a config file has an error, or changed settings cannot be used: the earlier config is then in use. */
  readonly isValid: boolean;
  /** When a valid config was last applied, in milliseconds since 1970. */
  readonly appliedAt: number;
}

interface SettingsState {
  /** Why changed settings are not in use. */
  readonly problem: () => string | undefined;
  /** Resolves when the changed settings are in use, or have failed. */
  readonly applied: () => Promise<void>;
}

export function watchConfigState(
  { events, diagnostics }: Pick<OpenedWorkspace, "events" | "diagnostics">,
  { problem, applied }: SettingsState,
): () => ConfigState {
  let hasFileErrors = diagnostics.some(({ severity, file }) => severity === "error" && file !== undefined);
  let appliedAt = Date.now();
  const isValid = (): boolean => !hasFileErrors && problem() === undefined;
  events.on(
    (event) => {
      if (event.type === "mcp.config_reloaded") hasFileErrors = event.problems.length > 0;
      else if (event.type !== "gateway.reloaded") return;
      // The settings of a file are applied after its servers have changed.
      void applied().then(() => {
        if (isValid()) appliedAt = Date.now();
      });
    },
    { calls: false },
  );
  return () => ({ isValid: isValid(), appliedAt });
}
