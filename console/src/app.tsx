// Shell of the console: navigation, the page of the route, and the state of the connection.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { isSignedIn, signOut } from "./api.ts";
import { ServerPage } from "./pages/server.tsx";
import { ServersPage } from "./pages/servers.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { followApprovals, waiting } from "./state/approvals.ts";
import { connect, connection, disconnect, facts, isOutdated, servers } from "./state/live.ts";
import { href, route } from "./state/router.ts";
import { nextTheme, theme } from "./state/theme.ts";
import { Icon, type IconName } from "./ui/icon.tsx";
import { lazy, Suspense } from "./ui/lazy.tsx";
import { Button, Empty, Loading, Message, Page, State } from "./ui/parts.tsx";
import { toneOf } from "./ui/server-state.ts";

const PAGES = {
  tools: lazy(async () => (await import("./pages/tools.tsx")).ToolsPage),
  tool: lazy(async () => (await import("./pages/tool.tsx")).ToolPage),
  resources: lazy(async () => (await import("./pages/resources.tsx")).ResourcesPage),
  resource: lazy(async () => (await import("./pages/resources.tsx")).ResourcePage),
  prompts: lazy(async () => (await import("./pages/prompts.tsx")).PromptsPage),
  prompt: lazy(async () => (await import("./pages/prompts.tsx")).PromptPage),
  activity: lazy(async () => (await import("./pages/activity.tsx")).ActivityPage),
  approvals: lazy(async () => (await import("./pages/approvals.tsx")).ApprovalsPage),
  contracts: lazy(async () => (await import("./pages/contracts.tsx")).ContractsPage),
  packages: lazy(async () => (await import("./pages/packages.tsx")).PackagesPage),
  sandbox: lazy(async () => (await import("./pages/sandbox.tsx")).SandboxPage),
  context: lazy(async () => (await import("./pages/context-cost.tsx")).ContextCostPage),
  secrets: lazy(async () => (await import("./pages/secrets.tsx")).SecretsPage),
};

interface Entry {
  readonly page: string;
  readonly label: string;
  readonly icon: IconName;
}

const GROUPS: readonly { readonly name: string; readonly entries: readonly Entry[] }[] = [
  {
    name: "Use",
    entries: [
      { page: "servers", label: "Servers", icon: "servers" },
      { page: "tools", label: "Tools", icon: "tools" },
      { page: "resources", label: "Resources", icon: "resources" },
      { page: "prompts", label: "Prompts", icon: "prompts" },
    ],
  },
  {
    name: "Watch",
    entries: [
      { page: "activity", label: "Activity", icon: "activity" },
      { page: "approvals", label: "Approvals", icon: "approvals" },
      { page: "contracts", label: "Contracts", icon: "contracts" },
      { page: "context", label: "Context cost", icon: "context" },
    ],
  },
  {
    name: "Protect",
    entries: [
      { page: "packages", label: "Packages and pins", icon: "packages" },
      { page: "sandbox", label: "Sandbox", icon: "sandbox" },
      { page: "secrets", label: "Secrets", icon: "secrets" },
    ],
  },
];

export function App({ codeFailed }: { readonly codeFailed: boolean }): JSX.Element {
  useEffect(() => {
    if (!isSignedIn.value) return;
    connect();
    const stopFollowing = followApprovals();
    return () => {
      stopFollowing();
      disconnect();
    };
  }, [isSignedIn.value]);
  if (!isSignedIn.value) return <SignInPage codeFailed={codeFailed} />;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Sidebar />
      <main id="main" tabIndex={-1}>
        <ConnectionNote />
        <Suspense
          fallback={
            <Page title="Portolan">
              <Loading />
            </Page>
          }
        >
          <CurrentPage />
        </Suspense>
      </main>
    </div>
  );
}

/** The fragment of the address names the page, so that a link to an element would change the page. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Sidebar(): JSX.Element {
  const isOpen = useSignal(false);
  const current = route.value[0] ?? "servers";
  const waits = waiting.value?.length ?? 0;
  const down = servers.value?.filter((server) => toneOf(server) === "bad").length ?? 0;
  useEffect(() => {
    isOpen.value = false;
  }, [route.value]);
  return (
    <header class={`sidebar${isOpen.value ? " is-open" : ""}`}>
      <div class="brand">
        <a href={href("servers")} class="brand-name">
          <span class="logo" aria-hidden="true" /> Portolan
        </a>
        <button
          type="button"
          class="button quiet icon-only menu-button"
          aria-expanded={isOpen.value}
          aria-controls="navigation"
          aria-label="Menu"
          onClick={() => (isOpen.value = !isOpen.value)}
        >
          <Icon name={isOpen.value ? "close" : "menu"} />
        </button>
      </div>
      <nav id="navigation" aria-label="Pages">
        {GROUPS.map(({ name, entries }) => (
          <div key={name} class="nav-group">
            <h2>{name}</h2>
            <ul>
              {entries.map(({ page, label, icon }) => (
                <li key={page}>
                  <a href={href(page)} aria-current={page === current ? "page" : undefined}>
                    <Icon name={icon} />
                    {label}
                    {page === "approvals" && waits > 0 && (
                      <span class="count warn">
                        {waits}
                        <span class="hidden-label"> waiting</span>
                      </span>
                    )}
                    {page === "servers" && down > 0 && (
                      <span class="count bad">
                        {down}
                        <span class="hidden-label"> not working</span>
                      </span>
                    )}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <Foot />
      </nav>
    </header>
  );
}

const THEME_ICONS = { system: "system", light: "sun", dark: "moon" } as const;

function Foot(): JSX.Element {
  const known = facts.value;
  return (
    <div class="foot">
      <div class="foot-state">
        <State tone={connection.value === "open" ? "ok" : connection.value === "lost" ? "bad" : "accent"}>
          {connection.value === "open"
            ? "live"
            : connection.value === "lost"
              ? "not connected"
              : "connecting"}
        </State>
        {known && <span class="muted small">{known.version}</span>}
      </div>
      <Button
        icon={THEME_ICONS[theme.value]}
        kind="quiet"
        label={`Theme: ${theme.value}`}
        onClick={nextTheme}
      />
      <Button icon="exit" kind="quiet" label="Sign out" onClick={signOut} />
    </div>
  );
}

function ConnectionNote(): JSX.Element | null {
  if (isOutdated.value)
    return (
      <Message tone="warn" title="The gateway was updated.">
        <Button onClick={() => location.reload()}>Reload the page</Button>
      </Message>
    );
  if (connection.value !== "lost") return null;
  return (
    <Message tone="warn" title="The gateway does not respond.">
      <p>This page reconnects when the gateway runs again. Until then, it may show old data.</p>
    </Message>
  );
}

function CurrentPage(): JSX.Element {
  const [page = "servers", name] = route.value;
  switch (page) {
    case "servers":
      return name === undefined ? <ServersPage /> : <ServerPage key={name} alias={name} />;
    case "tools":
      return name === undefined ? <PAGES.tools /> : <PAGES.tool name={name} />;
    case "resources":
      return name === undefined ? <PAGES.resources /> : <PAGES.resource uri={name} />;
    case "prompts":
      return name === undefined ? <PAGES.prompts /> : <PAGES.prompt name={name} />;
    case "activity":
      return <PAGES.activity />;
    case "approvals":
      return <PAGES.approvals />;
    case "contracts":
      return <PAGES.contracts />;
    case "packages":
      return <PAGES.packages />;
    case "sandbox":
      return <PAGES.sandbox alias={name} />;
    case "context":
      return <PAGES.context />;
    case "secrets":
      return <PAGES.secrets />;
    default:
      return (
        <Page title="Not found">
          <Empty title="This page does not exist.">
            <a href={href("servers")}>Servers</a>
          </Empty>
        </Page>
      );
  }
}
