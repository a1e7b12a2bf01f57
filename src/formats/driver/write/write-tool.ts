// A contract as the text of a TOOL.md.

import type { Contract, RetryRule } from "../../../model/index.ts";
import { type Fields, filledOnly, writeBody, writeFrontmatter } from "./write-frontmatter.ts";

/** A contract; absent fields have their defaults. */
export type ToolDraft = Pick<Contract, "id" | "name" | "description" | "version" | "inputs" | "outputs"> &
  Partial<Omit<Contract, "origin">>;

/** `body` is the text after the frontmatter; name and description when absent. */
export function writeTool(tool: ToolDraft, body?: string): string {
  const { requires, driverConstraints: constraints, contextSchema, metadata } = tool;
  const fields: Fields = {
    name: tool.name,
    id: tool.id,
    description: tool.description,
    version: tool.version,
    inputs: tool.inputs,
    outputs: tool.outputs,
    idempotent: tool.idempotent === true ? true : undefined,
    mutates: filledOnly(tool.mutates),
    requires: filledOnly({
      network: filledOnly(requires?.network),
      secrets: filledOnly(requires?.secrets),
      tools: filledOnly(requires?.tools),
    }),
    approval: tool.approval === "auto" ? undefined : tool.approval,
    risk_level: tool.riskLevel === 0 ? undefined : tool.riskLevel,
    cost_class: tool.costClass === "trivial" ? undefined : tool.costClass,
    timeout_ms: tool.timeoutMs === 30_000 ? undefined : tool.timeoutMs,
    retry: writeRetry(tool.retry),
    default_implementation: tool.defaultImplementation,
    driver_constraints: filledOnly({
      forbid: filledOnly(constraints?.forbid),
      require_kind: filledOnly(constraints?.requireKind),
    }),
    tags: filledOnly(tool.tags),
    examples: filledOnly(tool.examples),
    metadata: filledOnly({ ...metadata, ...(contextSchema === undefined ? {} : { contextSchema }) }),
  };
  return writeFrontmatter(fields, body ?? writeBody(tool.name, tool.description));
}

export function writeRetry(retry: RetryRule | undefined): Fields | undefined {
  return retry && { max_attempts: retry.maxAttempts, backoff: retry.backoff, initial_ms: retry.initialMs };
}
