// Callers of the gateway: which tools each may use, and the rule that refuses the others.

import { didYouMean, PortolanError } from "../../errors/index.ts";
import type { CallerAccess, FilteredTool } from "../../gateway/index.ts";
import { BUILT_IN_CALLERS, type GatewaySettings } from "../../model/index.ts";
import { plainLine } from "../terminal/safe-text.ts";

/** The callers of these settings with their rules, without their tokens. With `auth: none`, the gateway knows no callers. */
export function callersIn({ auth, callers = [] }: GatewaySettings = {}): readonly CallerAccess[] {
  return auth === "none" ? [] : callers.map(({ name, allow, deny }) => ({ name, allow, deny }));
}

/** Throws for a caller that the gateway does not have. */
export function requireCaller(callers: readonly CallerAccess[], name: string): CallerAccess {
  const found = callers.find((caller) => caller.name === name);
  if (found !== undefined) return found;
  // No rule refuses them anything.
  if (BUILT_IN_CALLERS.has(name)) return { name };
  const names = callers.map((caller) => caller.name);
  throw new PortolanError("USAGE", `The gateway has no caller ${JSON.stringify(name.slice(0, 200))}.`, {
    hint:
      didYouMean(name, names) ??
      (names.length === 0
        ? "portolan.yaml defines no callers (gateway.callers), or gateway.auth is none."
        : `Callers: ${names.map((one) => plainLine(one, 80)).join(", ")}.`),
  });
}

/** The rule by which the gateway refuses a tool to a caller, such as `deny.tools: files.write_*`; undefined for a tool it may use. */
export async function createRuleFinder(
  caller: CallerAccess,
): Promise<(tool: FilteredTool) => string | undefined> {
  // The gateway uses the same function for lists and calls.
  const { createToolFilter } = await import("../../gateway/index.ts");
  const filter = createToolFilter(caller);
  return (tool) => filter?.refusalOf(tool);
}
