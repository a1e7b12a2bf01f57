// `portolan read`: reads one resource.

import { isPortolanError, PortolanError } from "../../errors/index.ts";
import type { ReadResourceResult } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { type ResolvedTarget, resolveUri } from "../target/resolve.ts";
import { withTarget } from "../target/session.ts";
import { openSaver, renderResource, type ResultOptions, showResult } from "./render.ts";

export async function read(cli: Cli, words: Words, options: ResultOptions): Promise<number> {
  const missing = new PortolanError("USAGE", "No resource was given.", {
    hint: "portolan read <uri>, portolan read <server> <uri> or portolan read <target> <uri>. To see the URIs of a server: portolan list <server>",
  });
  const target = await resolveUri(words, cli, missing);
  const [uri, extra] = target.rest;
  if (uri === undefined) throw missing;
  if (extra !== undefined)
    throw new PortolanError("USAGE", `read takes one URI; unexpected argument ${JSON.stringify(extra)}.`);
  const saver = await openSaver(cli, options);
  const result = await fetchResource(cli, target, uri);
  const { out } = options;
  await showResult(result, renderResource, cli, saver, { out, saveText: out !== undefined });
  return 0;
}

/** In a workspace, first starts only the servers without stored lists, then all of them. */
async function fetchResource(cli: Cli, target: ResolvedTarget, uri: string): Promise<ReadResourceResult> {
  const attempt = (start?: "eager" | "lazy"): Promise<ReadResourceResult> =>
    withTarget(
      cli,
      target,
      ({ connection, request }) => connection.readResource(uri, request(`reading ${uri}`)),
      {
        start,
      },
    );
  if (target.kind !== "workspace") return attempt();
  const isUnknown = (thrown: unknown): thrown is PortolanError =>
    isPortolanError(thrown) &&
    thrown.code === "RESOURCE_NOT_FOUND" &&
    thrown.data["uri"] === uri &&
    // A server that was asked has the better message.
    thrown.server === undefined;
  try {
    // Portolan stores no lists of other clients' servers.
    return await attempt(target.source.kind === "clients" ? "eager" : "lazy").catch((thrown: unknown) => {
      if (isUnknown(thrown) && target.source.kind === "workspace") return attempt("eager");
      throw thrown;
    });
  } catch (thrown) {
    if (!isUnknown(thrown)) throw thrown;
    // The query and fragment of a URI may be secret.
    const shown = uri.replace(/[?#][^]*$/, "").slice(0, 200);
    throw new PortolanError("RESOURCE_NOT_FOUND", `No server lists the resource ${shown}.`, {
      hint: /^(?:https?|wss?):/i.test(uri)
        ? `If this is the URL of a server, add the URI of the resource: portolan read ${shown} <uri>`
        : "To see the URIs of a server: portolan list <server>. To read a URI that no server lists: portolan read <server> <uri>",
    });
  }
}
