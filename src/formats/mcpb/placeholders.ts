// Placeholders of an MCPB manifest: `${__dirname}`, `${HOME}`, `${/}`, `${user_config.<setting>}`. A text is expanded in one pass,
// so that a value which looks like a placeholder stays as it is.

const FORM = /\$\{([^{}]{1,200})\}/g;

const SETTING = "user_config.";

/** Placeholders that a client fills in by itself. */
export const SYSTEM_PLACEHOLDERS = [
  "__dirname",
  "HOME",
  "DESKTOP",
  "DOCUMENTS",
  "DOWNLOADS",
  "pathSeparator",
  "/",
] as const;

export type SystemPlaceholder = (typeof SYSTEM_PLACEHOLDERS)[number];

export interface Placeholder {
  readonly name: string;
  /** The setting of `${user_config.<setting>}`. */
  readonly setting?: string;
  readonly isKnown: boolean;
}

export function placeholdersIn(text: string): Placeholder[] {
  return [...text.matchAll(FORM)].map(([, name = ""]) => toPlaceholder(name));
}

function toPlaceholder(name: string): Placeholder {
  const setting = name.startsWith(SETTING) ? name.slice(SETTING.length) : undefined;
  const isKnown = setting !== undefined || SYSTEM_PLACEHOLDERS.some((known) => known === name);
  return { name, setting, isKnown };
}

/** The setting of a text that is nothing but its placeholder. */
export function soleSetting(text: string): string | undefined {
  const [, name] = /^\$\{user_config\.([^{}]{1,200})\}$/.exec(text) ?? [];
  return name;
}

/** Replaces each placeholder by `valueOf`. If it returns undefined, the placeholder stays. */
export function expand(text: string, valueOf: (placeholder: Placeholder) => string | undefined): string {
  return text.replace(FORM, (whole, name: string) => valueOf(toPlaceholder(name)) ?? whole);
}
