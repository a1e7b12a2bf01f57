// Context cost for the console: the tools that the gateway offers, counted with a real tokenizer.

import type { OpenedWorkspace } from "../../hub/index.ts";
import { createTokenCounter, type TokenCounter } from "../tokens/counter.ts";
import { createReport, type TokenReport } from "../tokens/report.ts";
import { readCalled } from "../tokens/tokens.ts";

/** Loads the tokenizer. The counter is kept, because it caches the counts of definitions. */
export async function createTokenReader(workspace: OpenedWorkspace): Promise<() => Promise<TokenReport>> {
  const counter = await createTokenCounter();
  return () => readTokens(workspace, counter);
}

async function readTokens(workspace: OpenedWorkspace, counter: TokenCounter): Promise<TokenReport> {
  const { hub, config } = workspace;
  const names = hub.toolNames();
  const { tools } = (await hub.request({ method: "tools/list" })) as {
    tools: Parameters<TokenCounter["definition"]>[0][];
  };
  const offered = tools.map((definition) => {
    const { server = "workspace", name: own = definition.name } = names.get(definition.name) ?? {};
    return { server, own, definition };
  });
  const called = await readCalled({ gateway: workspace.gateway.settings, folder: config.folder });
  return createReport(offered, counter, called, config.servers);
}
