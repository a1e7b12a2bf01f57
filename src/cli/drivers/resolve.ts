// `portolan resolve`: shows which driver would serve a contract, phase by phase, and why the others would not. Calls no tool.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Resolution } from "../../contracts/index.ts";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import { parseWorkspace } from "../../formats/workspace/index.ts";
import { type Contract, type ContractPolicy, idIn, isNamed } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { takeOneWord } from "../options/usage-error.ts";
import { configError } from "../output/diagnostic.ts";
import {
  type ContractsSource,
  driversFor,
  findContract,
  loadContracts,
  onlyDrivers,
  withContracts,
} from "../workspace/contracts.ts";
import { noteLeftOut } from "../workspace/left-out.ts";
import { describeResolution, whyFirst } from "./resolution-view.ts";

export interface ResolveOptions {
  pin?: string;
  region?: string;
  policy?: string;
  input?: string[];
}

/** Exit codes for contracts that no driver would serve. */
const EXITS: Readonly<Record<string, number>> = { auth_required: 5, input_unsupported: 2 };
const NO_DRIVER = 3;
const POLICY_HINT =
  "Give the path of a portolan.yaml, or one or more of these, separated by commas: allow=<tag>, deny=<tag>, region=<region>, strict-region.";

export async function resolveContract(
  cli: Cli,
  words: readonly string[],
  options: ResolveOptions,
): Promise<number> {
  const hint = "portolan resolve <contract>. To see the contracts: portolan list contracts";
  const word = takeOneWord(words, { command: "resolve", noun: "contract", hint });
  const own = await loadContracts(cli);
  const id = findContract(own.endpoint, idIn(word))?.id;
  // A name may select a major version, as id@major.
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
          why,
        });
      else
        cli.output.print(
          describeResolution({ contract, resolution, why, own, drivers, pin, region }, cli.output),
        );
      return exitOf(resolution);
    },
    (endpoint) => {
      const ids = [...driversFor(endpoint, idIn(tool)), ...(pin === undefined ? [] : [pin])];
      return { ...onlyDrivers(endpoint, ids), policy };
    },
  );
}

function exitOf({ selected, error }: Resolution): number {
  return selected === undefined ? (EXITS[error?.code ?? ""] ?? NO_DRIVER) : 0;
}

/** The newest version of the contract. */
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
      (known.length === 0 ? undefined : `Contracts of the workspace: ${known.slice(0, 20).join(", ")}.`),
  });
}

/** The policy of --policy: the `contracts` section of a portolan.yaml, or words such as `allow=pii-safe,deny=beta`. */
async function readPolicy(text: string, cli: Cli): Promise<ContractPolicy> {
  const isFile = /\.ya?ml$/i.test(text) || /^[./~]/.test(text);
  return isFile ? readPolicyFile(text, cli) : parsePolicy(text);
}

async function readPolicyFile(name: string, cli: Cli): Promise<ContractPolicy> {
  const file = resolve(cli.io.cwd, name);
  const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new PortolanError("FILE_FAILED", `--policy ${name} cannot be read (${cause.code}).`, {
      cause,
      hint: POLICY_HINT,
    });
  });
  const { settings, diagnostics } = parseWorkspace(text, file);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw configError(errors, cli);
  if (settings?.contracts === undefined)
    throw new PortolanError("USAGE", `The file of --policy, ${name}, has no contracts section.`);
  return settings.contracts;
}

/** A word without `name=` belongs to the name before it: `allow=a,b`. */
function parsePolicy(text: string): ContractPolicy {
  const lists: Record<"allow" | "deny", string[]> = { allow: [], deny: [] };
  let region: string | undefined;
  let strictRegion: true | undefined;
  let current: "allow" | "deny" | undefined;
  for (const word of text.split(",").map((one) => one.trim())) {
    const [, name, value = ""] = /^(allow|deny|region)=(.+)$/.exec(word) ?? [];
    if (name === "allow" || name === "deny") lists[(current = name)].push(value);
    else if (name === "region") [region, current] = [value, undefined];
    else if (word === "strict-region") [strictRegion, current] = [true, undefined];
    else if (current !== undefined && /^[a-z0-9][a-z0-9-]*$/.test(word)) lists[current].push(word);
    else
      throw new PortolanError("USAGE", `--policy has an unknown part: ${JSON.stringify(word)}.`, {
        hint: POLICY_HINT,
      });
  }
  return {
    ...(lists.allow.length === 0 ? {} : { allowTags: lists.allow }),
    ...(lists.deny.length === 0 ? {} : { denyTags: lists.deny }),
    ...(region === undefined ? {} : { region }),
    ...(strictRegion === undefined ? {} : { strictRegion }),
  };
}
