// Context cost: how much of a model's context the tool list of each server takes, counted by the gateway with a real tokenizer.

import type { JSX } from "preact";
import { useLoaded } from "../state/loaded.ts";
import { href } from "../state/router.ts";
import type { TokenReport } from "../types.ts";
import { formatCount } from "../ui/format.ts";
import { CopyButton, Empty, ErrorMessage, Loading, Page } from "../ui/parts.tsx";

const MAX_TOOLS = 15;

export function ContextCostPage(): JSX.Element {
  const { value, error } = useLoaded<TokenReport>("tokens");
  const report = value.value;
  return (
    <Page
      title="Context cost"
      lead={
        report &&
        `A client that loads all ${formatCount(report.tools.length, "tool")} spends ${number(report.tokens)} tokens (${report.encoding}) on the list.`
      }
    >
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      {report === undefined && error.value === undefined && <Loading />}
      {report?.tools.length === 0 && <Empty title="No server offers tools." />}
      {report !== undefined && report.tools.length > 0 && <Costs report={report} />}
    </Page>
  );
}

function Costs({ report }: { readonly report: TokenReport }): JSX.Element {
  const { encoding, servers, tools, rest, savings } = report;
  return (
    <>
      <section class="card">
        <h2>By server</h2>
        <Bars
          encoding={encoding}
          rows={servers.map((one) => ({
            name: one.server,
            link: href("servers", one.server),
            tokens: one.tokens,
            note: `${formatCount(one.tools, "tool")}, ${(100 * one.share).toFixed(1)} %`,
          }))}
        />
        <p class="help">
          Counted with {encoding}: name, description and input schema of each tool. Titles, annotations and
          output schemas take {number(rest)} more in clients that pass them to the model. Other tokenizers
          differ by about 10 %.
        </p>
      </section>
      {savings.length > 0 && (
        <section class="card">
          <h2>Ways to save tokens</h2>
          <ul class="savings">
            {savings.map(({ message, tokens, yaml }) => (
              <li key={message}>
                <span class="event-text">
                  {number(tokens)} tokens: {message}
                </span>
                {yaml !== undefined && <CopyButton text={yaml}>Copy the lines for portolan.yaml</CopyButton>}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section class="card">
        <h2>Largest tools</h2>
        <Bars
          encoding={encoding}
          rows={tools.slice(0, MAX_TOOLS).map((one) => ({
            name: one.tool,
            link: href("tools", one.name),
            tokens: one.tokens,
            note: one.server,
          }))}
        />
      </section>
    </>
  );
}

interface BarRow {
  readonly name: string;
  readonly link: string;
  readonly tokens: number;
  readonly note: string;
}

function Bars({
  encoding,
  rows,
}: {
  readonly encoding: string;
  readonly rows: readonly BarRow[];
}): JSX.Element {
  const most = rows[0]?.tokens ?? 1;
  return (
    <ul class="bars">
      {rows.map(({ name, link, tokens, note }) => (
        <li key={link}>
          <a href={link}>{name}</a>
          <meter min={0} max={most} value={tokens} aria-label={`${name}: ${tokens} tokens (${encoding})`} />
          <span class="amount">{number(tokens)}</span>
          <span class="muted">{note}</span>
        </li>
      ))}
    </ul>
  );
}

function number(value: number): string {
  return value.toLocaleString("en");
}
