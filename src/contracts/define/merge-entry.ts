// The declaration and the code of one driver: where both say something, the declaration holds; what only the code says holds, too.

import type { Diagnostic } from "../../errors/index.ts";
import { parseDriver, readFrontmatter } from "../../formats/driver/index.ts";
import type { DeclaredDriver, Driver, DriverSource } from "../../model/index.ts";
import { type DriverHandle, invalid } from "./define.ts";
import { DRIVER_FIELDS } from "./driver-fields.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";

export interface MergedEntry {
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  /** Where the two differ. */
  readonly warnings: readonly Diagnostic[];
}

/** Throws when the two together are not valid. */
export function mergeEntry(
  { driver: declared, source }: Pick<DeclaredDriver, "driver" | "source">,
  { hooks, given, text: code }: DriverHandle,
): MergedEntry {
  if (source === undefined || code === undefined) return { driver: declared, hooks, warnings: [] };
  const { file } = declared.origin;
  const { driver, diagnostics } = parseDriver(source.text, file, { serverJson: source.serverJson, code });
  if (driver === undefined) throw invalid(`driver ${declared.id} with its code`, diagnostics);
  // Read as if it stood in the file, so that paths mean the same.
  const own = parseDriver(code, file).driver;
  const warnings = given.flatMap((name) => {
    const found = DRIVER_FIELDS[name];
    if (found === undefined || own === undefined || !says(source, file, found.written)) return [];
    return sameAs(found.of(driver), found.of(own)) ? [] : [differs(declared, name, found.written)];
  });
  // They were read where the files are.
  return { driver: { ...driver, skills: declared.skills }, hooks, warnings };
}

function says({ text, serverJson }: DriverSource, file: string, key: string): boolean {
  if (key === "server" && serverJson !== undefined) return true;
  return readFrontmatter(text, file).root?.entries.some((entry) => entry.key === key) === true;
}

function differs({ id, origin }: Driver, field: string, written: string): Diagnostic {
  return {
    code: "DECLARATION_INVALID",
    severity: "warning",
    server: id,
    file: origin.file,
    path: `/${written}`,
    message: `${id}: ${field} of the entry module differs from ${written} of the declaration, which holds`,
    hint: "Say it in one place only.",
  };
}

/** Where something stands is not what it says. */
function sameAs(a: unknown, b: unknown): boolean {
  const plain = (value: unknown): string =>
    JSON.stringify(value, (key, inner: unknown) =>
      key === "origin" || key === "places" ? undefined : inner,
    ) ?? "";
  return plain(a) === plain(b);
}
