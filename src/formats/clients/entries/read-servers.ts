// All entries of a document, one by one: a bad one costs only itself.

import { isObject } from "../../../model/index.ts";
import { assignAliases, isLegalAlias } from "../../manifest/alias.ts";
import { type Container, findContainers, OWN_PATHS, switchedOff } from "../known/containers.ts";
import type { ReadContext } from "../known/context.ts";
import { kindOf, type ReportAt, toLabel } from "./entry-reader.ts";
import { type EntryServer, readEntry } from "./read-entry.ts";
import { CLIENT_TITLES } from "../known/detect.ts";
import type { ClientId, Path } from "../types.ts";
import { type TextDocument, valueAt } from "../../document/edit/index.ts";

/** One entry of the file; `server` is missing when it has a fault. */
export interface FoundEntry {
  readonly container: Container;
  readonly path: Path;
  readonly name: string;
  readonly alias: string;
  readonly raw: Readonly<Record<string, unknown>>;
  readonly server: EntryServer | undefined;
}

export function readEntries(
  document: TextDocument,
  client: ClientId,
  context: ReadContext,
  report: ReportAt,
): FoundEntry[] {
  const { value } = document;
  const isOff = switchedOff(client, value, context);
  const broken = document.problems[0]?.offset ?? Number.POSITIVE_INFINITY;
  return findContainers(client, value, context).flatMap((container) => {
    reportPlace(container, client, report);
    // After a break in the grammar nothing can be trusted: an entry may have swallowed parts of the next.
    const named = nameEntries(valueAt(value, container.path), container.path, {
      report,
      isWhole: (path) =>
        broken === Number.POSITIVE_INFINITY || (document.rangeOf(path)?.end ?? broken) < broken,
      checkUnnamed: (raw, path) => void readEntry(raw, { path, client, context, report }),
    });
    for (const key of new Set(document.repeatedKeys(container.path)))
      report([...container.path, key], {
        severity: "warning",
        message: `${JSON.stringify(key)} is declared more than once; Portolan uses the last declaration`,
        hint: "Give each server its own name.",
      });
    const aliases = assignAliases(named.map(({ name }) => name));
    return named.map(({ name, path, raw }, index): FoundEntry => {
      const alias = aliases[index] ?? name;
      const reportEntry: ReportAt = (at, finding) => report(at, { ...finding, server: alias });
      reportAlias(name, alias, path, aliases.indexOf(alias) < index, reportEntry);
      const read = readEntry(raw, { path, client, context, report: reportEntry });
      const server = read !== undefined && isOff(name) ? { ...read, enabled: false } : read;
      return { container, path, name, alias, raw, server };
    });
  });
}

function reportPlace({ path, own }: Container, client: ClientId, report: ReportAt): void {
  if (own) return;
  const here = path.length === 0 ? "at the top of the file" : `under ${JSON.stringify(toLabel(path))}`;
  const right = toLabel(OWN_PATHS[client]);
  report(path, {
    severity: "warning",
    message: `the servers are ${here}, where ${CLIENT_TITLES[client]} does not read them`,
    hint: `Put them under ${JSON.stringify(right)}.`,
  });
}

interface NamedEntry {
  readonly name: string;
  readonly path: Path;
  readonly raw: Readonly<Record<string, unknown>>;
}

interface Naming {
  readonly report: ReportAt;
  /** Whether an entry stands before everything that is broken in the file. */
  readonly isWhole: (path: Path) => boolean;
  /** Finds what else is wrong with an entry that has no name. */
  readonly checkUnnamed: (raw: NamedEntry["raw"], path: Path) => void;
}

/** Entries by name: the members of an object, or of a list whose items say their name. */
function nameEntries(value: unknown, path: Path, { report, isWhole, checkUnnamed }: Naming): NamedEntry[] {
  const isList = Array.isArray(value);
  if (!isList && !isObject(value)) {
    if (value !== null)
      report(path, {
        severity: "error",
        message: `${toLabel(path)} is ${kindOf(value)}`,
        hint: "Make it an object with one member per server.",
      });
    return [];
  }
  return Object.entries(value).flatMap(([key, raw]): NamedEntry[] => {
    const at = [...path, isList ? Number(key) : key];
    if (!isWhole(at)) return [];
    if (!isObject(raw)) {
      report(at, {
        severity: "error",
        message: `the entry is ${kindOf(raw)}`,
        hint: "Make it an object with a command or a url.",
      });
      return [];
    }
    const name = isList ? raw["name"] : key;
    if (typeof name === "string" && name.trim() !== "") return [{ name, path: at, raw }];
    report(at, { severity: "error", message: "the server has no name", hint: "Give it one." });
    checkUnnamed(raw, at);
    return [];
  });
}

function reportAlias(name: string, alias: string, path: Path, taken: boolean, report: ReportAt): void {
  if (taken) {
    report(path, {
      severity: "error",
      message: `another server already has the name ${JSON.stringify(name)}`,
      hint: "Give each server its own name.",
    });
  } else if (!isLegalAlias(name)) {
    report(path, {
      severity: "info",
      message: `the name ${JSON.stringify(name.slice(0, 80))} cannot be a part of tool names; Portolan uses the alias ${alias}`,
    });
  }
}
