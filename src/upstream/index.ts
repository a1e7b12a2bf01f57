// Public face of the upstream room.

export type { Reach } from "./connect.ts";
export { Emitter } from "./emitter.ts";
export { createEraMemory, type EraMemory } from "./era-memory.ts";
export { listAll, type WholeList } from "./lists.ts";
export type {
  Ask,
  Call,
  Caller,
  Description,
  Question,
  Upstream,
  UpstreamEvents,
  UpstreamState,
  UpstreamStats,
} from "./types.ts";
export { canAnswer } from "./questions.ts";
export { createLaunchReports, type LaunchReports } from "./launch-reports.ts";
export { openSessionUpstream } from "./session-upstream.ts";
export { neverSentError } from "./supervision/faults.ts";
export type { InstanceState, Policy } from "./supervision/instance.ts";
export {
  type Lease,
  type LifecycleEvent,
  SupervisedUpstream,
  type SupervisionOptions,
} from "./supervision/supervised-upstream.ts";
export { openUpstream, type UpstreamOptions } from "./upstream.ts";
export { timerMs, within } from "./waiting.ts";
export { type ParamHeader, paramHeaders } from "./param-headers.ts";
export { retryAfterMs } from "./wires/http-rules.ts";
export { LineReader } from "./wires/lines.ts";
export type { MemoryServer } from "./wires/memory.ts";
