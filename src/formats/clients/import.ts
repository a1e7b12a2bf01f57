// Everything that the clients on this computer declare, read at once.

import { readFile, stat } from "node:fs/promises";
import type { Diagnostic } from "../../errors/index.ts";
import type { Computer } from "./known/clients.ts";
import { type FoundClientFile, findClientFiles } from "./known/find.ts";
import { parseClientFile } from "./parse.ts";
import type { ClientContext, ClientId, ClientServer } from "./types.ts";

export interface ImportedFile extends FoundClientFile {
  readonly servers: readonly ClientServer[];
  readonly diagnostics: readonly Diagnostic[];
}

export interface ImportOptions extends Partial<Computer>, Pick<ClientContext, "projects"> {
  /** Only these clients. */
  readonly clients?: readonly ClientId[];
  /** These files instead of the usual places. */
  readonly files?: readonly FoundClientFile[];
}

/** Claude Code keeps its history in the file too, so it can be large. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Never throws: a file that cannot be read has a diagnostic and no servers. Two files may declare the same alias. */
export async function importClients(options: ImportOptions = {}): Promise<ImportedFile[]> {
  const { clients, files, projects, ...computer } = options;
  const found = files ?? (await findClientFiles(computer));
  const wanted = found.filter(({ client }) => clients === undefined || clients.includes(client));
  return Promise.all(
    wanted.map(async (file) => ({ ...file, ...(await readClientFile(file, { ...computer, projects })) })),
  );
}

async function readClientFile(
  { client, file }: FoundClientFile,
  context: ClientContext,
): Promise<Pick<ImportedFile, "servers" | "diagnostics">> {
  const fail = (message: string, hint: string): Pick<ImportedFile, "servers" | "diagnostics"> => ({
    servers: [],
    diagnostics: [{ code: "FILE_FAILED", severity: "error", message, file, hint }],
  });
  try {
    // Looked at first: opening a pipe would wait for its writer.
    const { size, isRegular } = await stat(file).then((found) => ({
      size: found.size,
      isRegular: found.isFile(),
    }));
    if (!isRegular) return fail("it is not a regular file", "Check the file at this path.");
    if (size > MAX_BYTES) return fail(`it has ${size} bytes, more than ${MAX_BYTES}`, "Check its content.");
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await readFile(file));
    const { servers = [], diagnostics = [] } = parseClientFile(text, file, client, context) ?? {};
    return { servers, diagnostics };
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA")
      return fail("it is not UTF-8 text", "Save it as UTF-8.");
    return fail(
      `it cannot be read (${code ?? "unknown reason"})`,
      "Check that the file exists and that you have permission to read it.",
    );
  }
}
