// Calls of contracts: their context, the `_meta` that selects a driver, hints for unserved contracts, and exit codes of failures.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { type Diagnostic, hintedMessage, PortolanError } from "../../errors/index.ts";
import {
  type CallToolResult,
  type Contract,
  type DriverErrorCode,
  isObject,
  type JsonObject,
} from "../../model/index.ts";
import { parsePairs, toArguments } from "../arguments/arguments.ts";
import type { Cli } from "../context.ts";
import { withoutServer } from "../target/find-named.ts";
import type { ResolvedTarget } from "../target/resolve.ts";
import { cut } from "../terminal/layout.ts";
import { driversFor, findContract } from "../workspace/contracts.ts";

/** Options of `portolan call` that only contracts accept. */
export interface ContractCallOptions {
  /** The driver that must serve the call. */
  pin?: string;
  /** The region that the driver must be in. */
  region?: string;
  /** Values for the contextSchema, as key=value. */
  context?: string[];
}

/** The `_meta` of a contract call, from --pin, --region and --context. */
export async function metaOf(
  { pin, region, context }: ContractCallOptions,
  own: CalledContract | undefined,
  cli: Cli,
): Promise<JsonObject | undefined> {
  const flags = { "--pin": pin, "--region": region, "--context": context };
  const given = Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
  if (given.length === 0) return undefined;
  if (own === undefined) {
    throw new PortolanError(
      "USAGE",
      `${given.join(" and ")} ${given.length === 1 ? "is" : "are"} only for calls of contracts, and this call does not name a contract.`,
      {
        hint: "To see the contracts (TOOL.md): portolan list contracts. To call one: portolan call <contract> key=value --pin <driver>",
      },
    );
  }
  const { CONTEXT_META } = await import("../../contracts/index.ts");
  // For an unknown contract, the call itself reports the error, with a hint.
  const values = own.contract === undefined ? undefined : await readContext(context, own.contract, cli);
  return {
    ...(values === undefined ? {} : { [CONTEXT_META.values]: values }),
    ...(pin === undefined ? {} : { [CONTEXT_META.pin]: pin }),
    ...(region === undefined ? {} : { [CONTEXT_META.region]: region }),
  };
}

interface CalledContract {
  /** Undefined when no file defines the contract. */
  readonly contract: Contract | undefined;
  /** False for diagnostics about drivers of other contracts. */
  readonly concerns: (diagnostic: Diagnostic) => boolean;
  /** Explains why an existing contract is not served. */
  readonly hint: (diagnostics: readonly Diagnostic[]) => string | undefined;
}

/** The contract that is called; undefined when the target is not a contract. */
export function contractOf(target: ResolvedTarget, wanted: string): CalledContract | undefined {
  if (target.kind !== "server") return undefined;
  const endpoint = target.source.config.servers.find(({ alias }) => alias === target.alias)?.endpoint;
  if (endpoint?.transport !== "contracts") return undefined;
  const written = /^\s*(?:function\s+)?["']?([\w./-]+)/.exec(wanted)?.[1] ?? wanted;
  const word = withoutServer(written, target.alias);
  const id = findContract(endpoint, word)?.id ?? word;
  const serving = driversFor(endpoint, id);
  const others = new Set(
    endpoint.drivers.map(({ driver }) => driver.id).filter((one) => !serving.includes(one)),
  );
  return {
    contract: endpoint.contracts.find((contract) => contract.id === id),
    concerns: ({ server }) => server === undefined || !others.has(server),
    hint(diagnostics) {
      if (!endpoint.contracts.some((contract) => contract.id === id)) return undefined;
      const errorOf = (one: string): Diagnostic | undefined =>
        diagnostics.find(({ server, severity }) => server === one && severity === "error");
      const own = errorOf(id);
      if (own !== undefined)
        return `The contract ${id} exists, but its file has an error: ${hintedMessage(own)}`;
      const [first] = serving;
      if (first === undefined)
        return `The contract ${id} exists, but no driver (DRIVER.md) serves it. To write one: portolan author <npm package, image, program or URL of a server>`;
      const refused = serving.filter((driver) => errorOf(driver) !== undefined);
      const [named = first] = refused;
      const error = errorOf(named);
      const [what, drivers] = error === undefined ? ["not usable", serving] : ["refused", refused];
      const why = `The contract ${id} exists, but no driver can serve it (${what}: ${drivers.join(", ")}). See why: portolan why ${named}`;
      return error === undefined ? why : `${why}. The first error: ${hintedMessage(error)}`;
    },
  };
}

const EXITS: Readonly<Partial<Record<DriverErrorCode, number>>> = {
  input_invalid: 2,
  input_unsupported: 2,
  no_route: 3,
  tool_unavailable: 3,
  execute_binding_mismatch: 3,
  install_failed: 3,
  pinned_provider_unavailable: 3,
  policy_violation: 3,
  rate_limited: 3,
  region_mismatch: 3,
  version_mismatch: 3,
  auth_required: 5,
  auth_failed: 5,
  timeout: 124,
  cancelled: 130,
};

/** Returns 1 for an error of the tool itself, and for unknown codes. */
export function exitOfResult({ isError, _meta }: CallToolResult): number {
  if (isError !== true) return 0;
  const error = isObject(_meta) ? _meta["portolan/error"] : undefined;
  const code = isObject(error) ? String(error.code) : "";
  return Object.hasOwn(EXITS, code) ? (EXITS[code as DriverErrorCode] ?? 1) : 1;
}

/** The values of `--context key=value`, converted by the contract's contextSchema; undefined if none is given. */
export async function readContext(
  words: readonly string[] | undefined,
  { id, contextSchema }: Pick<Contract, "id" | "contextSchema">,
  { io }: Pick<Cli, "io">,
): Promise<JsonObject | undefined> {
  if (words === undefined || words.length === 0) return undefined;
  if (contextSchema === undefined)
    throw new PortolanError("USAGE", `The contract ${id} takes no context.`, {
      hint: "Leave out --context. Only contracts with metadata.contextSchema in their TOOL.md take a context.",
    });
  const { pairs, problems } = await parsePairs(words, (path) => readFile(resolve(io.cwd, path), "utf8"));
  const read = toArguments(pairs, contextSchema, {});
  const wrong = [...problems, ...read.problems].map(({ key, message }) => `${key} ${message}`.trim());
  if (wrong.length === 0) return read.value;
  throw new PortolanError("INPUT_INVALID", `--context: ${[...new Set(wrong)].join("; ")}`, {
    tool: id,
    hint: `The context must match this schema: ${cut(JSON.stringify(contextSchema), 500)}`,
  });
}
