// Schema of rules that select tools, and of `gateway.approval`: calls that wait for a person.

import { didYouMean } from "../../errors/index.ts";
import { GATEWAY_DEFAULTS } from "../../model/index.ts";
import { nodeAt, quoted, type TextNode } from "../document/index.ts";
import { duration, flag, list, object, oneOf, type ReadContext, text } from "../schema-builder/index.ts";

/** The kinds of entries that select tools. */
export const TOOL_RULE_FIELDS = {
  tools: list("Names that the gateway offers, or alias.tool; * stands for anything.", text()),
  servers: list("Aliases of servers.", text()),
  tags: list("Tags of servers.", text()),
  annotations: list(
    "What the server itself says about its tools.",
    oneOf("", [
      "read-only",
      "not-read-only",
      "destructive",
      "not-destructive",
      "idempotent",
      "not-idempotent",
      "open-world",
      "not-open-world",
    ]),
  ),
};

const MINUTES = GATEWAY_DEFAULTS.approvalTimeoutMs / 60_000;

export const APPROVAL_RULE = object(
  "",
  {
    ...TOOL_RULE_FIELDS,
    contract: flag(
      "true: only calls for which a contract, or the policy of contracts, asks for approval (default false).",
    ),
    callers: list("Names of callers; * stands for anything (default: every caller).", text()),
    by: list(
      "Who decides (default: a person in the console or terminal, and a program that embeds the gateway). caller is an elicitation that the calling client answers.",
      oneOf("", ["console", "terminal", "caller", "program"]),
    ),
    forMs: duration(
      "The longest time for which a person may approve repetitions of the same call (default: one call only).",
    ).key("for"),
    timeoutMs: duration(`How long a call waits (default ${MINUTES}m).`).key("timeout"),
    reason: text("The reason that the person reads."),
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
  { diagnostics }: ReadContext,
): void {
  const textsOf = (node: TextNode | undefined): readonly TextNode[] =>
    node?.kind === "list" ? node.items.filter(({ kind }) => kind === "string") : [];
  const valueOf = (node: TextNode | undefined): string => (node?.kind === "string" ? String(node.value) : "");
  const callers = nodeAt(gateway, "callers");
  const names = (callers?.kind === "list" ? callers.items : []).map((one) => valueOf(nodeAt(one, "name")));
  const known = new Set([...reserved, ...names]);
  const rules = nodeAt(gateway, "approval");
  for (const rule of rules?.kind === "list" ? rules.items : [])
    for (const node of textsOf(nodeAt(rule, "callers"))) {
      const name = valueOf(node);
      // People of an OAuth issuer are named by their claims, as in oauth:<issuer>|<subject>.
      if (known.has(name) || /[*|]/.test(name)) continue;
      diagnostics.add(
        node,
        `no caller has the name ${quoted(name)}`,
        didYouMean(name, known) ?? `Known callers: ${[...known].join(", ")}.`,
      );
    }
}
