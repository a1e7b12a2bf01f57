// Which names a server may have: legal in tool names, readable in commands, with room left for the tool's own name.

/** Tool names have at most 64 characters for every model provider; this leaves a third of them to the tool. */
export const MAX_ALIAS = 40;
export const ALIAS_PATTERN: string = `^[A-Za-z0-9_][A-Za-z0-9_-]{0,${MAX_ALIAS - 1}}$`;

const ALIAS = new RegExp(ALIAS_PATTERN);

/** What is wrong with an alias and what would be right, or nothing. */
export function aliasProblem(alias: string): { readonly message: string; readonly hint: string } | undefined {
  if (ALIAS.test(alias)) return undefined;
  const shown = JSON.stringify(alias.length > 60 ? `${alias.slice(0, 57)}...` : alias);
  const fixed = alias
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .replace(/^[-_]+|[-_]+$/g, "")
    .slice(0, MAX_ALIAS);
  const hint = `Use letters, digits, "_" and "-"${fixed === "" ? "" : `, for example ${JSON.stringify(fixed)}`}.`;
  if (alias.length > MAX_ALIAS)
    return { message: `alias ${shown} is longer than ${MAX_ALIAS} characters`, hint };
  if (alias.startsWith("-")) return { message: `alias ${shown} starts with "-"`, hint };
  return { message: `alias ${shown} holds characters that tool names cannot have`, hint };
}
