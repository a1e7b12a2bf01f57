// Result of a call: each content block in its form, and structured content as a tree.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { lazy, Suspense } from "../ui/lazy.tsx";
import { href } from "../state/router.ts";
import type { Content, Json, ResourceContents, ToolResult } from "../types.ts";
import { JsonTree } from "../ui/json-tree.tsx";
import { Badge, CopyButton, Empty, Tabs } from "../ui/parts.tsx";

const Markdown = lazy(async () => (await import("../ui/markdown.tsx")).Markdown);

export function ResultView({ result }: { readonly result: ToolResult }): JSX.Element {
  const { content = [], structuredContent, isError } = result;
  const form = useSignal<"content" | "json">("content");
  // Servers repeat structured content as text for old clients, many of them without the object around its only field.
  const same = sameTexts(structuredContent);
  const shown = content.filter(({ type, text }) => type !== "text" || !isSame(text, same));
  // A text reads better as text than as the only field of an object.
  const isOnlyText = content.some(
    ({ type, text }) => type === "text" && same.slice(1).includes(JSON.stringify(text)),
  );
  return (
    <div class={`result${isError === true ? " is-error" : ""}`}>
      <div class="result-head">
        {isError === true && <Badge tone="bad">the tool returned an error</Badge>}
        <Tabs
          label="Format of the result"
          options={[
            { value: "content", label: "Content" },
            { value: "json", label: "Full JSON" },
          ]}
          value={form.value}
          onChange={(value) => (form.value = value)}
        />
        <CopyButton text={() => JSON.stringify(result, null, 2)} label="Copy the result as JSON" />
      </div>
      {form.value === "json" ? (
        <JsonTree value={result as unknown as Json} />
      ) : (
        <>
          {structuredContent !== undefined && !isOnlyText && <JsonTree value={structuredContent} />}
          {shown.map((block, index) => (
            <Block key={index} block={block} />
          ))}
          {shown.length === 0 && structuredContent === undefined && <Empty title="The result is empty." />}
        </>
      )}
    </div>
  );
}

export function Block({ block }: { readonly block: Content }): JSX.Element {
  const { type, text, data, mimeType, uri, name, title, description, resource } = block;
  if (type === "text" && text !== undefined) return <TextView text={text} />;
  if (type === "image" && data !== undefined)
    return (
      <img
        class="result-image"
        src={`data:${safeType(mimeType, "image")};base64,${data}`}
        alt="Image of the result"
      />
    );
  if (type === "audio" && data !== undefined)
    return (
      <audio
        controls
        src={`data:${safeType(mimeType, "audio")};base64,${data}`}
        aria-label="Audio of the result"
      />
    );
  if (type === "resource_link" && uri !== undefined)
    return (
      <p class="resource-link">
        <a href={href("resources", uri)}>{title ?? name ?? uri}</a> <code>{uri}</code>
        {description && <span class="muted"> {description}</span>}
      </p>
    );
  if (type === "resource" && resource !== undefined) return <ContentsView contents={resource} />;
  return <JsonTree value={block as unknown as Json} />;
}

export function ContentsView({ contents }: { readonly contents: ResourceContents }): JSX.Element {
  const { uri, mimeType = "", text, blob } = contents;
  return (
    <div class="contents">
      <p class="small muted">
        <code>{uri}</code> {mimeType}
      </p>
      {text !== undefined && <TextView text={text} isMarkdown={mimeType === "text/markdown"} />}
      {blob !== undefined && mimeType.startsWith("image/") && (
        <img class="result-image" src={`data:${safeType(mimeType, "image")};base64,${blob}`} alt={uri} />
      )}
      {blob !== undefined && mimeType.startsWith("audio/") && (
        <audio controls src={`data:${safeType(mimeType, "audio")};base64,${blob}`} aria-label={uri} />
      )}
      {blob !== undefined && !/^(?:image|audio)\//.test(mimeType) && (
        <p>
          Binary data, {Math.round((blob.length * 3) / 4)} bytes.{" "}
          <a
            class="button plain"
            download={uri.split("/").at(-1) ?? "data"}
            href={`data:application/octet-stream;base64,${blob}`}
          >
            Download
          </a>
        </p>
      )}
    </div>
  );
}

type TextForm = "text" | "markdown" | "json";

export function TextView({
  text,
  isMarkdown = false,
}: {
  readonly text: string;
  readonly isMarkdown?: boolean;
}): JSX.Element {
  const json = parsed(text);
  const form = useSignal<TextForm>(
    json !== undefined ? "json" : isMarkdown || looksMarkdown(text) ? "markdown" : "text",
  );
  const forms: readonly { value: TextForm; label: string }[] = [
    { value: "text", label: "Text" },
    { value: "markdown", label: "Markdown" },
    ...(json === undefined ? [] : [{ value: "json" as const, label: "JSON" }]),
  ];
  return (
    <div class="text-view">
      <div class="text-tools">
        <Tabs
          label="Format of the text"
          options={forms}
          value={form.value}
          onChange={(value) => (form.value = value)}
        />
        <CopyButton text={text} label="Copy the text" />
      </div>
      {form.value === "json" && json !== undefined ? (
        <JsonTree value={json} />
      ) : form.value === "markdown" ? (
        <Suspense fallback={<pre tabIndex={0}>{text}</pre>}>
          <Markdown text={text} />
        </Suspense>
      ) : (
        <pre tabIndex={0}>{text}</pre>
      )}
    </div>
  );
}

/** Only plain types become part of an address. */
function safeType(mimeType: string | undefined, group: string): string {
  return mimeType !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(mimeType) ? mimeType : `${group}/*`;
}

function parsed(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The structured content, and the value of its only field, as JSON. */
function sameTexts(structured: Json | undefined): readonly string[] {
  if (structured === undefined) return [];
  const values = structured !== null && typeof structured === "object" ? Object.values(structured) : [];
  return [structured, ...(values.length === 1 ? values : [])].map((value) => JSON.stringify(value));
}

function isSame(text: string | undefined, same: readonly string[]): boolean {
  if (text === undefined) return false;
  const value = parsed(text);
  return value !== undefined && same.includes(JSON.stringify(value));
}

function looksMarkdown(text: string): boolean {
  return /^#{1,6} \S|^```|^[-*] \S|\*\*\S|\]\(https?:/m.test(text);
}
