// What a server is given with --env and --header: any of it may be secret, so that it is written by name, never by value.

import { slugOfEnv } from "../../formats/driver/index.ts";
import type { DriverServer } from "../../model/index.ts";
import type { Cli } from "../connect.ts";
import type { NamedSecret, SecretNames } from "./existing-secrets.ts";

export interface Credentials {
  readonly server: DriverServer;
  /** The secrets that the driver refers to now. */
  readonly secrets: readonly NamedSecret[];
}

/** `base` is what the server is called. */
export function withCredentials(
  server: DriverServer,
  base: string,
  names: SecretNames,
  { options }: Pick<Cli, "options">,
): Credentials {
  if (server.kind === "remote") return remote(server, base, names, options.headers);
  const secrets = Object.keys(options.env).map((name) => names.take(name, name));
  const env = Object.fromEntries(secrets.map(({ as, name }) => [as, reference(name)]));
  return { server: { ...server, env }, secrets };
}

function remote(
  server: DriverServer & { kind: "remote" },
  base: string,
  names: SecretNames,
  given: Readonly<Record<string, string>>,
): Credentials {
  const take = (header: string, what: string): NamedSecret => names.take(`${base}_${what}`, header);
  const [first, ...others] = Object.keys(given);
  if (first === undefined) return { server, secrets: [] };
  const isBearer = first.toLowerCase() === "authorization" && /^bearer\s/i.test(given[first] ?? "");
  const main = take(first, isBearer ? "token" : first.replace(/^x-/i, ""));
  const env = main.name;
  const auth = isBearer ? { type: "bearer" as const, env } : { type: "header" as const, name: first, env };
  const more = others.map((name) => take(name, name.replace(/^x-/i, "")));
  const headers = Object.fromEntries(more.map(({ as, name }) => [as, reference(name)]));
  return {
    server: { ...server, auth, ...(more.length === 0 ? {} : { headers }) },
    secrets: [main, ...more],
  };
}

function reference(name: string): string {
  return `\${secrets.${name}}`;
}

/** The SECRETS.md beside the driver: that there are such secrets, and that these contracts may have them. */
export function writeSecrets(
  secrets: readonly NamedSecret[],
  driver: string,
  contracts: readonly string[],
): string {
  const grants = contracts.map((id) => `        - { tool: ${asText(id)} }`).join("\n");
  const entries = secrets.map(
    ({ name, as }) => `  - slug: ${slugOfEnv(name)}
    name: ${name}
    description: What ${driver} is given as ${as}.
    access:
      bind:
${grants}
    metadata: { bindings: { env: [${name}] } }`,
  );
  return `---\nsecrets:\n${entries.join("\n")}\n---\n\nThe values are kept elsewhere: portolan secrets set ${secrets[0]?.name ?? "NAME"}\n`;
}

/** An id such as 12 or true would be something else in YAML. */
function asText(id: string): string {
  return /^[a-z][a-z0-9]*[.-]/.test(id) ? id : JSON.stringify(id);
}

/** What somebody has to do so that the driver has them. */
export function secretNotes({ secrets }: Credentials, label: (file: string) => string): string[] {
  return secrets.flatMap(({ name, as, entry, taken }) => {
    if (entry !== undefined)
      return [`${as} is the secret ${entry.slug} of ${label(entry.origin.file)}, which grants it.`];
    const stored = `The value of ${as} is not written anywhere: portolan secrets set ${name}`;
    return taken === undefined
      ? [stored]
      : [
          stored,
          `It is called ${name} since ${taken.slug} stands in ${label(taken.origin.file)} for something else. If both are the same, grant it there, and write \${secrets.NAME} with that name here.`,
        ];
  });
}
