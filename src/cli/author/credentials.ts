// What a server is given that may be secret: written into the driver by name, never by value.

import { slugOfEnv } from "../../formats/driver/index.ts";
import type { DriverServer } from "../../model/index.ts";
import type { Cli } from "../connect.ts";

export interface Credentials {
  readonly server: DriverServer;
  /** Names of secrets that the driver refers to now. */
  readonly secrets: readonly string[];
}

const SECRET = /(?:TOKEN|KEY|SECRET|PASSW(?:OR)?D|PASSPHRASE|CREDENTIALS?|AUTH|PAT|DSN|_URL)$/i;

/** `given` are the words of --env, which tell whether a value was written out. */
export function withCredentials(
  server: DriverServer,
  base: string,
  given: readonly string[],
  { options }: Cli,
): Credentials {
  if (server.kind === "remote") return remote(server, base, options.headers);
  const secrets: string[] = [];
  const env = Object.fromEntries(
    Object.entries(options.env).map(([name, value]) => {
      if (!given.includes(name) && !SECRET.test(name)) return [name, value];
      secrets.push(name);
      return [name, `\${secrets.${name}}`];
    }),
  );
  return { server: { ...server, env }, secrets };
}

function remote(
  server: DriverServer & { kind: "remote" },
  base: string,
  given: Readonly<Record<string, string>>,
): Credentials {
  const own = (what: string): string =>
    `${base}_${what}`
      .toUpperCase()
      .replace(/[^A-Z0-9]+/g, "_")
      .replace(/^(?=[\d_])/, "MCP");
  const [first, ...others] = Object.keys(given);
  if (first === undefined) return { server, secrets: [] };
  const isBearer = first.toLowerCase() === "authorization" && /^bearer\s/i.test(given[first] ?? "");
  const env = isBearer ? own("token") : own(first.replace(/^x-/i, ""));
  const auth = isBearer ? { type: "bearer" as const, env } : { type: "header" as const, name: first, env };
  const headers = Object.fromEntries(
    others.map((name) => [name, `\${secrets.${own(name.replace(/^x-/i, ""))}}`]),
  );
  return {
    server: { ...server, auth, ...(others.length === 0 ? {} : { headers }) },
    secrets: [env, ...others.map((name) => own(name.replace(/^x-/i, "")))],
  };
}

/** The SECRETS.md beside the driver: that there are such secrets, and that these contracts may have them. */
export function writeSecrets(
  secrets: readonly string[],
  driver: string,
  contracts: readonly string[],
): string {
  const grants = contracts.map((id) => `        - { tool: ${id} }`).join("\n");
  const entries = secrets.map(
    (name) => `  - slug: ${slugOfEnv(name)}
    name: ${name}
    description: What ${driver} is given as ${name}.
    access:
      bind:
${grants}
    metadata: { bindings: { env: [${name}] } }`,
  );
  return `---\nsecrets:\n${entries.join("\n")}\n---\n\nThe values are kept elsewhere: portolan secrets set ${secrets[0] ?? "NAME"}\n`;
}
