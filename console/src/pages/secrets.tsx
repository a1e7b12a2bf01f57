// Secrets by name: which servers need each, and whether it has a value. Values never reach this page.

import type { JSX } from "preact";
import { servers } from "../state/live.ts";
import { useLoaded } from "../state/loaded.ts";
import { href } from "../state/router.ts";
import { Badge, Command, Empty, ErrorMessage, Loading, Page } from "../ui/parts.tsx";

interface Need {
  readonly name: string;
  readonly kind: "name" | "env" | "file";
  readonly state: "set" | "default" | "missing" | "unknown";
  readonly source?: string;
  readonly reason?: string;
  readonly neededBy: readonly { readonly server: string; readonly where: string }[];
}

const TONES = { set: "ok", default: "idle", missing: "bad", unknown: "warn" } as const;

/** False for the gateway and for registries, which need secrets too and have no page. */
function isServer(name: string): boolean {
  return servers.value?.some(({ alias }) => alias === name) === true;
}

export function SecretsPage(): JSX.Element {
  const { value, error } = useLoaded<{ needs: Need[] }>("secrets");
  const needs = value.value?.needs;
  return (
    <Page
      title="Secrets"
      lead="The secrets that config files refer to, by name. No page and no command shows a value."
    >
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      {needs === undefined && error.value === undefined && <Loading />}
      {needs?.length === 0 && <Empty title="The config files of this workspace refer to no secrets." />}
      {needs?.map((need) => (
        <section key={`${need.kind} ${need.name}`} class="card" aria-label={need.name}>
          <div class="card-head">
            <h2>
              <code>{need.name}</code>
            </h2>
            <Badge tone={TONES[need.state]}>
              {need.state}
              {need.source && ` in the ${need.source}`}
            </Badge>
          </div>
          {need.reason && <p class="message warn">{need.reason}</p>}
          <ul class="plain-list">
            {need.neededBy.map(({ server, where }) => (
              <li key={`${server} ${where}`}>
                {isServer(server) ? <a href={href("servers", server)}>{server}</a> : server}{" "}
                <span class="muted">{where}</span>
              </li>
            ))}
          </ul>
          {need.state === "missing" && need.kind === "name" && (
            <Command text={`portolan secrets set ${need.name}`} />
          )}
        </section>
      ))}
    </Page>
  );
}
