// JSON as a tree whose branches open and close. Large branches show their first entries only.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Json } from "../types.ts";

const SHOWN = 100;
const OPEN_DEPTH = 2;
const MAX_TEXT = 2_000;

export function JsonTree({
  value,
  name,
  depth = 0,
}: {
  readonly value: Json;
  readonly name?: string;
  readonly depth?: number;
}): JSX.Element {
  if (value === null || typeof value !== "object") return <Leaf value={value} name={name} />;
  return <Branch value={value} name={name} depth={depth} />;
}

function Leaf({ value, name }: { readonly value: Json; readonly name?: string }): JSX.Element {
  const text = JSON.stringify(value);
  return (
    <div class="json-leaf">
      <Name name={name} />
      <span class={`json-${value === null ? "null" : typeof value}`}>
        {text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${text.length} characters)` : text}
      </span>
    </div>
  );
}

function Branch({
  value,
  name,
  depth,
}: {
  readonly value: Json[] | { [key: string]: Json };
  readonly name?: string;
  readonly depth: number;
}): JSX.Element {
  const isArray = Array.isArray(value);
  const entries = Object.entries(value);
  const shown = useSignal(SHOWN);
  const isOpen = useSignal(depth < OPEN_DEPTH && entries.length <= SHOWN);
  const size = isArray ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0)
    return (
      <div class="json-leaf">
        <Name name={name} />
        {isArray ? "[]" : "{}"}
      </div>
    );
  return (
    <details class="json" open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        <Name name={name} />
        <span class="muted">{size}</span>
      </summary>
      {isOpen.value && (
        <div class="json-children">
          {entries.slice(0, shown.value).map(([key, child]) => (
            <JsonTree key={key} name={key} value={child} depth={depth + 1} />
          ))}
          {entries.length > shown.value && (
            <button type="button" class="button quiet" onClick={() => (shown.value += 500)}>
              {entries.length - shown.value} more
            </button>
          )}
        </div>
      )}
    </details>
  );
}

function Name({ name }: { readonly name?: string }): JSX.Element | null {
  return name === undefined ? null : <span class="json-name">{name}: </span>;
}
