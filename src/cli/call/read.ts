// `portolan read`: reads one resource.

import { isPortolanError, PortolanError } from "../../errors/index.ts";
import type { ReadResourceResult } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { type ResolvedTarget, resolveUri } from "../target/resolve.ts";
import { withTarget } from "../target/session.ts";
import { openSaver, renderResource, type ResultOptions, showResult } from "./render.ts";

export async function read(cli: Cli, words: Words, options: ResultOptions): Promise<number> {
  const missing = new PortolanError("USAGE", "No resource is given.", {
    hint: "portolan read <uri>, portolan read <server> <uri> or portolan read <target> <uri>; portolan list shows the URIs.",
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
    throw new PortolanError("RESOURCE_NOT_FOUND", `No server here is known to have ${shown}.`, {
      hint: /^(?:https?|wss?):/i.test(uri)
        ? `To use it as a server: portolan read ${shown} <uri>`
        : "portolan list shows the URIs; portolan read <server> <uri> asks one server, whatever it lists.",
    });
  }
}
