// Schema of rules that select tools, and of `gateway.approval`: calls that wait for a person.

import { didYouMean } from "../../errors/index.ts";
import { GATEWAY_DEFAULTS, TOOL_TRAITS } from "../../model/index.ts";
import { nodeAt, quoted, type TextNode } from "../document/index.ts";
import { duration, flag, list, object, oneOf, type ReadContext, text } from "../schema-builder/index.ts";

/** The kinds of entries that select tools. */
export const TOOL_RULE_FIELDS = {
  tools: list("Tools: names at the gateway, or <alias>.<tool>. * matches any text.", text()),
  servers: list("Servers, by alias.", text()),
  tags: list("Servers, by tag.", text()),
  annotations: list(
    "Annotations of tools. They are claims of the server, which Portolan cannot verify.",
    oneOf("", TOOL_TRAITS),
  ),
};

const MINUTES = GATEWAY_DEFAULTS.approvalTimeoutMs / 60_000;

export const APPROVAL_RULE = object(
  "",
  {
    ...TOOL_RULE_FIELDS,
    contract: flag(
      "If true, the rule matches only contract calls for which the contract or the contracts policy requires approval. Default: false.",
    ),
    callers: list("Names of callers. * matches any text. Default: every caller.", text()),
    by: list(
      "Places where the call can be approved: the web console, the terminal, the calling client (caller, by elicitation), or the program that embeds the gateway. Default: console and terminal, and program if the embedding program approves calls.",
      oneOf("", ["console", "terminal", "caller", "program"]),
    ),
    forMs: duration(
      "Maximum time for which a person can approve repetitions of the same call, such as 10m. Default: approval is for one call only.",
    ).key("for"),
    timeoutMs: duration(
      `Maximum time that a call waits for approval; then it is refused. Default: ${MINUTES}m.`,
    ).key("timeout"),
    reason: text("Reason that is shown to the person who approves the call."),
  },
  {
    check({ by }, at) {
      if (by?.length === 0)
        at.error("by", "by names no way to approve a call", "Write console, terminal, caller or program.");
    },
  },
);

/** Reports names that no caller has: a rule with a mistyped name would never ask anybody. */
export function checkApprovalCallers(
  gateway: TextNode,
  reserved: Iterable<string>,
  context: ReadContext,
): void {
  const known = new Set([...reserved, ...callerNames(gateway)]);
  const rules = nodeAt(gateway, "approval");
  for (const rule of rules?.kind === "list" ? rules.items : [])
    reportUnknownCallers(nodeAt(rule, "callers"), known, context);
}

/** Reports each name in the list `named` that is not in `known`. */
export function reportUnknownCallers(
  named: TextNode | undefined,
  known: ReadonlySet<string>,
  { diagnostics }: ReadContext,
): void {
  for (const node of named?.kind === "list" ? named.items : []) {
    if (node.kind !== "string") continue;
    const name = String(node.value);
    // People of an OAuth issuer are named by their claims, as in oauth:<issuer>|<subject>.
    if (known.has(name) || /[*|]/.test(name)) continue;
    diagnostics.add(
      node,
      `no caller has the name ${quoted(name)}`,
      didYouMean(name, known) ??
        (known.size === 0
          ? "Define the caller in gateway.callers."
          : `Known callers: ${[...known].join(", ")}.`),
    );
  }
}

/** The names in `gateway.callers`. */
export function callerNames(gateway: TextNode | undefined): string[] {
  const callers = gateway && nodeAt(gateway, "callers");
  return (callers?.kind === "list" ? callers.items : []).flatMap((caller) => {
    const name = nodeAt(caller, "name");
    return name?.kind === "string" ? [String(name.value)] : [];
  });
}
