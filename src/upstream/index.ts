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
export { openUpstream, type UpstreamOptions } from "./upstream.ts";
export { pause, timerMs, within } from "./waiting.ts";
export { type ParamHeader, paramHeaders } from "./param-headers.ts";
export { retryAfterMs } from "./wires/http-rules.ts";
export { LineReader } from "./wires/lines.ts";
export type { MemoryServer } from "./wires/memory.ts";
