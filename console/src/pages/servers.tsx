// Servers: state, latency, tools and memory of each at a glance.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { lineBeside } from "../../../src/base/text/crash-line.ts";
import { events, facts, type LiveEvent, samples, servers } from "../state/live.ts";
import { href } from "../state/router.ts";
import { useAccounts } from "../state/accounts.ts";
import type { Account, ServerHealth } from "../types.ts";
import { AccountLine, loginCommandOf } from "../ui/account.tsx";
import { Sparkline } from "../ui/chart.tsx";
import { formatAge, formatBytes, formatCount, formatMs } from "../ui/format.ts";
import { Badge, Command, Empty, Loading, Page, SearchBox, State } from "../ui/parts.tsx";
import { stateLabel, toneOf } from "../ui/server-state.ts";

/** With fewer servers, a search box only takes space. */
const SEARCH_FROM = 8;

export function ServersPage(): JSX.Element {
  const text = useSignal("");
  const all = servers.value;
  const accounts = useAccounts();
  if (all === undefined)
    return (
      <Page title="Servers">
        <Loading />
      </Page>
    );
  const down = all.filter((server) => toneOf(server) === "bad");
  const shown = all.filter(({ alias }) => alias.toLowerCase().includes(text.value.toLowerCase()));
  const tools = all.reduce((sum, server) => sum + server.tools, 0);
  return (
    <Page
      title="Servers"
      lead={`${formatCount(all.length, "server")}, ${formatCount(tools, "tool")}${down.length > 0 ? `, ${down.length} not working` : ""}`}
      actions={
        all.length >= SEARCH_FROM && (
          <SearchBox label="Find a server" value={text.value} onInput={(value) => (text.value = value)} />
        )
      }
    >
      {all.length === 0 && (
        <Empty title="This workspace has no servers yet.">
          <Command text="portolan add files -- npx -y @modelcontextprotocol/server-filesystem ." />
        </Empty>
      )}
      <ul class="server-list">
        {shown.map((server) => (
          <ServerCard key={server.alias} server={server} account={accounts.get(server.alias)} />
        ))}
      </ul>
      {facts.value?.problems.map((problem) => (
        <p key={problem} class="message warn">
          {problem}
        </p>
      ))}
    </Page>
  );
}

function ServerCard({
  server,
  account,
}: {
  readonly server: ServerHealth;
  readonly account: Account | undefined;
}): JSX.Element {
  const { alias, state, tools, era, transport, latencyMs, restarts, error, pins, since } = server;
  const measured = samples.value.get(alias) ?? [];
  const memory = measured.at(-1)?.memory;
  const login = loginCommandOf(server, account);
  const withheld = pins?.differences.length ?? 0;
  const stderr = error ? lineBeside(error.message, server.stderr ?? "") : "";
  return (
    <li class="server-card">
      <div class="server-name">
        <h2>
          <a href={href("servers", alias)}>{alias}</a>
        </h2>
        <State tone={toneOf(server)}>{stateLabel(server)}</State>
      </div>
      {error ? (
        <p class="server-error">
          {error.message}
          {stderr !== "" && `: ${stderr}`}
        </p>
      ) : (
        <Sparkline
          values={measured.map((sample) => sample.latencyMs)}
          label={latencyMs === undefined ? "No calls yet" : `Latency, now ${formatMs(latencyMs)}`}
        />
      )}
      <p class="server-facts">
        <span>{formatCount(tools, "tool")}</span>
        {latencyMs !== undefined && <span>{formatMs(latencyMs)}</span>}
        {memory !== undefined && <span>{formatBytes(memory)}</span>}
        {state === "ready" && <span>up {formatAge(Date.now() - Date.parse(since))}</span>}
        {account && <AccountLine account={account} />}
        {restarts > 0 && <span>{formatCount(restarts, "restart")}</span>}
        <span>
          {transport}
          {era && ` · ${era}`}
        </span>
      </p>
      {login && <Command text={login} />}
      {(withheld > 0 || pins?.problem) && (
        <Badge tone="warn">
          {withheld > 0
            ? `${formatCount(withheld, "tool")} to approve`
            : "problem with the pins: see Packages and pins"}
        </Badge>
      )}
    </li>
  );
}

/** The last line that a failed server wrote, which is often the reason. */
/** The events of one server, the newest first. */
export function eventsOf(alias: string): readonly LiveEvent[] {
  return events.value.filter(({ server }) => server === alias);
}
