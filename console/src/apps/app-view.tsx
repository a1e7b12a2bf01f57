// App of a tool: its frame, the questions that it has for the person, and the texts that it sends.

import { effect, type Signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isVisibleTo } from "../../../src/model/protocol/apps.ts";
import { ApiError, call, mcp } from "../api.ts";
import type { Run } from "../calls/run.ts";
import { type NamedTool, tools } from "../state/lists.ts";
import { theme } from "../state/theme.ts";
import type { Content, Json, JsonMap, OpenedApp } from "../types.ts";
import { JsonTree } from "../ui/json-tree.tsx";
import { Button, ErrorMessage, Loading, Message } from "../ui/parts.tsx";
import { AppBridge } from "./bridge.ts";

const READY_MS = 8_000;
const MIN_HEIGHT = 60;
const MAX_HEIGHT = 1_600;
const MAX_TEXTS = 20;

interface Link {
  readonly url: string;
  readonly answer: (isWanted: boolean) => void;
}

export function AppView({ run, tool }: { readonly run: Run; readonly tool: NamedTool }): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const error = useSignal<unknown>(undefined);
  const state = useSignal<"loading" | "ready" | "closed">("loading");
  const app = useSignal<OpenedApp | undefined>(undefined);
  const link = useSignal<Link | undefined>(undefined);
  const texts = useSignal<readonly string[]>([]);
  const context = useSignal<JsonMap | undefined>(undefined);
  const close = useRef<() => void>(() => {});
  useEffect(() => {
    const end = show();
    close.current = end;
    return end;
  }, []);

  function show(): () => void {
    const frame = document.createElement("iframe");
    let bridge: AppBridge | undefined;
    let isEnded = false;
    const stops: (() => void)[] = [];
    const end = (): void => {
      if (isEnded) return;
      isEnded = true;
      state.value = "closed";
      link.value?.answer(false);
      for (const stop of stops) stop();
      void remove(frame, bridge);
    };
    const open = async (): Promise<void> => {
      const opened = await call<OpenedApp>("app", { server: tool.server, tool: tool.own });
      if (isEnded) return;
      app.value = opened;
      frame.title = `App of ${tool.own}`;
      frame.className = opened.hasBorder ? "app-frame" : "app-frame plain";
      frame.setAttribute("sandbox", "allow-scripts allow-same-origin");
      frame.referrerPolicy = "no-referrer";
      holder.current?.append(frame);
      bridge = new AppBridge(frame, opened.url, opened.html, {
        request: (method, params) => requestServer(tool.server, method, params),
        openLink: (url) => confirmLink(url, link),
        said: (kind, params) => {
          if (kind === "context") context.value = params;
          else texts.value = [...texts.value, `${kind}: ${textOf(params)}`].slice(-MAX_TEXTS);
        },
        resized: (height) => {
          frame.style.height = `${Math.min(MAX_HEIGHT, Math.max(MIN_HEIGHT, Math.ceil(height)))}px`;
        },
        ready: () => {
          clearTimeout(timer);
          state.value = "ready";
        },
        closed: end,
        context: () => contextOf(tool),
      });
      const timer = setTimeout(() => {
        if (state.value === "loading") error.value = notLoaded(opened.url);
      }, READY_MS);
      stops.push(() => clearTimeout(timer), follow(run, bridge));
    };
    open().catch((thrown: unknown) => (error.value = thrown));
    return end;
  }

  return (
    <section class="app" aria-label="App">
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      {state.value === "loading" && error.value === undefined && <Loading />}
      <LinkQuestion link={link} />
      <div ref={holder} />
      {state.value === "closed" && <p class="muted">The app is closed.</p>}
      <Texts texts={texts.value} context={context.value} />
      {state.value === "ready" && app.value && (
        <div class="app-foot">
          <p class="muted small">{describeHosts(app.value)}</p>
          <Button kind="quiet" icon="close" onClick={() => close.current()}>
            Close the app
          </Button>
        </div>
      )}
    </section>
  );
}

/** Sends the input, and the result when it is there; then changes of the theme. */
function follow(run: Run, bridge: AppBridge): () => void {
  bridge.sendInput(run.input);
  let isFirst = true;
  const stopResult = effect(() => {
    const state = run.state.value;
    if (state.kind === "done") bridge.sendResult(state.result);
    if (state.kind === "failed") bridge.sendCancelled(state.error.message);
  });
  const stopTheme = effect(() => {
    const shown = themeOf(theme.value);
    if (!isFirst) bridge.sendContext({ theme: shown });
    isFirst = false;
  });
  return () => {
    stopResult();
    stopTheme();
  };
}

/** A frame that moves within the document keeps running, so that the app can end its work after the page has changed. */
async function remove(frame: HTMLIFrameElement, bridge: AppBridge | undefined): Promise<void> {
  const body: HTMLElement & { moveBefore?: (node: Node, before: Node | null) => void } = document.body;
  if (frame.isConnected && body.moveBefore !== undefined) {
    frame.hidden = true;
    body.moveBefore(frame, null);
  }
  await bridge?.tearDown();
  frame.remove();
}

/** An app uses its own server only, and of the tools only those that apps may call. */
async function requestServer(server: string, method: string, params: JsonMap): Promise<unknown> {
  if (method === "tools/call") {
    const tool = tools.value.items.find((one) => one.server === server && one.own === params.name);
    if (tool === undefined || !isVisibleTo("app", tool))
      throw new Error(`apps of ${server} may not call the tool ${JSON.stringify(params.name).slice(0, 100)}`);
  }
  return mcp(method, params, { server });
}

function confirmLink(url: string, link: Signal<Link | undefined>): Promise<boolean> {
  const isWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isWeb || link.value !== undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const answer = (isWanted: boolean): void => {
      link.value = undefined;
      if (isWanted) open(new URL(url).href, "_blank", "noopener,noreferrer");
      resolve(isWanted);
    };
    link.value = { url: new URL(url).href, answer };
  });
}

function LinkQuestion({ link }: { readonly link: Signal<Link | undefined> }): JSX.Element | null {
  const asked = link.value;
  if (asked === undefined) return null;
  return (
    <Message tone="warn" title="The app asks to open this address:">
      <p>
        <code class="break">{asked.url}</code>
      </p>
      <div class="actions">
        <Button onClick={() => asked.answer(true)}>Open in a new tab</Button>
        <Button onClick={() => asked.answer(false)}>Do not open</Button>
      </div>
    </Message>
  );
}

function Texts({
  texts,
  context,
}: {
  readonly texts: readonly string[];
  readonly context: JsonMap | undefined;
}): JSX.Element | null {
  if (texts.length === 0 && context === undefined) return null;
  return (
    <details>
      <summary>Messages of the app</summary>
      {texts.length > 0 && <pre tabIndex={0}>{texts.join("\n")}</pre>}
      {context && (
        <>
          <h3>Context for the model</h3>
          <JsonTree value={context} />
        </>
      )}
    </details>
  );
}

function textOf({ content, data }: JsonMap): string {
  if (!Array.isArray(content)) return typeof data === "string" ? data : JSON.stringify(data ?? null);
  return (content as unknown as readonly Content[]).map(({ text, type }) => text ?? `(${type})`).join(" ");
}

function contextOf({ server: _server, own, ...tool }: NamedTool): JsonMap {
  return {
    toolInfo: { tool: { ...tool, name: own } as unknown as Json },
    theme: themeOf(theme.value),
    displayMode: "inline",
    availableDisplayModes: ["inline"],
    containerDimensions: { maxHeight: MAX_HEIGHT },
    locale: navigator.language,
    timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
    platform: "web",
  };
}

function themeOf(chosen: "system" | "light" | "dark"): "light" | "dark" {
  if (chosen !== "system") return chosen;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

function describeHosts({ hosts: { connect, resources, frames, refused } }: OpenedApp): string {
  const used = [...new Set([...connect, ...resources, ...frames])];
  const allowed =
    used.length === 0
      ? "The app can connect to no other host."
      : `The app can connect only to ${used.join(", ")}.`;
  return refused.length === 0
    ? allowed
    : `${allowed} It also asked for these hosts, which are not allowed: ${refused.join(", ")}.`;
}

function notLoaded(url: string): ApiError {
  const { origin, port } = new URL(url);
  return new ApiError({
    code: "NOT_SUPPORTED",
    message: `The app did not start. The browser must be able to load ${origin}.`,
    hint: `If the gateway was restarted, reload the page. If you reach the gateway through a forwarded port, forward port ${port} as well.`,
  });
}
