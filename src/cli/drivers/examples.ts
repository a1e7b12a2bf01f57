// `portolan test`: runs the examples of contracts against one driver.

import { isDeepStrictEqual } from "node:util";
import {
  approvalReason,
  type ContractCall,
  type Contracts,
  type Dispatched,
  type DriverReport,
  runExamples,
} from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  type Contract,
  type ContractExample,
  type ContractPolicy,
  isObject,
  type Json,
} from "../../model/index.ts";
import { readContext } from "../call/contract-call.ts";
import type { Cli } from "../context.ts";
import { takeOneWord } from "../options/usage-error.ts";
import type { Session } from "../target/connect.ts";
import type { Colors } from "../terminal/colors.ts";
import { displayWidth, wrap } from "../terminal/layout.ts";
import { plainLine, toJsonText } from "../terminal/safe-text.ts";
import {
  type ContractsSource,
  loadContracts,
  onlyDrivers,
  requireDriver,
  withContracts,
} from "../workspace/contracts.ts";
import { diagnosticsAbout, noteLeftOut } from "../workspace/left-out.ts";

export interface TestOptions {
  allowMutations?: boolean;
  /** Values for the contextSchemas of contracts, as key=value. */
  context?: string[];
}

const GAP = "  ";
const NO_EXAMPLES =
  "None of the contracts of this driver has examples, so nothing was tested. Add examples to a TOOL.md, each with name, input and output.";

export interface ExampleResult {
  readonly contract: string;
  readonly example: string;
  readonly state: "passed" | "failed" | "skipped";
  readonly ms?: number;
  /** Why the example was skipped or failed. */
  readonly reason?: string;
  readonly expected?: Json;
  readonly got?: unknown;
}

export async function test(cli: Cli, words: readonly string[], options: TestOptions): Promise<number> {
  const hint = "portolan test <driver>. To see the drivers: portolan status";
  const id = takeOneWord(words, { command: "test", noun: "driver", hint });
  const own = await loadContracts(cli);
  const { driver } = requireDriver(own, id);
  const about = new Set(diagnosticsAbout(own.source, id, driver));
  noteLeftOut(cli, own.source.ofDrivers, (diagnostic) => about.has(diagnostic));
  const use: Parameters<typeof withContracts<number>>[2] = async (contracts, { request }) => {
    const report = usable(contracts, id);
    const { policy } = own.endpoint;
    const results: ExampleResult[] = [];
    for (const contract of servedBy(report, own))
      for (const example of contract.examples)
        results.push(await runExample(contract, example, { contracts, policy, id, request, options, cli }));
    const passed = results.length > 0 && !results.some(({ state }) => state === "failed");
    if (cli.output.form === "json") {
      cli.output.json({ driver: id, version: report.version, passed, examples: results });
      if (results.length === 0) cli.output.note(NO_EXAMPLES);
    } else cli.output.print(describeExamples(report, results, NO_EXAMPLES, cli.output));
    return passed ? 0 : 1;
  };
  return withContracts(cli, own, use, (endpoint) => onlyDrivers(endpoint, [id]));
}

/** The state of the driver. Throws when it cannot serve anything now. */
function usable(contracts: Contracts, id: string): DriverReport {
  const report = contracts.status().find((one) => one.id === id);
  const hint =
    report?.problems.find(({ severity }) => severity === "error")?.hint ?? `To see why: portolan why ${id}`;
  if (report === undefined)
    throw new PortolanError(
      "FILE_INVALID",
      `The driver ${id} was not registered: its DRIVER.md cannot be used.`,
      {
        server: id,
        hint: `See the errors: portolan why ${id}`,
      },
    );
  if (report.server === "refused")
    throw new PortolanError("FILE_INVALID", `Portolan refuses the driver ${id}: ${report.reason ?? ""}`, {
      server: id,
      hint,
    });
  if (report.server === "unreachable")
    throw new PortolanError(
      "SERVER_UNAVAILABLE",
      `The driver ${id} cannot be used now: ${report.reason ?? ""}`,
      {
        server: id,
        hint,
      },
    );
  return report;
}

function servedBy({ contracts }: DriverReport, { endpoint }: ContractsSource): Contract[] {
  return contracts.flatMap((id) => endpoint.contracts.find((contract) => contract.id === id) ?? []);
}

interface Run {
  readonly contracts: Contracts;
  readonly policy: ContractPolicy;
  readonly id: string;
  readonly request: Session["request"];
  readonly options: TestOptions;
  readonly cli: Cli;
}

async function runExample(contract: Contract, example: ContractExample, run: Run): Promise<ExampleResult> {
  const { contracts, policy, id, request, options, cli } = run;
  const about = { contract: contract.id, example: example.name };
  const mutating = options.allowMutations === true;
  const skipped = (why: string): ExampleResult => ({
    ...about,
    state: "skipped",
    reason: `${why}; to run it, add --allow-mutations`,
  });
  const approval = approvalReason(contract, policy);
  if (contract.mutates.length === 0 && approval !== undefined && !mutating)
    return skipped(`it needs approval: ${approval}`);
  const { signal } = request(`${contract.id}: ${example.name}`);
  let result: Dispatched["result"] | undefined;
  const values =
    contract.contextSchema === undefined ? undefined : await readContext(options.context, contract, cli);
  const call = async (request: ContractCall): Promise<Dispatched> => {
    const context = values === undefined ? request.context : { ...request.context, values };
    const dispatched = await contracts.call({ ...request, context, ask: approving(contract) });
    ({ result } = dispatched);
    return dispatched;
  };
  const one = { ...contract, examples: [example] };
  const [outcome] = await runExamples(one, id, { call }, { mutating, signal });
  signal.throwIfAborted();
  if (outcome?.outcome === "skipped") return skipped(outcome.reason ?? "");
  const ms = result === undefined ? undefined : Math.round(result.ms);
  if (outcome?.outcome === "passed") return { ...about, state: "passed", ms };
  if (result?.ok !== true || example.output === undefined)
    return { ...about, state: "failed", ms, reason: outcome?.reason };
  const reason = `the output differs: ${firstDifference(example.output, result.value)}`;
  return { ...about, state: "failed", ms, reason, expected: example.output, got: result.value };
}

/** --allow-mutations approves the call itself; other server requests are declined. */
function approving({ id }: Contract): NonNullable<ContractCall["ask"]> {
  return async ({ id: requested }) =>
    requested === `approve-${id}` ? { action: "accept", content: { allow: true } } : { action: "decline" };
}

function describeExamples(
  { id, version }: DriverReport,
  results: readonly ExampleResult[],
  none: string,
  { colors, width }: { readonly colors: Colors; readonly width: number | undefined },
): string {
  const head = colors.bold(`${id}@${version}`);
  if (results.length === 0) return `${head}\n${wrap(none, width)}`;
  const paints = { passed: colors.green, failed: colors.red, skipped: colors.yellow };
  const contracts = results.map(({ contract }) => plainLine(contract, 60));
  const column = Math.max(...contracts.map(displayWidth));
  const lines = results.flatMap(({ state, example, ms, reason }, index) => {
    const name = contracts[index] as string;
    const time = ms === undefined ? "" : ` ${colors.dim(`${ms} ms`)}`;
    const row = `${paints[state](state.padEnd(7))}${GAP}${name.padEnd(column)}${GAP}${plainLine(example, 80)}${time}`;
    return [row, ...(reason === undefined ? [] : [wrap(`    ${plainLine(reason, 1_000)}`, width)])];
  });
  const count = (state: ExampleResult["state"]): number =>
    results.filter((one) => one.state === state).length;
  const skipped = count("skipped") === 0 ? "" : `, ${count("skipped")} skipped`;
  const sum = `${count("passed")} of ${results.length} passed${skipped}.`;
  return [head, ...lines, "", sum].join("\n");
}

/** `$.lines[2]: expected "a", got "b"` */
function firstDifference(expected: unknown, got: unknown, path = "$"): string {
  if (Array.isArray(expected) && Array.isArray(got)) {
    const length = Math.max(expected.length, got.length);
    for (let index = 0; index < length; index += 1)
      if (!isDeepStrictEqual(expected[index], got[index]))
        return firstDifference(expected[index], got[index], `${path}[${index}]`);
  }
  if (isObject(expected) && isObject(got))
    for (const key of new Set([...Object.keys(expected), ...Object.keys(got)]))
      if (!isDeepStrictEqual(expected[key], got[key]))
        return firstDifference(expected[key], got[key], `${path}.${key}`);
  return `${plainLine(path, 200)}: expected ${shown(expected)}, got ${shown(got)}`;
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : plainLine(toJsonText(value), 200);
}
