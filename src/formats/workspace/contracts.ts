// What a workspace allows its drivers, whatever they say about themselves.

import type { ContractPolicy, SandboxMode } from "../../model/index.ts";
import type { ObjectShape } from "../text/index.ts";

export const CONTRACTS_SHAPE: ObjectShape = {
  type: "object",
  description: "Which drivers may serve contracts, and which calls are approved first.",
  fields: {
    allow_tags: {
      type: "list",
      items: { type: "string" },
      description: "Only drivers with one of these policy tags may serve.",
    },
    deny_tags: {
      type: "list",
      items: { type: "string" },
      description: "Drivers with one of these policy tags never serve.",
    },
    region: { type: "string", description: "Where data may go: drivers of other regions do not serve." },
    strict_region: {
      type: "boolean",
      description: "A driver that is global is in no region. By default it is in every one.",
    },
    approval: {
      type: "string",
      enum: ["auto", "on-mutate", "always"],
      description: "Which calls are approved first, beyond what contracts ask for.",
    },
    approve_from_risk: {
      type: "number",
      integer: true,
      minimum: 0,
      description: "Calls of contracts with this risk level or more are approved first.",
    },
    unattended: {
      type: "string",
      enum: ["refuse", "allow"],
      description: "What happens to a call that needs approval where nobody can give it (default refuse).",
    },
    fallback: {
      type: "boolean",
      description: "An idempotent call that failed for a passing reason may go to the next driver.",
    },
    sandbox: {
      type: "map",
      values: { type: "string", enum: ["enforce", "warn", "off"] },
      description: "The sandbox mode of single drivers, by their id; a DRIVER.md can only ask for one.",
    },
  },
};

export interface CheckedContracts {
  readonly allow_tags?: readonly string[];
  readonly deny_tags?: readonly string[];
  readonly region?: string;
  readonly strict_region?: boolean;
  readonly approval?: "auto" | "on-mutate" | "always";
  readonly approve_from_risk?: number;
  readonly unattended?: "refuse" | "allow";
  readonly fallback?: boolean;
  readonly sandbox?: Readonly<Record<string, SandboxMode>>;
}

export function toContractPolicy(checked: CheckedContracts | undefined): ContractPolicy | undefined {
  if (checked === undefined) return undefined;
  const { region, approval, unattended, fallback, sandbox } = checked;
  return {
    ...{ region, approval, unattended, fallback, sandbox },
    allowTags: checked.allow_tags,
    denyTags: checked.deny_tags,
    strictRegion: checked.strict_region,
    approveFromRisk: checked.approve_from_risk,
  };
}
