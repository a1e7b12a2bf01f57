// `portolan resolve`: which driver would serve a contract, phase by phase, and why the others would not. Nothing is called.

import type { Resolution } from "../../contracts/index.ts";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import { type Contract, idIn, isNamed } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import {
  contractNamed,
  type ContractsSource,
  driversFor,
  loadContracts,
  onlyDrivers,
  withContracts,
} from "../workspace/contracts.ts";
import { noteLeftOut } from "../workspace/left-out.ts";
import { readPolicy } from "./policy.ts";
import { describeResolution, whyFirst } from "./resolution-view.ts";

export interface ResolveOptions {
  pin?: string;
  region?: string;
  policy?: string;
  input?: string[];
}

/** What a shell is told when nobody serves it. */
const EXITS: Readonly<Record<string, number>> = { auth_required: 5, input_unsupported: 2 };
const NOBODY = 3;

export async function resolve(cli: Cli, words: readonly string[], options: ResolveOptions): Promise<number> {
  const [word, extra] = words;
  if (word === undefined || extra !== undefined)
    throw new PortolanError(
      "USAGE",
      word === undefined ? "No contract is given." : "resolve takes one contract.",
      {
        hint: "portolan resolve <contract>; portolan list contracts shows them.",
      },
    );
  const own = await loadContracts(cli);
  const id = contractNamed(own.endpoint, idIn(word))?.id;
  // One major of several is named as id@major.
  const tool = id === undefined ? word : `${id}${word.slice(idIn(word).length)}`;
  const policy = options.policy === undefined ? own.endpoint.policy : await readPolicy(options.policy, cli);
  const { pin, region } = options;
  const inputs = (options.input ?? []).flatMap((text) => text.split(",")).filter((name) => name !== "");
  noteLeftOut(cli, own.source.ofDrivers);
  return withContracts(
    cli,
    own,
    async (contracts) => {
      const resolution = contracts.explain(tool, { pinnedProvider: pin, regionConstraint: region }, inputs);
      const contract = contractOf(own, tool);
      if (resolution === undefined || contract === undefined) throw unknown(tool, own);
      const why = whyFirst(contract, resolution, own.endpoint);
      const drivers = contracts.status();
      if (cli.output.form === "json")
        cli.output.json({
          tool,
          version: contract.version,
          asked: { pin, region, inputs, policy },
          ...resolution,
          ...(why === undefined ? {} : { why }),
        });
      else
        cli.output.print(
          describeResolution({ contract, resolution, why, own, drivers, pin, region }, cli.output),
        );
      return exitOf(resolution);
    },
    (endpoint) => {
      const asked = [...driversFor(endpoint, idIn(tool)), ...(pin === undefined ? [] : [pin])];
      return { ...onlyDrivers(endpoint, asked), policy };
    },
  );
}

function exitOf({ selected, error }: Resolution): number {
  return selected === undefined ? (EXITS[error?.code ?? ""] ?? NOBODY) : 0;
}

/** The newest, of several. */
function contractOf({ endpoint }: ContractsSource, name: string): Contract | undefined {
  return endpoint.contracts
    .filter((contract) => isNamed(contract, name))
    .toSorted((a, b) => b.version.localeCompare(a.version, "en", { numeric: true }))[0];
}

function unknown(tool: string, { endpoint, source }: ContractsSource): PortolanError {
  const known = [...new Set(endpoint.contracts.map(({ id }) => id))];
  return new PortolanError("TOOL_NOT_FOUND", `${source.path} has no contract ${JSON.stringify(tool)}.`, {
    hint:
      didYouMean(tool, known) ??
      (known.length === 0 ? undefined : `There are: ${known.slice(0, 20).join(", ")}.`),
  });
}
