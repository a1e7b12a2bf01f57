// Merges the DRIVER.md and the entry module of one driver. Where both set a field, the file wins.

import type { Diagnostic } from "../../errors/index.ts";
import { parseDriver, readFrontmatter } from "../../formats/driver/index.ts";
import type { ConfiguredDriver, Driver, DriverSource } from "../../model/index.ts";
import { type DriverHandle, type DriverHooksHandle, invalid } from "./define.ts";
import { DRIVER_FIELDS } from "./file-format.ts";
import type { DriverHooks } from "../driver/bound-tool.ts";

export interface MergedEntry {
  readonly driver: Driver;
  readonly hooks: DriverHooks;
  /** Fields that both set to different values. */
  readonly warnings: readonly Diagnostic[];
}

/** Throws when the merged driver is not valid. */
export function mergeEntry(
  { driver: declared, source }: Pick<ConfiguredDriver, "driver" | "source">,
  entry: DriverHandle | DriverHooksHandle,
): MergedEntry {
  const { hooks } = entry;
  if (entry.kind === "hooks") return { driver: declared, hooks, warnings: [] };
  const { given, text: code } = entry;
  if (source === undefined || code === undefined) return { driver: declared, hooks, warnings: [] };
  const { file } = declared.origin;
  const { driver, diagnostics } = parseDriver(source.text, file, { serverJson: source.serverJson, code });
  if (driver === undefined) throw invalid(`driver ${declared.id} with its code`, diagnostics);
  // Parsed with the path of the file, so that relative paths are the same.
  const own = parseDriver(code, file).driver;
  const warnings = given.flatMap((name) => {
    const found = DRIVER_FIELDS[name];
    if (found === undefined || own === undefined || !hasKey(source, file, found.key)) return [];
    return sameAs(found.of(driver), found.of(own)) ? [] : [differs(declared, name, found.key)];
  });
  // Skills were resolved from the files.
  return { driver: { ...driver, skills: declared.skills }, hooks, warnings };
}

function hasKey({ text, serverJson }: DriverSource, file: string, key: string): boolean {
  if (key === "server" && serverJson !== undefined) return true;
  return readFrontmatter(text, file).root?.entries.some((entry) => entry.key === key) === true;
}

function differs({ id, origin }: Driver, field: string, key: string): Diagnostic {
  return {
    code: "FILE_INVALID",
    severity: "warning",
    server: id,
    file: origin.file,
    path: `/${key}`,
    message: `${id}: ${field} of the entry module differs from ${key} in the DRIVER.md; Portolan uses the DRIVER.md`,
    hint: "Export defineDriverHooks({ … }) with the functions only, so that the fields are in the DRIVER.md only.",
  };
}

/** Compares values without their positions in files. */
function sameAs(a: unknown, b: unknown): boolean {
  const plain = (value: unknown): string =>
    JSON.stringify(value, (key, inner: unknown) =>
      key === "origin" || key === "places" ? undefined : inner,
    ) ?? "";
  return plain(a) === plain(b);
}
