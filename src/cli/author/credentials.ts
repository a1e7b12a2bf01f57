// Credentials of a server: the values of --env and --header, and likely secrets in its arguments and URL.
// The driver's files refer to them by name and never contain a value.

import { slugOfEnv } from "../../formats/driver/index.ts";
import type { DriverServer } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import type { NamedSecret, SecretNames } from "./existing-secrets.ts";
import { type Refer, urlWithoutSecrets, withoutSecrets } from "./secret-arguments.ts";

export interface Credentials {
  readonly server: DriverServer;
  /** The secrets that the driver refers to now. */
  readonly secrets: readonly NamedSecret[];
  /** Their values, which no file may hold. */
  readonly values: readonly string[];
}

/** `base` is what the server is called. */
export function withCredentials(
  server: DriverServer,
  base: string,
  names: SecretNames,
  { options }: Pick<Cli, "options">,
): Credentials {
  const found = new Map<string, NamedSecret>();
  const refer: Refer = (what, value) => {
    const secret = found.get(value) ?? names.take(nameFor(what, base), what);
    found.set(value, secret);
    return reference(secret.name);
  };
  if (server.kind === "remote") {
    const given = remote(server, base, names, options.headers);
    const url = urlWithoutSecrets(server.url, refer);
    return {
      server: { ...given.server, url },
      secrets: [...given.secrets, ...found.values()],
      values: [...Object.values(options.headers), ...found.keys()],
    };
  }
  const secrets = Object.keys(options.env).map((name) => names.take(name, name));
  const env = Object.fromEntries(secrets.map(({ as, name }) => [as, reference(name)]));
  const args = withoutSecrets(server.args, refer);
  return {
    server: { ...server, args, env },
    secrets: [...secrets, ...found.values()],
    values: [...Object.values(options.env), ...found.keys()],
  };
}

/** A variable keeps its name; what a flag is called says little without the server. */
function nameFor(what: string, base: string): string {
  const plain = what.replace(/^-+/, "");
  const isOwn = /^[A-Z][A-Z0-9_]+$/.test(plain) || plain.toLowerCase().includes(base.toLowerCase());
  return isOwn ? plain : `${base}_${plain}`;
}

function remote(
  server: DriverServer & { kind: "remote" },
  base: string,
  names: SecretNames,
  given: Readonly<Record<string, string>>,
): { readonly server: DriverServer & { kind: "remote" }; readonly secrets: readonly NamedSecret[] } {
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
    const stored = `The value of ${as} is a secret and not written anywhere: portolan secrets set ${name}`;
    return taken === undefined
      ? [stored]
      : [
          stored,
          `It is called ${name} since ${taken.slug} stands in ${label(taken.origin.file)} for something else. If both are the same, grant it there, and write \${secrets.NAME} with that name here.`,
        ];
  });
}
