// Plain secrets of a server that `portolan add` writes: the question where they go, and the warning about those in the file.

import { type Diagnostic, PortolanError } from "../../errors/index.ts";
import { parseClientFile } from "../../formats/clients/index.ts";
import type { ServerFields } from "../../formats/workspace/index.ts";
import type { Cli } from "../context.ts";
import { secretName, secretPlacer, type StoredSecrets } from "../import/secrets.ts";
import { answersRequests } from "../input/handlers.ts";

export interface PlacedSecrets {
  /** The fields with references in place of the secrets that are stored. */
  readonly fields: ServerFields;
  /** Writes the values into the store. */
  readonly store?: () => Promise<StoredSecrets>;
}

/** Asks at a terminal where the secrets go. Elsewhere, the fields stay as they are, with a warning. */
export async function placeSecretsOf(cli: Cli, alias: string, fields: ServerFields): Promise<PlacedSecrets> {
  if (!answersRequests(cli, false)) return { fields };
  const { command = "", args, env, url, headers } = fields;
  const endpoint =
    url === undefined
      ? ({ transport: "stdio", command, args, env } as const)
      : ({ transport: "http", url, headers } as const);
  const origin = { file: cli.io.cwd, line: 1, column: 1, format: "command line" } as const;
  const server = { alias, name: alias, endpoint, origin, enabled: true };
  const placeSecrets = secretPlacer(cli, {}, { isOfCommand: true });
  const { written, store } = await placeSecrets([{ alias, server }]);
  const result = written({ alias, server });
  if (typeof result === "string")
    throw new PortolanError("CANCELLED", `${alias} was not added. Nothing was changed.`, { hint: "" });
  const { endpoint: changed } = result;
  const values =
    changed.transport === "stdio"
      ? { args: changed.args, env: changed.env }
      : { url: changed.url, headers: changed.headers };
  // A field that the server does not have stays absent.
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  return { fields: { ...fields, ...given }, store };
}

/** Finds literal secrets, by the same rules as in the config files of other clients. */
export function findSecrets(
  alias: string,
  { npm, command = npm, args, env, url, headers }: ServerFields,
): Diagnostic[] {
  const entry = { command, args, env, url, headers };
  const text = JSON.stringify({ mcpServers: { [alias]: entry } });
  const found = parseClientFile(text, "mcp.json", "cursor")?.diagnostics ?? [];
  return found.flatMap(({ message, literalSecret: name, path }) => {
    if (name === undefined) return [];
    const reference = /^[A-Z][A-Z0-9_]*$/.test(name) ? name : secretName(alias, name);
    return [
      {
        code: "FILE_INVALID" as const,
        severity: "warning" as const,
        server: alias,
        message,
        literalSecret: name,
        path: path?.replace(/^\/mcpServers/, "/servers"),
        hint: `In portolan.yaml, write \${${reference}} in place of the value, and store the value: portolan secrets set ${reference}`,
      },
    ];
  });
}
