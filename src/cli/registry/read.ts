// `portolan search`, `info`, `versions` and `advisories`: what registries have.

import { resolve } from "node:path";
import { readLimited } from "../../base/files/limited-read.ts";
import { didYouMean, PortolanError } from "../../errors/index.ts";
import {
  advisoriesFor,
  noRegistryFor,
  resolveVersion,
  type SearchResult,
  sortVersions,
} from "../../registry/index.ts";
import type { Cli } from "../context.ts";
import { count, renderRows } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { openForWriting, openNamed, parseSpec, type RawRegistryOptions } from "./options.ts";
import { advisoryText, infoRows, statusText } from "./view.ts";

const MAX_LIMIT = 100;

export async function search(cli: Cli, words: readonly string[], raw: RawRegistryOptions): Promise<number> {
  const { output } = cli;
  const limit = raw.limit === undefined ? 20 : Number(raw.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw new PortolanError("USAGE", `--limit must be a number from 1 to ${MAX_LIMIT}.`);
  const registries = await openNamed(cli, raw);
  const results = await registries.search(words.join(" "), { limit });
  if (output.form === "json") output.json({ results });
  else if (results.length === 0) output.print("No package matches.");
  else output.print(results.map((result) => searchText(result, cli, registries.all.length > 1)).join("\n"));
  return 0;
}

function searchText(
  { name, version, description, deprecated, looksLike, registry }: SearchResult & { registry: string },
  { output: { colors } }: Cli,
  withRegistry: boolean,
): string {
  const notes = [
    ...(looksLike === undefined ? [] : [colors.yellow(`its scope looks like the older scope ${looksLike}`)]),
    ...(deprecated === undefined ? [] : [colors.yellow(`deprecated: ${plainLine(deprecated, 200)}`)]),
    ...(withRegistry ? [colors.dim(plainLine(registry, 100))] : []),
  ];
  const head = `${colors.bold(plainLine(name, 214))} ${colors.dim(plainLine(version, 60))}`;
  return [`${head}  ${plainLine(description, 200)}`, ...notes.map((note) => `    ${note}`)].join("\n");
}

export async function info(cli: Cli, spec: string, raw: RawRegistryOptions): Promise<number> {
  const { output } = cli;
  const { name, wanted } = parseSpec(spec);
  const found = await (await openNamed(cli, raw)).find(name, wanted);
  if (output.form === "json") {
    const { package: all, ...rest } = found;
    output.json({ ...rest, tags: all.tags, availableVersions: sortVersions(Object.keys(all.versions)) });
  } else output.print(renderRows(infoRows(found, output.colors), output));
  return 0;
}

export async function versions(cli: Cli, spec: string, raw: RawRegistryOptions): Promise<number> {
  const { output } = cli;
  const { name } = parseSpec(spec);
  // A package whose versions were all unpublished is listed too.
  const found = await (await openNamed(cli, raw)).findPackage(name);
  const sorted = sortVersions(Object.keys(found.versions));
  if (output.form === "json") {
    output.json({ name, latest: resolveVersion(found), tags: found.tags, versions: found.versions });
    return 0;
  }
  const rows = sorted.map((version) => {
    const tags = Object.entries(found.tags).flatMap(([tag, at]) => (at === version ? [tag] : []));
    return { name: version, value: statusText(found.versions[version], tags) };
  });
  output.print(renderRows(rows, output));
  return 0;
}

export async function advisories(
  cli: Cli,
  spec: string | undefined,
  raw: RawRegistryOptions,
): Promise<number> {
  const { output, io } = cli;
  if (raw.publish !== undefined) {
    if (spec !== undefined)
      throw new PortolanError(
        "USAGE",
        "--publish cannot be used with a package name: the advisory in the file names the packages.",
      );
    const text = (
      await readLimited(resolve(io.cwd, raw.publish), 100_000).catch((cause: Error) => {
        throw new PortolanError("FILE_FAILED", `${raw.publish} cannot be read: ${cause.message}`, { cause });
      })
    ).toString("utf8");
    checkJson(text, raw.publish);
    const published = await (await openForWriting(cli, raw)).publishAdvisory(text);
    if (output.form === "json") output.json(published);
    else output.print(`Published ${plainLine(published["id"])}.`);
    return 0;
  }
  const registries = await openNamed(cli, raw);
  const { name, wanted } = spec === undefined ? { name: undefined, wanted: undefined } : parseSpec(spec);
  const candidates = name === undefined ? registries.all : registries.registriesFor(name);
  if (name !== undefined && candidates.length === 0) throw noRegistryFor(name);
  const indexes = await Promise.all(candidates.map((registry) => registry.index()));
  if (name !== undefined && !indexes.some(({ packages }) => Object.hasOwn(packages, name)))
    throw new PortolanError("PACKAGE_NOT_FOUND", `No registry has the package ${name}.`, {
      hint:
        didYouMean(
          name,
          indexes.flatMap(({ packages }) => Object.keys(packages)),
        ) ?? "To find the name of a package: portolan search <words>",
    });
  const found = indexes.flatMap((index) =>
    name === undefined
      ? index.advisories
      : advisoriesFor(index.advisories, name, exactVersion(index.packages[name], wanted)),
  );
  if (output.form === "json") output.json({ advisories: found });
  else if (found.length === 0) output.print("There are no advisories.");
  else
    output.print(
      [
        ...found.map((one) => advisoryText(one, output.colors)),
        count(found.length, "advisory").replace(/advisorys$/, "advisories"),
      ].join("\n"),
    );
  return 0;
}

function checkJson(text: string, file: string): void {
  try {
    JSON.parse(text);
  } catch (cause) {
    throw new PortolanError("FILE_INVALID", `${file} is not valid JSON: ${(cause as Error).message}`, {
      hint: "Correct the file.",
      cause,
    });
  }
}

function exactVersion(
  found: Parameters<typeof resolveVersion>[0] | undefined,
  wanted: string | undefined,
): string | undefined {
  return wanted === undefined || found === undefined ? undefined : (resolveVersion(found, wanted) ?? wanted);
}
