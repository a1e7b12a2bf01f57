// Public surface of the upstream room.

export type { ConnectTarget } from "./negotiation/connect.ts";
export { Emitter } from "./emitter.ts";
export { createEraMemory, type EraMemory } from "./negotiation/era-memory.ts";
export { listAll, type WholeList } from "./session/lists.ts";
export {
  NO_STATS,
  type ServerRequestHandler,
  type Call,
  type Caller,
  type Description,
  type ServerRequest,
  type Upstream,
  type UpstreamEvents,
  type UpstreamState,
  type UpstreamStats,
} from "./upstream.ts";
export { canAnswer } from "./server-requests/answers.ts";
export { reportsFailedAccess } from "./failure-hints/failed-access.ts";
export { createLaunchDiagnostics, type LaunchDiagnostics } from "./failure-hints/launch-diagnostics.ts";
export type { PathDenial } from "./failure-hints/refused-paths.ts";
export {
  deniedTargets,
  type SandboxDenial,
  sandboxDenials,
  withoutDenialText,
} from "./failure-hints/result-denials.ts";
export { openSessionUpstream } from "./session/session-upstream.ts";
export { mayRepeatElsewhere, neverSentError } from "./supervision/faults.ts";
export { type InstanceState, isUnreachable, type Policy } from "./supervision/instance.ts";
export type { LifecycleEvent, SessionHandle } from "./supervision/instance-runner.ts";
export { SessionSubscriptions } from "./supervision/session-subscriptions.ts";
export { SupervisedUpstream, type SupervisionOptions } from "./supervision/supervised-upstream.ts";
export { openUpstream, type UpstreamOptions } from "./open-upstream.ts";
export { cancelledRequest, HARD_LIMIT_HINT, timerMs, within } from "./waiting.ts";
export { type ParamHeader, paramHeaders } from "./session/param-headers.ts";
export { LineReader } from "./transports/lines.ts";
export type { MemoryServer } from "./transports/memory.ts";
