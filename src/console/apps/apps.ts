// Apps of tools in the console: reads the `ui://` resource of a tool, and makes the frame that shows it.

import { PortolanError } from "../../errors/index.ts";
import type { Hub } from "../../hub/index.ts";
import {
  APP_MIME_TYPE,
  appUriOf,
  isObject,
  type JsonObject,
  type ReadResourceResult,
} from "../../model/index.ts";
import { readAppHosts, type AppHosts } from "./app-policy.ts";
import { AppServer } from "./app-server.ts";
import { frameHostOf } from "./frame-host.ts";

const MAX_HTML = 8 * 1024 * 1024;

/** An app, as the page gets it. */
export interface OpenedApp {
  /** The address of the outer frame. */
  readonly url: string;
  readonly html: string;
  readonly hosts: AppHosts;
  /** False if the app draws its own border. */
  readonly hasBorder: boolean;
}

export interface AppsOptions {
  readonly hub: Pick<Hub, "member">;
  readonly read: (server: string, uri: string) => Promise<JsonObject>;
}

export class Apps {
  readonly #options: AppsOptions;
  #server: Promise<AppServer> | undefined;
  #isClosed = false;

  constructor(options: AppsOptions) {
    this.#options = options;
  }

  /**
   * The origin of the frames for a console at this Host, which begins to listen; undefined if the browser has no other name for
   * this computer, or no port is free.
   */
  async frameOrigin(host: string | undefined): Promise<string | undefined> {
    const name = nameOf(host);
    if (name === undefined || this.#isClosed) return undefined;
    // The port after the gateway's own, so that a restarted gateway has the same.
    this.#server ??= AppServer.open(Number(new URL(`http://${host}`).port || 80) + 1);
    const server = await this.#server.catch(() => undefined);
    return server === undefined ? undefined : `http://${name}:${server.port}`;
  }

  /** The app of a tool, for the console at this origin. */
  async open(alias: string, toolName: string, consoleOrigin: string): Promise<OpenedApp> {
    const name = nameOf(new URL(consoleOrigin).host);
    if (name === undefined)
      throw new PortolanError(
        "NOT_SUPPORTED",
        "the console shows apps of tools only at the host names 127.0.0.1 and localhost",
        {
          hint: "If your browser is on another computer, forward two ports to it (for example with ssh -L): the port of the gateway, and that port plus 1. Then open the console at localhost.",
        },
      );
    const server = await this.#listening();
    const { inventory } = this.#options.hub.member(alias);
    const tool = inventory.tools.find((one) => one.name === toolName);
    const uri = tool === undefined ? undefined : appUriOf(tool);
    if (uri === undefined)
      throw new PortolanError(
        "RESOURCE_NOT_FOUND",
        `the tool ${toolName.slice(0, 100)} of ${alias} has no app`,
      );
    const { html, meta } = readHtml(uri, await this.#options.read(alias, uri));
    const listed = inventory.resources.find((one) => one.uri === uri)?._meta;
    // The fields of the resource itself win over those of the list.
    const ui: JsonObject = { ...uiOf(listed), ...uiOf(meta) };
    const hosts = readAppHosts(ui.csp);
    return {
      url: `http://${name}:${server.port}${server.addFrame(hosts, consoleOrigin)}`,
      html,
      hosts,
      hasBorder: ui.prefersBorder !== false,
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#server?.then(
      (server) => server.close(),
      () => {},
    );
  }

  async #listening(): Promise<AppServer> {
    try {
      this.#server ??= AppServer.open(0);
      return await this.#server;
    } catch (error) {
      this.#server = undefined;
      throw new PortolanError(
        "NOT_SUPPORTED",
        `apps need a second port, which could not be opened: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }
}

/** The name for frames, for a Host such as `127.0.0.1:7420`. */
function nameOf(host: string | undefined): string | undefined {
  return host === undefined || !URL.canParse(`http://${host}`)
    ? undefined
    : frameHostOf(new URL(`http://${host}`).hostname);
}

function uiOf(meta: unknown): JsonObject {
  return isObject(meta) && isObject(meta.ui) ? meta.ui : {};
}

function readHtml(uri: string, result: JsonObject): { readonly html: string; readonly meta: unknown } {
  const { contents } = result as ReadResourceResult;
  const found = Array.isArray(contents) ? contents.find((one) => one.uri === uri) : undefined;
  if (found === undefined)
    throw new PortolanError(
      "PROTOCOL_ERROR",
      `the server returned no content for the app ${uri.slice(0, 200)}`,
    );
  const type = String(found.mimeType).toLowerCase().replaceAll(/[\s"]/g, "");
  if (type !== APP_MIME_TYPE)
    throw new PortolanError(
      "PROTOCOL_ERROR",
      `the resource ${uri.slice(0, 200)} is not an app: its type is ${type.slice(0, 100)}, not ${APP_MIME_TYPE}`,
    );
  const text = typeof found.text === "string" ? found.text : undefined;
  const blob = typeof found.blob === "string" ? Buffer.from(found.blob, "base64").toString("utf8") : "";
  const html = text ?? blob;
  if (html.length > MAX_HTML)
    throw new PortolanError(
      "MESSAGE_TOO_LARGE",
      `the app ${uri.slice(0, 200)} is longer than ${MAX_HTML} characters`,
      { hint: "The console does not show larger apps. Report this to the author of the server." },
    );
  return { html, meta: found._meta };
}
