// `portolan read`: one resource.

import { isPortolanError, PortolanError } from "../../errors/index.ts";
import type { ReadResourceResult } from "../../model/index.ts";
import { type Aim, aimAtUri } from "../aim.ts";
import type { Cli, Words } from "../connect.ts";
import { renderResource } from "../render.ts";
import { createSaver } from "../save-file.ts";
import { withAim } from "../workspace-session.ts";

export interface ReadOptions {
  out?: string;
  force?: boolean;
}

export async function read(cli: Cli, words: Words, options: ReadOptions): Promise<number> {
  const missing = new PortolanError("USAGE", "No resource is given.", {
    hint: "portolan read <uri>, portolan read <server> <uri> or portolan read <target> <uri>; portolan list shows the URIs.",
  });
  const aim = await aimAtUri(words, cli, missing);
  const [uri, extra] = aim.rest;
  if (uri === undefined) throw missing;
  if (extra !== undefined)
    throw new PortolanError("USAGE", `read takes one URI; ${JSON.stringify(extra)} is too much.`);
  const saver = await createSaver({ out: options.out, force: options.force, cwd: cli.io.cwd });
  const result = await fetchResource(cli, aim, uri);
  const { output } = cli;
  if (output.form === "json") output.json(result);
  if (output.form === "text" || options.out !== undefined) {
    const text = await renderResource(result, {
      colors: output.colors,
      save: saver.save,
      saveText: options.out !== undefined,
    });
    if (output.form === "text") output.print(text);
    else for (const path of saver.saved) output.note(`saved ${path}`);
  }
  return 0;
}

/** Of a workspace, first only the servers are started that are not known from before; then all of them. */
async function fetchResource(cli: Cli, aim: Aim, uri: string): Promise<ReadResourceResult> {
  const attempt = (start?: "eager" | "lazy"): Promise<ReadResourceResult> =>
    withAim(cli, aim, ({ connection, request }) => connection.readResource(uri, request(`reading ${uri}`)), {
      start,
    });
  if (aim.kind !== "workspace") return attempt();
  const isUnknown = (thrown: unknown): thrown is PortolanError =>
    isPortolanError(thrown) && thrown.code === "RESOURCE_NOT_FOUND" && thrown.data["uri"] === uri;
  try {
    // Of other clients' servers nothing is known from before.
    return await attempt(aim.source.kind === "clients" ? "eager" : "lazy").catch((thrown: unknown) => {
      if (isUnknown(thrown) && aim.source.kind === "workspace") return attempt("eager");
      throw thrown;
    });
  } catch (thrown) {
    if (!isUnknown(thrown)) throw thrown;
    // What follows the path may be secret.
    const shown = uri.replace(/[?#][^]*$/, "").slice(0, 200);
    throw new PortolanError("RESOURCE_NOT_FOUND", `No server here is known to have ${shown}.`, {
      hint: /^(?:https?|wss?):/i.test(uri)
        ? `To use it as a server: portolan read ${shown} <uri>`
        : "portolan list shows the URIs; with portolan read <server> <uri> one server is asked, whatever it lists.",
    });
  }
}
