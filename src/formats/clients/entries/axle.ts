// Items of seed 002's `services.mcp` list.

import type { Endpoint } from "../../../model/index.ts";
import { compact, type EntryWriter } from "./entry-writer.ts";

export function toAxleEntry(
  writer: EntryWriter,
  endpoint: Endpoint,
): Readonly<Record<string, unknown>> | undefined {
  if (endpoint.transport === "stdio")
    return compact({
      transport: "stdio",
      command: writer.argument(endpoint.command),
      args: writer.arguments(endpoint.args),
      env: writer.map(endpoint.env),
    });
  if (endpoint.transport === "http")
    return compact({
      transport: "http",
      url: writer.value(endpoint.url),
      headers: writer.map(endpoint.headers),
    });
  writer.note(`has no ${endpoint.transport} servers in its file: left out`);
  return undefined;
}
