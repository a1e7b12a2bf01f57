// The entries of a client's file that the client itself reads, each with its place and the server that it declares.

import { openDocument } from "../document/edit/index.ts";
import { createLocator } from "../document/index.ts";
import { readEntries } from "./entries/read-servers.ts";
import { readContext } from "./known/context.ts";
import { CLIENT_FORMATS } from "./known/detect.ts";
import type { EntryPlace } from "./replace.ts";
import type { ClientContext, ClientId, ClientServer } from "./types.ts";

export interface ClientEntry {
  readonly place: EntryPlace;
  /** Undefined if the entry has an error. */
  readonly server: ClientServer | undefined;
}

/** Servers of Claude Code for another project than the one of `context` are left out. Never throws. */
export function listEntries(
  text: string,
  file: string,
  client: ClientId,
  context: ClientContext = {},
): readonly ClientEntry[] {
  const document = openDocument(CLIENT_FORMATS[client], text);
  const position = createLocator(document.text);
  return readEntries(document, client, readContext(file, context), () => undefined)
    .filter(({ container }) => container.own)
    .map(({ container: { path: container, project }, path, name, alias, server }) => ({
      place: { container, name },
      server:
        server === undefined
          ? undefined
          : {
              ...{ alias, name, project },
              origin: { file, ...position(document.offsetOf(path)), format: client },
              ...server,
            },
    }));
}
