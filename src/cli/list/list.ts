// `portolan list`: lists the tools, resources and prompts of a server.

import { type Diagnostic, isPortolanError, PortolanError } from "../../errors/index.ts";
import type { Cli, Words } from "../context.ts";
import { refuseBothSides } from "../options/usage-error.ts";
import { type ResolvedTarget, resolveServer } from "../target/resolve.ts";
import { withTarget } from "../target/session.ts";
import { contractsOf, findContract } from "../workspace/contracts.ts";
import { listWorkspace } from "./list-workspace.ts";
import { describeListing, type Listing, type ListOptions } from "./view.ts";

const NOTHING = { resources: [], resourceTemplates: [], prompts: [] };

export async function list(cli: Cli, words: Words, options: ListOptions): Promise<number> {
  refuseBothSides(words.words, words.server, "target");
  const target = await resolveServer(words, cli);
  if (target.kind === "workspace") return listWorkspace(cli, target.source, options);
  const contract = target.kind === "server" && target.rest.length === 1 ? contractOf(target) : undefined;
  if (target.rest.length > 0 && contract === undefined) {
    throw new PortolanError(
      "USAGE",
      `list takes one target; ${JSON.stringify(target.rest[0])} is too much.`,
      {
        hint: "Put quotes around a command, or write it after --.",
      },
    );
  }
  return withTarget(
    cli,
    target,
    async ({ connection, connectMs, request }) => {
      const started = performance.now();
      const failed: Diagnostic[] = [];
      const wanted = request("listing");
      // A server that fails to list its resources or prompts still has tools to show.
      const lesser = async <T>(what: string, items: Promise<T[]>): Promise<T[]> =>
        items.catch((thrown: unknown) => {
          if (!isPortolanError(thrown) || wanted.signal.aborted) throw thrown;
          failed.push({
            code: thrown.code,
            severity: "warning",
            message: `the ${what} cannot be listed: ${thrown.message}`,
          });
          return [];
        });
      const [tools, resources, resourceTemplates, prompts] = await Promise.all([
        connection.listToolDefinitions(wanted),
        lesser("resources", connection.listResources(wanted)),
        lesser("resource templates", connection.listResourceTemplates(wanted)),
        lesser("prompts", connection.listPrompts(wanted)),
      ]);
      const listMs = Math.round(performance.now() - started);
      const { server } = connection;
      const listing: Listing = {
        server,
        ...(contract === undefined
          ? { tools, resources, resourceTemplates, prompts }
          : { ...NOTHING, tools: tools.filter(({ name }) => name === contract) }),
        timing: { connectMs, listMs },
        diagnostics: [...connection.diagnostics, ...failed],
      };
      if (cli.output.form === "json") cli.output.json(listing);
      else cli.output.print(describeListing(listing, cli.output.colors, options, cli.output.width));
      return 0;
    },
    { showsDiagnostics: true },
  );
}

/** The tool name of the contract that the user named. */
function contractOf({
  source,
  rest: [word = ""],
}: Extract<ResolvedTarget, { kind: "server" }>): string | undefined {
  const own = contractsOf(source);
  return own === undefined ? undefined : findContract(own.endpoint, word)?.name;
}
