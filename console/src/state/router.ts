// Router: the page and its parts are in the fragment of the address, such as `#/tools/files_read`.

import { computed, signal } from "@preact/signals";

/** The fragment of a one-time link is a code, not a page. */
const fragment = signal(location.hash.startsWith("#code=") ? "" : location.hash);
addEventListener("hashchange", () => (fragment.value = location.hash));

/** The parts of the path, decoded; the first names the page. */
export const route = computed<readonly string[]>(() => {
  const [path = ""] = fragment.value.replace(/^#\/?/, "").split("?", 1);
  return path.split("/").filter(Boolean).map(decode);
});

export const query = computed(() => new URLSearchParams(fragment.value.split("?")[1] ?? ""));

export function href(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function go(...parts: readonly string[]): void {
  location.hash = href(...parts);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
