// Icons: strokes on a 20 by 20 grid, in the colour of the text.

import type { JSX } from "preact";

const PATHS = {
  servers: "M3 4h14v5H3zM3 11h14v5H3zM6 6.5h.01M6 13.5h.01",
  tools: "M12.5 3.5a4 4 0 0 0-4.6 5.2L3 13.6 6.4 17l4.9-4.9a4 4 0 0 0 5.2-4.6L14 10l-2.8-.8L10.400 6.4z",
  resources: "M5 2.500h7l3.500 3.500v11.500H5zM12 2.500V6h3.500M7.500 10h5.500M7.500 13h5.500",
  prompts: "M3 4h14v9.500H9l-4 3.500v-3.500H3z",
  activity: "M2.500 10.500h3.500l2-6 4 11 2-5h3.500",
  approvals:
    "M10 2.500l6.500 2.500v4.500c0 4-2.700 6.700-6.500 8-3.800-1.300-6.500-4-6.500-8V5zM7 10l2.200 2.200L13 8",
  contracts: "M4 4h4v4H4zM12 12h4v4h-4zM8 6h3.500a2.500 2.500 0 0 1 2.500 2.500V12",
  packages: "M10 2.500l6.500 3.500v8L10 17.500 3.500 14V6zM3.500 6L10 9.500 16.500 6M10 9.500v8",
  sandbox: "M4.500 9h11v8h-11zM7 9V6.500a3 3 0 0 1 6 0V9M10 12v2",
  context: "M3 16.500V12M8 16.500V7M13 16.500v-6M17.500 16.500V3.500",
  secrets:
    "M12.500 11.500a4 4 0 1 0-3.600-2.300L3 15v2.500h3V15.500h2v-2h1.800l.9-.9a4 4 0 0 0 1.800.9zM13.500 6.500h.01",
  menu: "M3 5.500h14M3 10h14M3 14.500h14",
  close: "M5 5l10 10M15 5L5 15",
  copy: "M7 7h9.500v9.500H7zM13 7V3.500H3.500V13H7",
  check: "M4 10.500l4 4 8-9",
  play: "M6 4l10 6-10 6z",
  stop: "M5.500 5.500h9v9h-9z",
  restart: "M16 10a6 6 0 1 1-1.800-4.300M16 2.500V6h-3.500",
  sun: "M10 6.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM10 2v1.500M10 16.500V18M2 10h1.500M16.500 10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M4.300 15.700l1.100-1.100M14.600 5.400l1.100-1.100",
  moon: "M16.500 11.500A7 7 0 0 1 8.500 3.500a7 7 0 1 0 8 8z",
  system: "M3 4h14v9.500H3zM7 17h6M10 13.500V17",
  exit: "M8 3.500H4v13h4M8 10h9M13.500 6.500L17 10l-3.500 3.500",
  search: "M8.500 3a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM12.500 12.500L17 17",
  right: "M7.500 4.500L13 10l-5.500 5.500",
  left: "M12.500 4.500L7 10l5.500 5.500",
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  download: "M10 3v9M6 8.500l4 4 4-4M3.500 16.500h13",
  warning: "M10 3l7.500 13.500h-15zM10 8v4M10 14.500h.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
