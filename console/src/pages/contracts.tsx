// Contracts: the drivers that serve them, and how the last calls were routed and why.

import type { JSX } from "preact";
import { events, type LiveEvent } from "../state/live.ts";
import { useLoaded } from "../state/loaded.ts";
import type { DriverReport } from "../types.ts";
import { formatMs, formatTime } from "../ui/format.ts";
import { Badge, Empty, ErrorMessage, Facts, Loading, Page, State, type Tone } from "../ui/parts.tsx";

export function ContractsPage(): JSX.Element {
  const { value, error } = useLoaded<{ reports: DriverReport[] }>("drivers");
  const reports = value.value?.reports;
  const routed = events.value.filter(isRouting);
  return (
    <Page title="Contracts" lead="An agent calls a contract; Portolan chooses the driver for each call.">
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      {reports === undefined && error.value === undefined && <Loading />}
      {reports?.length === 0 && (
        <Empty title="This workspace has no drivers for contracts.">
          <p>A TOOL.md file defines a contract, and a DRIVER.md file defines a server that implements it.</p>
        </Empty>
      )}
      {reports !== undefined && reports.length > 0 && (
        <>
          <section class="card">
            <h2>Last calls</h2>
            {routed.length === 0 && <p class="muted">There are no recent calls of contracts.</p>}
            <ol class="routes">
              {routed.slice(0, 30).map((event) => (
                <RouteRow key={event.key} event={event} />
              ))}
            </ol>
          </section>
          {reports.map((report) => (
            <DriverCard key={report.id} report={report} />
          ))}
        </>
      )}
    </Page>
  );
}

type Routing = Extract<LiveEvent, { type: "driver.resolved" | "driver.invoked" }>;

function isRouting(event: LiveEvent): event is Routing {
  return event.type === "driver.resolved" || event.type === "driver.invoked";
}

function RouteRow({ event }: { readonly event: Routing }): JSX.Element {
  if (event.type === "driver.invoked")
    return (
      <li>
        <time dateTime={event.time}>{formatTime(event.time)}</time>{" "}
        <State tone={event.ok ? "ok" : "bad"}>{event.ok ? "called" : "failed"}</State> {event.tool_id} by{" "}
        <b>{event.provider_id}</b> ({event.mcp_tool_name}) in {formatMs(event.duration_ms)}
        {event.retries > 0 && `, ${event.retries} retries`} {event.code}
      </li>
    );
  return (
    <li>
      <time dateTime={event.time}>{formatTime(event.time)}</time>{" "}
      <State tone={event.selected === undefined ? "bad" : "accent"}>routed</State> {event.tool} to{" "}
      <b>{event.selected ?? "no driver"}</b>
      {event.pin && ` (the call names the driver ${event.pin})`}
      {event.rejected.length > 0 && (
        <details>
          <summary>Drivers that were not chosen: {event.rejected.length}</summary>
          <ul>
            {event.rejected.map(({ provider_id: id, phase, reason }) => (
              <li key={id}>
                <b>{id}</b> in the phase {phase}: {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

const TONES: Readonly<Record<string, Tone>> = { verified: "ok", refused: "bad" };

function DriverCard({ report }: { readonly report: DriverReport }): JSX.Element {
  const { id, version, server, reason, protocolVersion, auth, health, healthReason, contracts, problems } =
    report;
  return (
    <section class="card" aria-label={id}>
      <div class="card-head">
        <h2>
          {id} <span class="muted">{version}</span>
        </h2>
        <State tone={TONES[server] ?? "accent"}>{server}</State>
      </div>
      {reason && <p class="message warn">{reason}</p>}
      <Facts
        items={[
          ["Contracts", contracts.map((name) => <Badge key={name}>{name}</Badge>)],
          ["Login", auth],
          ["Health", `${health}${healthReason ? `: ${healthReason}` : ""}`],
          ["Protocol", protocolVersion ?? "not known yet"],
        ]}
      />
      {problems.map(({ message, hint }) => (
        <p key={message} class="message warn">
          {message} {hint}
        </p>
      ))}
    </section>
  );
}
