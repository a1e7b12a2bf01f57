// The options of `openWorkspace()`, `createBridge()` and of methods of a workspace, as tables of their kinds.

import { HANDLERS_KIND, REQUEST_OPTIONS, type RequestOptions } from "../../client/index.ts";
import { OPTION_KINDS, type OptionTable } from "../../errors/index.ts";
import type { WorkspaceOptions } from "./workspace-options.ts";

const { callback, either, flag, map, milliseconds, object, oneOf, signal, text, texts } = OPTION_KINDS;

const LEAVE_OUT_HINT = 'Pass a function: leaveOut: ({ alias }) => alias === "demo".';

export const WORKSPACE_OPTIONS: OptionTable<WorkspaceOptions> = {
  only: texts,
  leaveOut: (value, path) => callback(value, path).map((problem) => ({ ...problem, hint: LEAVE_OUT_HINT })),
  signal,
  watchFiles: flag,
  waitMs: milliseconds,
  waitFor: oneOf("most", "all"),
  onEvent: callback,
  callEvents: flag,
  secrets: callback,
  envFile: either(oneOf(true), text),
  handlers: HANDLERS_KIND,
  clientInfo: object,
  snapshots: either(oneOf(false), text),
  onDiagnostic: callback,
  sandbox: map(oneOf("enforce", "warn", "off")),
  driverCode: flag,
};

export const READ_OPTIONS: OptionTable<RequestOptions & { server?: string }> = {
  ...REQUEST_OPTIONS,
  server: text,
};

export const HEALTH_OPTIONS: OptionTable<{ servers?: readonly string[] }> = { servers: texts };
