// Fields of an entry, with all spellings that clients and people use.

export type Field =
  | "type"
  | "command"
  | "args"
  | "env"
  | "envVars"
  | "envFile"
  | "cwd"
  | "url"
  | "headers"
  | "envHeaders"
  | "bearerTokenVariable"
  | "bearerToken"
  | "enabled"
  | "disabled"
  | "timeout"
  | "startSeconds"
  | "startMilliseconds"
  | "requestSeconds"
  | "allowTools"
  | "blockTools"
  | "sandboxEnabled"
  | "sandbox";

/** Spellings in order of preference; when an entry has several of a field, the first of these counts. */
const SPELLINGS: Readonly<Record<Field, readonly string[]>> = {
  type: ["type", "transport", "transportType"],
  command: ["command", "executable"],
  args: ["args", "arguments"],
  env: ["env", "environment"],
  envVars: ["env_vars"],
  envFile: ["envFile"],
  cwd: ["cwd", "workingDirectory"],
  url: ["httpUrl", "url", "serverUrl", "baseUrl"],
  headers: ["headers", "http_headers"],
  envHeaders: ["env_http_headers"],
  bearerTokenVariable: ["bearer_token_env_var", "bearerTokenEnv"],
  bearerToken: ["bearer_token"],
  enabled: ["enabled"],
  disabled: ["disabled"],
  timeout: ["timeout"],
  startSeconds: ["startup_timeout_sec"],
  startMilliseconds: ["startup_timeout_ms"],
  requestSeconds: ["tool_timeout_sec"],
  allowTools: ["enabled_tools", "includeTools", "allowedTools"],
  blockTools: ["disabled_tools", "excludeTools", "blockedTools"],
  sandboxEnabled: ["sandboxEnabled"],
  sandbox: ["sandbox"],
};

/** Upper and lower case, `_`, `-` and stray blanks do not count: people write all of them. */
function fold(key: string): string {
  return key.toLowerCase().replace(/[-_\s]/g, "");
}

const FIELD_OF: ReadonlyMap<string, { field: Field; rank: number }> = new Map(
  (Object.entries(SPELLINGS) as [Field, readonly string[]][]).flatMap(([field, spellings]) =>
    spellings.map((spelling, rank) => [fold(spelling), { field, rank }] as const),
  ),
);

export const KNOWN_KEYS: readonly string[] = Object.values(SPELLINGS).flat();

export function fieldOf(key: string): Field | undefined {
  return FIELD_OF.get(fold(key))?.field;
}

export interface FoundFields {
  /** The key that counts for a field. */
  readonly keys: ReadonlyMap<Field, string>;
  /** Keys that say again what another key says, and which one that is. */
  readonly repeated: readonly { readonly key: string; readonly counts: string }[];
  readonly unknown: readonly string[];
}

export function findFields(entry: Readonly<Record<string, unknown>>): FoundFields {
  const best = new Map<Field, { key: string; rank: number }>();
  const unknown: string[] = [];
  const known: { key: string; field: Field }[] = [];
  for (const key of Object.keys(entry)) {
    const found = FIELD_OF.get(fold(key));
    if (found === undefined) {
      unknown.push(key);
      continue;
    }
    known.push({ key, field: found.field });
    const before = best.get(found.field);
    if (before === undefined || found.rank < before.rank) best.set(found.field, { key, rank: found.rank });
  }
  const repeated = known.flatMap(({ key, field }) => {
    const counts = best.get(field)?.key ?? key;
    return key === counts ? [] : [{ key, counts }];
  });
  return { keys: new Map([...best].map(([field, { key }]) => [field, key])), repeated, unknown };
}
