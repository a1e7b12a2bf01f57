// Context cost: how much of a model's context the tool list of each server takes.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { isVisibleTo } from "../../../src/model/protocol/apps.ts";
import { type NamedTool, tools, watchTools } from "../state/lists.ts";
import { href } from "../state/router.ts";
import { formatBytes, formatCount } from "../ui/format.ts";
import { Empty, ErrorMessage, Loading, Page } from "../ui/parts.tsx";

interface Cost {
  readonly name: string;
  readonly tools: number;
  readonly bytes: number;
  readonly tokens: number;
}

/** Measured with real tool lists: 12 to 29 percent above a real tokenizer for English, below it for other languages. */
const CHARS_PER_TOKEN = 4;

export function ContextCostPage(): JSX.Element {
  useEffect(watchTools, []);
  const { items: listed, error, isLoading } = tools.value;
  const items = listed.filter((tool) => isVisibleTo("model", tool));
  const groups = new Map<string, NamedTool[]>();
  for (const tool of items) groups.set(tool.server, [...(groups.get(tool.server) ?? []), tool]);
  const costs = [...groups].map(([name, list]) => costOf(name, list)).toSorted((a, b) => b.tokens - a.tokens);
  const all = costOf("all", items);
  const largest = items
    .map((tool) => ({ tool, ...costOf(tool.name, [tool]) }))
    .toSorted((a, b) => b.tokens - a.tokens);
  const top = costs[0]?.tokens ?? 1;
  return (
    <Page
      title="Context cost"
      lead={
        isLoading
          ? undefined
          : `A client that loads all ${formatCount(all.tools, "tool")} spends about ${all.tokens.toLocaleString("en")} tokens on the list.`
      }
    >
      {error && <ErrorMessage error={error} />}
      {isLoading && <Loading />}
      {!isLoading && items.length === 0 && <Empty title="No server offers tools." />}
      {costs.length > 0 && (
        <section class="card">
          <h2>By server</h2>
          <ul class="bars">
            {costs.map((cost) => (
              <li key={cost.name}>
                <a href={href("servers", cost.name)}>{cost.name}</a>
                <meter
                  min={0}
                  max={top}
                  value={cost.tokens}
                  aria-label={`${cost.name}: ${cost.tokens} tokens`}
                />
                <span>{cost.tokens.toLocaleString("en")}</span>
                <span class="muted">
                  {formatCount(cost.tools, "tool")}, {formatBytes(cost.bytes)}
                </span>
              </li>
            ))}
          </ul>
          <p class="help">
            Estimated: one token for four characters. A tokenizer of a model differs by up to a third.
          </p>
        </section>
      )}
      {largest.length > 0 && (
        <section class="card">
          <h2>Largest tools</h2>
          <ul class="bars">
            {largest.slice(0, 15).map(({ tool, tokens }) => (
              <li key={tool.name}>
                <a href={href("tools", tool.name)}>{tool.own}</a>
                <meter
                  min={0}
                  max={largest[0]?.tokens ?? 1}
                  value={tokens}
                  aria-label={`${tool.own}: ${tokens} tokens`}
                />
                <span>{tokens.toLocaleString("en")}</span>
                <span class="muted">{tool.server}</span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </Page>
  );
}

function costOf(name: string, list: readonly NamedTool[]): Cost {
  const texts = list.map(({ server: _server, own: _own, ...tool }) => JSON.stringify(tool));
  const chars = texts.reduce((sum, text) => sum + text.length, 0);
  const bytes = texts.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0);
  return { name, tools: list.length, bytes, tokens: Math.round(chars / CHARS_PER_TOKEN) };
}
