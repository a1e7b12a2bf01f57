// Public exports of the OpenAPI converter: a description of an HTTP API in, an mcpfile out.

export { convertOpenApi } from "./convert.ts";
export type { ConvertedApi, ConvertedFile, ConvertOptions, SkippedOperation } from "./types.ts";
