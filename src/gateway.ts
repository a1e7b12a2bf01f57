// Entry `portolan/gateway`: a gateway inside of another program.

import { createWarner } from "./client/index.ts";
import {
  checkGatewayOptions,
  checkSettings,
  type Gateway,
  type GatewayOptions,
  openGateway as open,
  undecidableRules,
  unmatchedPatterns,
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
export type { BridgeManifest, ServerHealth, WorkspaceFields, WorkspaceSource } from "./hub/index.ts";
export type {
  ApprovalRule,
  BudgetAmount,
  GatewayBudget,
  GatewayCaller,
  GatewayLimits,
  GatewayLoops,
  GatewayRate,
  GatewaySettings,
} from "./model/index.ts";

/**
 * Serves the workspace of a folder, a file or a config as one MCP server, for clients of both protocol eras. Pass the requests of
 * your server to `handle` or `fetch`, and close the gateway at the end.
 */
export async function openGateway(source: WorkspaceSource, options?: GatewayOptions): Promise<Gateway> {
  const checked = checkGatewayOptions(options);
  const onDiagnostic = checked.onDiagnostic ?? createWarner();
  const own = checked.settings === undefined ? {} : { checkSettings };
  const gateway = await open(source, { reportsFailures: true, ...checked, ...own, onDiagnostic });
  for (const warning of unmatchedPatterns(checked.settings, gateway.workspace.config))
    gateway.workspace.report(warning);
  const rules = undecidableRules(gateway.settings.approval, { hasProgram: checked.approve !== undefined });
  if (rules.length > 0)
    gateway.workspace.report({
      code: "CONFIG_INVALID",
      severity: "warning",
      message: `Nobody can decide about the calls of ${rules.join(", ")}: they will be refused.`,
      hint: 'Pass the option "approve" to openGateway(). If the rule has the field "by", add "program" to it. Or add "caller" to "by", for a person at the client.',
    });
  return gateway;
}
