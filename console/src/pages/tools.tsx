// Tools of all servers: searched by name and description, grouped by server.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { appUriOf, isVisibleTo } from "../../../src/model/protocol/apps.ts";
import { type NamedTool, tools, watchTools } from "../state/lists.ts";
import { href, query } from "../state/router.ts";
import { firstLine, formatCount } from "../ui/format.ts";
import { Badge, Empty, ErrorMessage, Loading, Page, SearchBox } from "../ui/parts.tsx";

/** A thousand rows at once would take long to lay out. */
const SHOWN = 200;

export function ToolsPage(): JSX.Element {
  const text = useSignal(query.value.get("find") ?? "");
  const server = useSignal("");
  const shown = useSignal(SHOWN);
  useEffect(watchTools, []);
  const { items, error, isLoading } = tools.value;
  const found = search(items, text.value, server.value);
  const servers = [...new Set(items.map((tool) => tool.server))].toSorted();
  return (
    <Page
      title="Tools"
      lead={
        isLoading
          ? undefined
          : `${formatCount(found.length, "tool")}${found.length < items.length ? ` of ${items.length}` : ""}`
      }
      actions={
        <>
          <SearchBox
            label="Find a tool"
            value={text.value}
            onInput={(value) => {
              text.value = value;
              shown.value = SHOWN;
            }}
          />
          <label>
            <span class="hidden-label">Server</span>
            <select value={server.value} onChange={(event) => (server.value = event.currentTarget.value)}>
              <option value="">all servers</option>
              {servers.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </>
      }
    >
      {error && <ErrorMessage error={error} />}
      {isLoading && <Loading />}
      {!isLoading && found.length === 0 && (
        <Empty title={items.length === 0 ? "No server offers tools." : "No tool matches."} />
      )}
      <ul class="rows">
        {found.slice(0, shown.value).map((tool) => (
          <ToolRow key={tool.name} tool={tool} />
        ))}
      </ul>
      {found.length > shown.value && (
        <button type="button" class="button plain wide" onClick={() => (shown.value += 500)}>
          {found.length - shown.value} more
        </button>
      )}
    </Page>
  );
}

function ToolRow({ tool }: { readonly tool: NamedTool }): JSX.Element {
  return (
    <li>
      <a href={href("tools", tool.name)}>
        <span class="row-name">{tool.own}</span>
        <span class="row-server muted">{tool.server}</span>
        <span class="row-text muted">{firstLine(tool.description)}</span>
        <span class="row-badges">
          <Hints tool={tool} />
        </span>
      </a>
    </li>
  );
}

export function Hints({ tool }: { readonly tool: NamedTool }): JSX.Element {
  const { readOnlyHint, destructiveHint } = tool.annotations ?? {};
  return (
    <>
      {appUriOf(tool) !== undefined && <Badge tone="accent">app</Badge>}
      {!isVisibleTo("model", tool) && <Badge>only for apps</Badge>}
      {readOnlyHint === true && <Badge tone="ok">read only</Badge>}
      {readOnlyHint !== true && destructiveHint === true && <Badge tone="warn">destructive</Badge>}
    </>
  );
}

/** Names that begin with the text come first, then names that contain it, then descriptions. */
export function search(items: readonly NamedTool[], text: string, server: string): readonly NamedTool[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (tool: NamedTool): number => {
    const name = tool.own.toLowerCase();
    const all = `${tool.name} ${tool.server} ${tool.title ?? ""} ${tool.description ?? ""}`.toLowerCase();
    if (!words.every((word) => all.includes(word))) return -1;
    if (words.every((word) => name.startsWith(word))) return 0;
    return words.every((word) => name.includes(word)) ? 1 : 2;
  };
  return items
    .filter((tool) => server === "" || tool.server === server)
    .map((tool) => ({ tool, rank: words.length === 0 ? 0 : rank(tool) }))
    .filter((one) => one.rank >= 0)
    .toSorted((a, b) => a.rank - b.rank || (a.tool.name < b.tool.name ? -1 : 1))
    .map(({ tool }) => tool);
}
