// Entry `portolan/gateway`: a gateway inside of another program.

import {
  checkGatewayOptions,
  type Gateway,
  type GatewayOptions,
  openGateway as open,
  undecidableRules,
} from "./gateway/index.ts";
import type { WorkspaceSource } from "./hub/index.ts";

export {
  type Access,
  type AccessOptions,
  type ApprovalDecision,
  type ApprovalRequest,
  type ApproveCall,
  createAccess,
  type Gateway,
  type GatewayOptions,
  openAccess,
} from "./gateway/index.ts";
export type { BridgeManifest, WorkspaceConfig, WorkspaceFields, WorkspaceSource } from "./hub/index.ts";
export type {
  BudgetAmount,
  GatewayBudget,
  GatewayCaller,
  GatewayLoops,
  GatewaySettings,
} from "./model/index.ts";

/**
 * Serves the workspace of a folder, a file or a config as one MCP server, for clients of both protocol eras. Pass the requests of
 * your server to `handle` or `fetch`, and close the gateway at the end.
 */
export async function openGateway(source: WorkspaceSource, options?: GatewayOptions): Promise<Gateway> {
  const checked = checkGatewayOptions(options);
  const gateway = await open(source, checked);
  const rules = undecidableRules(gateway.settings.approval, { hasProgram: checked.approve !== undefined });
  if (rules.length > 0)
    gateway.workspace.report({
      code: "CONFIG_INVALID",
      severity: "warning",
      message: `Nobody can decide about the calls of ${rules.join(", ")}: they will be refused.`,
      hint: "Give the option approve, and name program in by of the rule if it has that field. Or name caller in by, for a person at the client.",
    });
  return gateway;
}
