// MCP Apps: the names of the extension, and the fields of a tool that belong to it.

import { isObject, type JsonObject } from "../json/json.ts";

export const APPS_EXTENSION = "io.modelcontextprotocol/ui";
/** The type of a resource that is an app. */
export const APP_MIME_TYPE = "text/html;profile=mcp-app";

/** The capability of a client that shows apps. */
export const APPS_CAPABILITY: JsonObject = {
  extensions: { [APPS_EXTENSION]: { mimeTypes: [APP_MIME_TYPE] } },
};

/** A tool of a list, as far as apps are concerned. */
interface ListedTool {
  readonly name: string;
  readonly _meta?: unknown;
}

/** True if a client with these capabilities shows apps. */
export function showsApps({ extensions }: JsonObject): boolean {
  return isObject(extensions) && isObject(extensions[APPS_EXTENSION]);
}

/** The resource that shows the results of the tool; undefined if it has no app. */
export function appUriOf({ _meta: meta }: ListedTool): string | undefined {
  if (!isObject(meta)) return undefined;
  // The flat key is the older form.
  const uri = isObject(meta.ui) ? meta.ui.resourceUri : meta["ui/resourceUri"];
  return typeof uri === "string" && uri.startsWith("ui://") ? uri : undefined;
}

/** Models and apps may call a tool that declares no visibility. */
export function isVisibleTo(who: "model" | "app", { _meta: meta }: ListedTool): boolean {
  const visibility = isObject(meta) && isObject(meta.ui) ? meta.ui.visibility : undefined;
  return !Array.isArray(visibility) || visibility.includes(who);
}
