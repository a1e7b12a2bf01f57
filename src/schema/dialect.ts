// Dialect of a schema, from its `$schema`.

/** Names of the engine. Draft-04 and draft-06 are rewritten as draft-07. */
export type Dialect = "4" | "7" | "2019-09" | "2020-12";

/** The default of MCP is 2020-12, which is also used for unknown dialects. */
export function dialectOf(schema: unknown): Dialect {
  const named =
    typeof schema === "object" && schema !== null ? (schema as { $schema?: unknown }).$schema : undefined;
  if (typeof named !== "string") return "2020-12";
  const id =
    /^https?:\/\/json-schema\.org\/(draft-0[467]|draft\/2019-09|draft\/2020-12)\/(?:hyper-)?schema#?$/.exec(
      named,
    )?.[1];
  if (id === "draft-04") return "4";
  if (id === "draft-06" || id === "draft-07") return "7";
  return id === "draft/2019-09" ? "2019-09" : "2020-12";
}
