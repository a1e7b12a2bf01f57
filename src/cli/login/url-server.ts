// Servers that are reached by a URL, and may be behind a login.

import type { ServerConfig, UrlEndpoint } from "../../model/index.ts";

export interface UrlServer {
  readonly alias: string;
  readonly endpoint: UrlEndpoint;
  /** The config file; undefined for a URL of the command line. */
  readonly file?: string;
  /** The `.env` file of the workspace, to which the config may refer. */
  readonly envFile?: string;
}

/** The server, if it has a URL and not a program of this machine. */
export function toUrlServer({ alias, endpoint, origin }: ServerConfig): UrlServer | undefined {
  return "url" in endpoint && endpoint.program === undefined
    ? { alias, endpoint, file: origin.file }
    : undefined;
}

/** True if the config has a credential, so that no login is used. */
export function hasCredential({ endpoint: { headers = {} } }: UrlServer): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
}
